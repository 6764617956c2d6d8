"Make finished pages lighter, and look through them for whatever does not lead anywhere."
import re
from html.parser import HTMLParser
from posixpath import dirname, join, normpath
from urllib.parse import unquote, urlsplit

PLAIN = re.compile(r'<span class="[npw]">([^<]*)</span>')  # names, punctuation and blanks: in the colour of the text

def lighten(site):
    "Take the marks that change nothing out of the code on all pages of the folder `site`, a quarter of their size."
    for page in site.rglob('*.html'): page.write_text(PLAIN.sub(r'\1', page.read_text()))

class Page(HTMLParser):
    "The ids of a page, and what it points to."
    def __init__(self, text):
        super().__init__()
        self.ids, self.links, self.files, self.silent = [], [], [], []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        found = dict(attributes)
        if 'id' in found: self.ids.append(found['id'])
        if tag == 'a' and found.get('href'): self.links.append(found['href'])
        if tag in ('img', 'script') and found.get('src'): self.files.append(found['src'])
        if tag == 'link' and found.get('rel') != 'canonical': self.files.append(found['href'])
        if tag == 'img' and not found.get('alt'): self.silent.append(found.get('src'))

def faults(site):
    "One line for each fault in the pages of the folder `site`."
    pages = {p.relative_to(site).as_posix(): Page(p.read_text()) for p in sorted(site.rglob('*.html'))}
    for name, page in pages.items():
        for repeated in sorted({o for o in page.ids if page.ids.count(o) > 1}): yield f'{name}: two elements have the id {repeated}'
        for picture in page.silent: yield f'{name}: {picture} has no alternative text'
        for target in page.links + page.files:
            url = urlsplit(target)
            if url.scheme or url.netloc:
                if target in page.files: yield f'{name}: loads {target} from elsewhere'
                continue
            file = normpath(join(dirname(name), unquote(url.path))) if url.path else name
            if not (site/file).is_file(): yield f'{name}: {target} leads nowhere'
            elif url.fragment and file in pages and unquote(url.fragment) not in pages[file].ids:
                yield f'{name}: {target} leads to no place on that page'

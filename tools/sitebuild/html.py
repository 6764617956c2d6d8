"Make finished pages lighter, and look through them for whatever does not lead anywhere."
import base64, hashlib, re
from collections import Counter
from functools import partial
from html import escape, unescape
from html.parser import HTMLParser
from posixpath import dirname, join, normpath
from urllib.parse import unquote, urlsplit

from . import runs
from .citations import anchor as slug
from .figures import EMBEDDED, as_webp
from .lighter import coloured, drawings, lighter

SUMMARY = re.compile(r'<summary>\s*<p>(.*?)</p>\s*</summary>', re.S)  # a summary holds no paragraph
FOLDED = re.compile(r'<details class="admonition hide above-input">\s*<summary[^>]*>\s*<p[^>]*>([^<]*)</p>.*?'
                    r'</summary>', re.S)
TABLE = re.compile(r'<table[^>]*>.*?</table>', re.S)
COLOURS = re.compile(r'<style>\s*body \{(.*?)</style>\s*', re.S)  # of the theme, the same on every page
PRINTED = re.compile(r'(<div class="output (?:stream|text_plain)[^"]*)("[^>]*>\s*<div class="highlight"><pre>)'
                     r'(.*?</pre>)', re.S)
COLUMNS = re.compile(r'^.*\S {2,}\S', re.M)
LONG_NAME = re.compile(r'((?:_images/|_static/mystnb\.)[0-9a-f]{12})[0-9a-f]{52}')  # all digits of a checksum

IMAGE = re.compile(r'(?<=_images/)[\w.-]+\.png')

def finish(site, rows=(), minutes=()):
    """Make all pages of the folder `site` lighter, by the marks in code that change nothing, and tables of claims
    usable: with places, labels, and a picture of the runs where `rows` has them by the place. Cards have the `minutes`
    of the page to which they lead."""
    minutes = dict(minutes)
    for file in list(site.rglob('*.*')):
        if LONG_NAME.search(file.as_posix()): file.rename(LONG_NAME.sub(r'\1', file.as_posix()))
    style = site/'_static'/'site.css'
    style.write_text('\n'.join([style.read_text(), *drawings()]))
    code = site/'_static'/'pygments.css'
    code.write_text(coloured(code.read_text()))
    pixels = {o.name: as_webp(o).name for o in (site/'_images').glob('*.png')}
    for page in site.rglob('*.html'):
        up = '../'*page.relative_to(site).as_posix().count('/')
        text = SUMMARY.sub(r'<summary>\1</summary>', page.read_text())
        if 'class="mechanism"' in text:
            text = text.replace('</head>', f'<script src="{up}_static/mechanisms.js" defer></script></head>', 1)
        text = FOLDED.sub(r'<details class="cell-code"><summary>\1</summary>', text)
        text = PRINTED.sub(columns, share_colours(text, style))
        finished = partial(ledger, rows=dict(rows))
        name = page.relative_to(site).as_posix()
        text = LIST.sub(lambda found: timed(found[0], name, minutes), text)
        text = EMBEDDED.sub(lambda found: up + drawing(found[2], site), text)
        text = IMAGE.sub(lambda found: pixels.get(found[0], found[0]), LONG_NAME.sub(r'\1', text))
        page.write_text(lighter(TABLE.sub(lambda found: one_line(prose_left(finished(found))), text)))

def drawing(content, site):
    "The place below `site` of a drawing that a page has inside it (base64), as a file of its own, a quarter lighter."
    content = base64.b64decode(content)
    file = site/'_images'/f'{hashlib.sha256(content).hexdigest()[:12]}.svg'
    file.parent.mkdir(exist_ok=True)
    file.write_bytes(content)
    return file.relative_to(site).as_posix()

def share_colours(page, style):
    "The text of a page without the colours of the theme, which the file `style` then has."
    found = COLOURS.search(page)
    if not found: return page
    rules = f'\nbody {{{found[1]}'
    if rules not in style.read_text(): style.write_text(style.read_text() + rules)
    return page.replace(found[0], '', 1)

def columns(found):
    "An output with a mark if its lines have columns, which must not be broken."
    return f'{found[1]}{" columns"*(len(COLUMNS.findall(found[3])) > 1)}{found[2]}{found[3]}'

ROW, CELL = re.compile(r'<tr[^>]*>.*?</tr>', re.S), re.compile(r'<(t[hd])([^>]*)>(.*?)</\1>', re.S)
PROSE = re.compile(r'[^\W\d_]+(?:[\s,;:]+[^\W\d_]+){2}')

def prose_left(table):
    "A `table` of a data frame in which columns of words begin at the left; numbers end at the right."
    rows = [CELL.findall(row) for row in ROW.findall(table)]
    widest = max(map(len, rows), default=0)
    if 'class="dataframe"' not in table or any('span=' in cell[1] for row in rows for cell in row): return table
    whole = [row for row in rows[1:] if len(row) == widest]
    prose = {i for row in whole for i, cell in enumerate(row) if i and PROSE.search(words(cell[2]))}
    if not prose: return table
    def left(row):
        places = iter(range(widest + 1))
        mark = lambda cell: f'<{cell[1]}{cell[2]} class="w">{cell[3]}</{cell[1]}>' if next(places) in prose else cell[0]
        return CELL.sub(mark, row[0])
    return ROW.sub(left, table)

LIST = re.compile(r'<div class="cards.*?</div>', re.S)
ITEM = re.compile(r'<li>(.*?href="([^"#]+)\.html.*?</li>)', re.S)

def timed(cards, page, minutes):
    "A list of `cards` on a `page`, each with the minutes that what it leads to takes."
    def item(found):
        target = normpath(join(dirname(page), found[2]))
        if target not in minutes: return found[0]
        n = minutes[target]
        return f'<li data-minutes="{n} minute{"s"*(n > 1)} to read">{found[1]}'
    return ITEM.sub(item, cards)

def one_line(table):
    "A table in which no line ends beside the sign of an interval, as in 1.2 ± 0.1."
    return table.replace(' ± ', '&nbsp;±&nbsp;')

VERDICT = re.compile(r'(<td data-label="verdict">)(?:<p>)?(<strong>.*?</strong>); (.*?)(?:</p>)?</td>', re.S)
WHY = r'\1<details class="why"><summary>\2</summary>\3</details></td>'

FIRM = '◆'
HERE = re.compile(r'(<td data-label="here">.*?)</td>', re.S)

def words(html): return ' '.join(unescape(re.sub('<[^>]+>', '', html)).split())

def ledger(found, rows=()):
    """A table of claims with a place for every claim, and cells that know the head of their column; others stay.

    A table of claims is one with a column "verdict", and a first column that begins with "claim". It can be folded;
    it is open in the page, so that it is there without scripts, which fold it where there are many.
    """
    labels = [words(o) for o in re.findall(r'<th[^>]*>(.*?)</th>', found[0], re.S)]
    if 'verdict' not in labels or not labels[0].startswith('claim'): return found[0]
    def row(line):
        cells = iter(labels)
        label = lambda cell: f'<td data-label="{escape(next(cells))}">'
        shown = VERDICT.sub(WHY, re.sub('<td>', label, line[2]))
        name = slug(words(line[2].partition('</strong>')[0]))
        if name in rows: shown = HERE.sub(rf'\1{runs.picture(rows[name])}</td>', shown, count=1)
        verdict = words(re.findall(r'<td>(.*?)</td>', line[2], re.S)[labels.index('verdict')]).partition(';')[0]
        verdict = verdict.removesuffix(f' {FIRM}')  # the mark of what remains under Holm's correction
        link = f'<a class="headerlink" href="#claim-{name}" title="Link to this claim">¶</a></strong>'
        firm = ' data-firm' if FIRM in line[2] else ''
        return (f'<tr{line[1]} id="claim-{name}" data-verdict="{escape(verdict)}"{firm}>'
                f'{shown.replace("</strong>", link, 1)}</tr>')
    head, mark, body = found[0].partition('<tbody>')
    body = re.sub(r'<tr([^>]*)>(.*?)</tr>', row, body, flags=re.S)
    table = head.replace('class="', 'class="ledger ', 1) + mark + body
    return f'<details class="claims" open><summary>{counted(table)}</summary>{table}</details>'

def counted(table):
    "How many claims a finished table holds, with which verdicts; this is read while the table is folded."
    verdicts = Counter(unescape(o) for o in re.findall(r'data-verdict="([^"]*)"', table))
    total = verdicts.total()
    return f'{total} claim{"s"*(total != 1)}: ' + ', '.join(f'{n} {name}' for name, n in verdicts.most_common())

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
        for repeated in sorted({o for o in page.ids if page.ids.count(o) > 1}):
            yield f'{name}: two elements have the id {repeated}'
        for picture in page.silent: yield f'{name}: {picture} has no alternative text'
        for target in page.links + page.files:
            url = urlsplit(target)
            if url.scheme == 'data': continue
            if url.scheme or url.netloc:
                if target in page.files: yield f'{name}: loads {target} from elsewhere'
                continue
            file = normpath(join(dirname(name), unquote(url.path))) if url.path else name
            if not (site/file).is_file(): yield f'{name}: {target} leads nowhere'
            elif url.fragment and file in pages and unquote(url.fragment) not in pages[file].ids:
                yield f'{name}: {target} leads to no place on that page'

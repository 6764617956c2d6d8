"""Papers: the list in the bibliography notebook, and the places that cite them.

The bibliography is an ordinary notebook with a numbered list. An entry begins with the words by which the other
notebooks cite it: `1. **Kitaev et al. 2020.** Nikita Kitaev, ...`. In a text, "Kitaev et al. 2020, section 2" and
"Kitaev et al. (2020, section 2)" both cite it.
"""
import re, unicodedata
from collections import defaultdict
from html import escape

from .markdown import link_parts, rewrite

ENTRY = re.compile(r'^\d+\. \*\*(?P<key>[^*]+)\.\*\* (?P<text>.+)$', re.M)
NO_AUTHOR = '''January February March April May June July August September October November December
    In Since Until Before After By From During Of'''.split()
NAME = r"(?:Van )?[^\W\d_a-z][\w'’-]*[a-z]"
CITED = re.compile(rf'\b(?!(?:{"|".join(NO_AUTHOR)})\b)({NAME})((?:\s+et\s+al\.)|(?:\s+and\s+{NAME}))?,?\s+\(?'
                   r'((?:19|20)\d\d[a-z]?)\b')

def anchor(key): return re.sub(r'\W+', '-', unicodedata.normalize('NFKD', key).lower()).strip('-')

def plain(text):
    "The Markdown `text` of an entry without marks, on one line."
    return ' '.join(rewrite(text, link=lambda piece: link_parts(piece)[1]).replace('*', '').split())

def bibtex(key, text):
    """The entry for BibTeX of a paper from the `text` of its place in the list: authors, title, where, link.

    The text is "First Author, Second Author. *Title.* Where 2020. [arXiv 2001.04451](https://...)".
    """
    authors, _, rest = text.partition('. *')
    title, _, rest = rest.partition('*')
    year = re.search(r'\d{4}', key)[0]
    links = re.findall(r'\[([^\]]*)\]\(([^)]+)\)', rest)
    where = re.split(r'\s*\[', rest.strip())[0].strip().rstrip('.')
    fields = dict(title='{' + plain(title).rstrip('.') + '}', author=' and '.join(authors.split(', ')), year=year)
    if where:
        fields['booktitle' if re.search(r'[A-Z]{3,}.* \d{4}$', where)
               else 'howpublished'] = where.removesuffix(f' {year}')
    if links and (number := re.fullmatch(r'arXiv (\S+)', links[0][0])):
        fields |= dict(eprint=number[1], archiveprefix='arXiv')
    if links: fields['url'] = links[0][1]
    kind = 'inproceedings' if 'booktitle' in fields else 'misc'
    lines = ',\n'.join(f'  {name} = {{{value}}}'.replace('&', r'\&') for name, value in fields.items())
    return f'@{kind}{{{anchor(key).replace("-", "")},\n{lines}\n}}'

def project_bibtex(cfg):
    "How this project itself is cited."
    return (f'@software{{{cfg.lib_name},\n  title = {{{{{cfg.title}: {cfg.description}}}}},\n  author = '
            f'{{{{{cfg.author}}}}},\n'
            f'  version = {{{cfg.version}}},\n  year = {{{cfg.copyright.split()[0]}}},\n  url = {{{cfg.git_url}}}\n}}')

def bibtex_fold(key, text):
    "The entry for BibTeX, opened by a click, as HTML on one line, which may stand in a list."
    shown = escape(bibtex(key, text)).replace('\n', '&#10;').replace('*', '&#42;').replace('_', '&#95;')
    return (f' <details class="bibtex"><summary>BibTeX</summary><div '
            f'class="highlight"><pre>{shown}</pre></div></details>')

class Bibliography:
    "The papers of the list in `notebook`, by key, and where each is cited."
    def __init__(self, notebook, problems):
        self.notebook, self.problems = notebook, problems
        self.entries, self.texts, self.cited = {}, {}, defaultdict(list)
        for cell in notebook.shown:
            for found in ENTRY.finditer(cell.source):
                if found['key'] in self.entries: problems.add(cell.place, f'"{found["key"]}" is listed twice')
                self.entries[found['key']] = cell.place
                self.texts[found['key']] = found['text']
        self.number = {key: i for i, key in enumerate(self.entries, 1)}
        if list(self.entries) != sorted(self.entries):
            problems.add(notebook.name, 'the entries are not in alphabetical order, so their numbers would jump')

    def link(self, text, nb, place):
        "`text` of the notebook `nb` with its citations linked to the list; unknown ones go to the problems."
        def linked(found):
            name, others, year = found.groups()
            key = ' '.join(f'{name}{others or ""} {year}'.split())
            if key not in self.number:
                self.problems.add(place, f'cites "{key}", which {self.notebook.name} does not list')
                return found[0]
            mark = f'cite-{anchor(key)}-{1 + sum(o is nb for o in self.cited[key])}'
            # site.js shows the paper beside every citation; a page says it once
            paper = '' if nb in self.cited[key] else f' data-paper="{escape(plain(self.texts[key]))}"'
            self.cited[key].append(nb)
            href = nb.link(f'{self.notebook.page}.html#{anchor(key)}')
            return f'<a class="cite" id="{mark}" href="{href}"{paper}>{found[0]}<sup>{self.number[key]}</sup></a>'
        return rewrite(text, prose=lambda piece: CITED.sub(linked, piece))

    def render(self, text):
        "The list in `text` with an anchor for every entry, and links to the places that cite it."
        def listed(found):
            key, places = found['key'], []
            for nb in dict.fromkeys(self.cited[key]):
                marks = range(1, 1 + sum(o is nb for o in self.cited[key]))
                places.append(f'{nb.title} ' + ', '.join(
                    f'<a href="{self.notebook.link(nb.page)}.html#cite-{anchor(key)}-{i}">{i}</a>' for i in marks))
            return (f'{self.number[key]}. <span id="{anchor(key)}"></span>**{key}.** {found["text"]} '
                    f'<span class="cited">Cited in {"; ".join(places)}.</span>{bibtex_fold(key, found["text"])}')
        return ENTRY.sub(listed, text)

    def check(self):
        "Entries that nothing cites go to the problems."
        for key, place in self.entries.items():
            if not self.cited[key]: self.problems.add(place, f'no notebook cites "{key}"')

"""Papers: the list in the bibliography notebook, and the places that cite them.

The bibliography is an ordinary notebook with a numbered list. An entry begins with the words by which the other
notebooks cite it: `1. **Kitaev et al. 2020.** Nikita Kitaev, ...`. In a text, "Kitaev et al. 2020, section 2" and
"Kitaev et al. (2020, section 2)" both cite it.
"""
import re, unicodedata
from collections import defaultdict

from .markdown import rewrite

ENTRY = re.compile(r'^\d+\. \*\*(?P<key>[^*]+)\.\*\* (?P<text>.+)$', re.M)
NO_AUTHOR = '''January February March April May June July August September October November December
    In Since Until Before After By From During Of'''.split()
NAME = r"[^\W\d_a-z][\w'’-]*[a-z]"
CITED = re.compile(rf'\b(?!(?:{"|".join(NO_AUTHOR)})\b)({NAME})((?:\s+et\s+al\.)|(?:\s+and\s+{NAME}))?,?\s+\(?((?:19|20)\d\d[a-z]?)\b')

def anchor(key): return re.sub(r'\W+', '-', unicodedata.normalize('NFKD', key).lower()).strip('-')

class Bibliography:
    "The papers of the list in `notebook`, by key, and where each is cited."
    def __init__(self, notebook, problems):
        self.notebook, self.problems = notebook, problems
        self.entries, self.cited = {}, defaultdict(list)
        for cell in notebook.shown:
            for found in ENTRY.finditer(cell.source):
                if found['key'] in self.entries: problems.add(cell.place, f'"{found["key"]}" is listed twice')
                self.entries[found['key']] = cell.place
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
            self.cited[key].append(nb)
            href = nb.link(f'{self.notebook.page}.html#{anchor(key)}')
            return f'<a class="cite" id="{mark}" href="{href}">{found[0]}<sup>{self.number[key]}</sup></a>'
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
                    f'<span class="cited">Cited in {"; ".join(places)}.</span>')
        return ENTRY.sub(listed, text)

    def check(self):
        "Entries that nothing cites go to the problems."
        for key, place in self.entries.items():
            if not self.cited[key]: self.problems.add(place, f'no notebook cites "{key}"')

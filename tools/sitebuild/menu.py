"""The parts of the site, from nbs/_site/menu.toml, and the pages that have moved, from nbs/_site/moved.toml.

A part names its pages by their addresses without suffix, in the order in which they are read: `attention/lsh`, or
`papers/reformer/*` for those of a folder that no part names, in the order of their files. The menu shows lessons and
experiments; the details of a page are reached from it, from the list of all pages, and by searching.
"""
import json, re, tomllib
from dataclasses import dataclass
from fnmatch import fnmatchcase
from html import escape

from .markdown import rewrite, link_parts

MENU, MOVED = '_site/menu.toml', '_site/moved.toml'
CONTENTS = 'contents'  # the page that lists all others, which the builder writes

LONGEST = 60  # Pages in the menu of readers; more are looked over, not read

@dataclass
class Part:
    "A part of the menu."
    name: str
    text: str  # What it is about, in a sentence
    groups: dict  # Notebooks in order, as lessons and as experiments
    details: dict  # Notebooks by the page of those above that leads to them
    developers: bool  # Is it for those who work on the library? Then the menu of readers has only its name

    @property
    def entries(self): return [nb for group in self.groups.values() for nb in group]

    @property
    def pages(self): return [*self.entries, *(nb for found in self.details.values() for nb in found)]

def matches(page, pattern):
    "Is `page` one of those that `pattern` names? A star stands for a part of a name, not for folders."
    names, patterns = page.split('/'), pattern.split('/')
    return len(names) == len(patterns) and all(map(fnmatchcase, names, patterns))

def read(path):
    "The TOML file at `path`."
    return tomllib.loads(path.read_text())

GROUPS = 'lessons', 'experiments'

def lists(part):
    "All lists of names in a part, as it is declared."
    return [*(part.get(group, []) for group in GROUPS), *part.get('details', {}).values()]

def check_names(declared, pages, problems):
    "Names without a page, names that are there twice, and details of a page that the menu does not have."
    named = [name for part in declared for names in lists(part) for name in names if '*' not in name]
    for name in dict.fromkeys(named):
        if name not in pages: problems.append(f'nbs/{MENU}: names the page {name}, which no notebook gives')
        if named.count(name) > 1: problems.append(f'nbs/{MENU}: names the page {name} twice')
    for part in declared:
        for owner in part.get('details', {}):
            if not any(owner in part.get(group, []) for group in GROUPS):
                problems.append(f'nbs/{MENU}: gives details of {owner}, which "{part["name"]}" does not name')
    return named

def parts(nbs, notebooks, front, problems):
    "The parts of the menu for `notebooks`; pages that none of them names, and names without a page, go to `problems`."
    declared = read(nbs/MENU)['part']
    pages = {nb.page: nb for nb in notebooks if nb.page != front}
    named = check_names(declared, pages, problems)
    left = {name: nb for name, nb in pages.items() if name not in named}
    def chosen(names):
        found = []
        for name in names:
            if '*' in name: found += [left.pop(page) for page in [p for p in left if matches(p, name)]]
            elif name in pages: found.append(pages[name])
        return found
    found = [Part(part['name'], part.get('text', ''), {group: chosen(part.get(group, [])) for group in GROUPS},
                  {owner: chosen(names) for owner, names in part.get('details', {}).items()},
                  part.get('developers', False)) for part in declared]
    for nb in left.values(): problems.add(nb.name, f'no part of nbs/{MENU} names the page {nb.page}')
    count = sum(len(part.entries) for part in found if not part.developers)
    if count > LONGEST:
        problems.append(f'nbs/{MENU}: the menu of readers has {count} pages, and at most {LONGEST} are looked over; '
                        f'make some of them details of another')
    return [part for part in found if part.pages]

def toctree(found):
    "The order of the pages as Sphinx needs it, to know what follows what: details come after all that readers read."
    first = [nb.page for part in found if not part.developers for nb in part.entries]
    after = [nb.page for part in found for nb in part.pages if nb.page not in first]
    return '\n'.join(['```{toctree}', ':hidden:', '', *first, CONTENTS, *after, '```'])

def slug(part): return 'pages-' + re.sub(r'\W+', '-', part.lower()).strip('-')

def all_pages(found):
    "The Markdown of the list of all pages, by the parts of the menu, each with what it is about and how long it takes."
    def line(nb, deep=0): return f'{"  "*deep}- [](/{nb.page}.ipynb) ({nb.minutes} min): {plain(nb.description)}'
    def part(o):
        lines = [f'({slug(o.name)})=', f'## {o.name}', '', o.text, '']
        for group, listed in o.groups.items():
            if listed and o.groups['experiments']: lines += ['', f'**{group.capitalize()}**', '']
            for nb in listed: lines += [line(nb), *(line(detail, 1) for detail in o.details.get(nb.page, []))]
        return '\n'.join(lines)
    about = ('{.lead}\nEvery page of this site, with the minutes that reading it takes. Those that are set in belong '
             'to the page above them, and are not in the menu.')
    return '\n\n'.join(['# All pages', about, *map(part, found)])

def menu_script(menu):
    """The script with which a page fills the parts of the `menu` to which it does not belong.

    It is one file for all pages, which would each be 8 KB larger with the whole menu inside. Without scripts those
    parts lead to the list of all pages.
    """
    listed = [[[group['name'], [[page['name'], page['title'], page['minutes']] for page in group['pages']]]
               for group in part['groups']] for part in menu]
    return f'const MENU = {json.dumps(listed, ensure_ascii=False, separators=(",", ":"))};\n'

def asked(nbs, notebooks, problems):
    "Words that readers look for, with the page that they mean; a page that is not there goes to `problems`."
    table, pages = read(nbs/MENU).get('search', {}), {nb.page for nb in notebooks}
    for words, page in table.items():
        if page not in pages:
            problems.append(f'nbs/{MENU}: the search for "{words}" leads to {page}, which no notebook gives')
    return table

def search_script(found, front, table):
    """The script with what the search knows of each page while one types: its address, title, what it is about, what
    readers call it, and its headings; pages of the menu come before their details."""
    first = [front, *(nb for part in found if not part.developers for nb in part.entries)]
    after = [nb for part in found for nb in part.pages if nb not in first]
    called = lambda nb: ', '.join(words for words, page in table.items() if page == nb.page)
    headings = lambda nb: ' · '.join(plain(o) for cell in nb.shown if cell.cell_type == 'markdown'
                                     for o in re.findall(r'^##+ (.+)$', cell.source, re.M))
    rows = [[nb.page, plain(nb.title), plain(nb.description), called(nb), headings(nb)] for nb in first + after]
    return f'const PAGES = {json.dumps(rows, ensure_ascii=False, separators=(",", ":"))};\n'

def plain(text):
    "Markdown `text` in one line without marks."
    shown = rewrite(text, link=lambda piece: link_parts(piece)[1], code=lambda piece: piece.strip('`'))
    return ' '.join(re.sub(r'[*_]{1,2}(\S.*?\S|\S)[*_]{1,2}(?!\w)', r'\1', shown).split())

def llms(found, front, cfg):
    "The text of llms.txt: what this site is, and where each page of it is, for readers that are programs."
    address = f'{cfg.doc_host}{cfg.doc_baseurl}'
    lines = [f'# {cfg.title}', '', f'> {plain(front.description)}', '',
             f'Source: {cfg.git_url}. Every page is made from a notebook.']
    for part in found:
        lines += ['', f'## {part.name}', ''] + [part.text, '']*bool(part.text)
        lines += [f'- [{plain(nb.title)}]({address}/{nb.page}.html): {plain(nb.description)}' for nb in part.pages]
    return '\n'.join(lines) + '\n'

# Pages that have moved

FORWARD = '''<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>{title}</title>
<link rel="canonical" href="{address}"><meta name="robots" content="noindex">
<meta http-equiv="refresh" content="1; url={target}"><script>location.replace({target!r} + location.hash)</script>
</head><body><p>This page has moved: <a href="{target}">{title}</a></p></body></html>
'''

def moved(nbs, notebooks, problems):
    "Notebooks by the address that they had before; whatever is wrong with the table goes to `problems`."
    path = nbs/MOVED
    pages = {nb.page: nb for nb in notebooks}
    table = read(path) if path.exists() else {}
    for old, new in table.items():
        if old in pages: problems.append(f'nbs/{MOVED}: {old} is a page of today, made by {pages[old].name}')
        if new not in pages: problems.append(f'nbs/{MOVED}: {old} leads to {new}, which no notebook gives')
    return {old: pages[new] for old, new in table.items() if old not in pages and new in pages}

def forward(old, nb, cfg):
    "The page at the `old` address of a notebook, which leads to the new one."
    target = '../'*old.count('/') + nb.page + '.html'
    return FORWARD.format(title=escape(plain(nb.title)), target=target,
                          address=f'{cfg.doc_host}{cfg.doc_baseurl}/{nb.page}.html')

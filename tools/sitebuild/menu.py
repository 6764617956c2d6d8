"""The parts of the site, from nbs/_site/menu.toml, and the pages that have moved, from nbs/_site/moved.toml.

A part names its pages by their addresses without suffix, in the order in which they are read: `attention/lsh`, or
`papers/reformer/*` for those of a folder that no part names, in the order of their files.
"""
import json, re, tomllib
from dataclasses import dataclass
from fnmatch import fnmatchcase
from html import escape

from .markdown import rewrite, link_parts

MENU, MOVED = '_site/menu.toml', '_site/moved.toml'

@dataclass
class Part:
    "A part of the menu."
    name: str
    text: str  # What it is about, in a sentence
    pages: list  # Notebooks, in order

def matches(page, pattern):
    "Is `page` one of those that `pattern` names? A star stands for a part of a name, not for folders."
    names, patterns = page.split('/'), pattern.split('/')
    return len(names) == len(patterns) and all(map(fnmatchcase, names, patterns))

def read(path):
    "The TOML file at `path`."
    return tomllib.loads(path.read_text())

def parts(nbs, notebooks, front, problems):
    "The parts of the menu for `notebooks`; pages that none of them names, and names without a page, go to `problems`."
    declared = read(nbs/MENU)['part']
    pages = {nb.page: nb for nb in notebooks if nb.page != front}
    named = [name for part in declared for name in part['pages'] if '*' not in name]
    for name in dict.fromkeys(named):
        if name not in pages: problems.append(f'nbs/{MENU}: names the page {name}, which no notebook gives')
        if named.count(name) > 1: problems.append(f'nbs/{MENU}: names the page {name} twice')
    left = {name: nb for name, nb in pages.items() if name not in named}
    found = []
    for part in declared:
        chosen = []
        for name in part['pages']:
            if '*' in name: chosen += [left.pop(page) for page in [p for p in left if matches(p, name)]]
            elif name in pages: chosen.append(pages[name])
        if chosen: found.append(Part(part['name'], part.get('text', ''), chosen))
    for nb in left.values(): problems.add(nb.name, f'no part of nbs/{MENU} names the page {nb.page}')
    return found

def toctree(part):
    "A part of the menu as Sphinx needs it, to know what follows what."
    return '\n'.join(['```{toctree}', ':hidden:', f':caption: {part.name}', '', *(nb.page for nb in part.pages), '```'])

def slug(part): return 'pages-' + re.sub(r'\W+', '-', part.lower()).strip('-')

def all_pages(found):
    "The Markdown of the front page's list of all pages, by the parts of the menu; a click opens a part."
    listed = lambda part: '\n'.join(f'- [](/{nb.page}.ipynb)' for nb in part.pages)
    fold = lambda part: (f'<details class="pages" id="{slug(part.name)}"><summary>{part.name} ({len(part.pages)})'
                         f'</summary>\n\n{listed(part)}\n\n</details>')
    return '\n\n'.join(['## All pages', *map(fold, found)])

def menu_script(menu):
    """The script with which a page fills the parts of the `menu` to which it does not belong.

    It is one file for all pages, which would each be 8 KB larger with the whole menu inside. Without scripts those
    parts lead to the list on the front page.
    """
    pages = [[[page['name'], page['title']] for page in part['pages']] for part in menu]
    return f'const MENU = {json.dumps(pages, ensure_ascii=False, separators=(",", ":"))};\n'

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

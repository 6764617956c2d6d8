"Compare the reference on finished pages with the modules it is about: signatures, sources, places, nothing missing."
import ast, re
from collections import defaultdict
from html import unescape

from . import api

ENTRY = re.compile(r'data-api="([^"]+)".*?<pre>(.*?)</pre>', re.S)
FOLDED = re.compile(r'<details class=api-code>.*?<pre>(.*?)</pre>', re.S)
CODE = re.compile(r'<pre>(.*?)</pre>', re.S)
REFERENCE = 'id="reference"'

class Package:
    "The modules in the folder `lib` as they are written, read when they are needed."
    def __init__(self, lib):
        self.lib, self.read, self.statements = lib.resolve(), {}, {}

    def path(self, module): return self.lib/(module.replace('.', '/') + '.py')

    def holds(self, module, code):
        "Has the file of a module a statement with this `code`? There, imports within the library are relative."
        plain = lambda text: re.sub(r'^ *from [\w.]+|^# %%.*\n', '', text, flags=re.M)
        if module not in self.statements:
            text = self.path(module).read_text()
            self.statements[module] = {plain(code) for _, code in api.extents(ast.parse(text), text.split('\n'))}
        return plain(code) in self.statements[module]

    def definitions(self, module):
        "Line and signature of what a module defines, by name."
        if module not in self.read:
            path = self.path(module)
            self.read[module] = api.module_definitions(path.read_text()) if path.exists() else {}
        return self.read[module]

def words(html): return unescape(re.sub('<[^>]+>', '', html)).strip()

def entries(page):
    "Key and signature of each definition that the HTML of a `page` documents, from top to bottom."
    return [(key, words(shown)) for key, shown in ENTRY.findall(page)]

def shown(page):
    "The source of each definition that the lesson of a `page` shows, by its name."
    found = {}
    for mark in re.finditer(rf'id="([\w.]+){api.LESSON}"', page):
        name, code = mark[1], words(CODE.search(page, mark.end())[1])
        found |= {name: own for node, own in api.extents(ast.parse(code), code.split('\n'))
                  if getattr(node, 'name', None) == name.rpartition('.')[2]}  # a patched method has a dot
    return found

def sources(page):
    """The source of each definition that the HTML of a `page` documents, by key: folded into its entry, or shown in the
    lesson. A method has that of its class."""
    parts, lesson = re.split(r'data-api="([^"]+)"', page), shown(page)
    found = {key: FOLDED.search(text) for key, text in zip(parts[1::2], parts[2::2])}
    folded = {key: words(code[1]) for key, code in found.items() if code}
    return folded | {key: lesson[name] for key in found if (name := key.partition(':')[2]) in lesson}

def check_sources(page, found, library, package, problems):
    "The reference follows the lesson, and every entry that is `found` there holds the source of the module."
    held = sources(page)
    lesson, _, _ = page.partition(REFERENCE)
    for key, _ in found:
        if not (o := library.by_key.get(key)): continue
        if f'data-api="{key}"' in lesson: problems.add(o.place, f'`{o.name}` is documented before the reference')
        if o.code and not package.holds(o.module, held.get(key, '')):
            problems.add(o.place, f'the reference has another source of `{o.name}` than {o.module}; run `make export`')

def check(site, notebooks, library, package, problems):
    "Whatever the pages in the folder `site` say wrongly about the `package` goes to `problems`."
    documented = defaultdict(int)
    for nb in notebooks:
        last = {}  # The line of the last entry, by module
        page = (site/f'{nb.page}.html').read_text()
        check_sources(page, found := entries(page), library, package, problems)
        for key, shown in found:
            documented[key] += 1
            module, _, name = key.partition(':')
            o = library.by_key.get(key)
            place = o.place if o else nb.name
            if module != nb.module:
                problems.add(place, f'`{name}` of {module} is documented on the page of {nb.module}')
            line, signature = package.definitions(module).get(name, (0, None))
            if shown != signature:
                problems.add(place, f'`{name}` is documented as {" ".join(shown.split())}, but {module} has '
                                    f'{signature}; run `make export`')
            if line < last.get(module, 0): problems.add(place, f'`{name}` is documented out of the order of {module}')
            last[module] = line
    for key, o in library.by_key.items():
        if o.doc and documented[key] != 1:
            problems.add(o.place, f'`{o.name}` is documented {documented[key]} times; is its cell hidden?')

"Compare the reference on finished pages with the modules it is about: every signature, every place, nothing missing."
import re
from collections import defaultdict
from html import unescape

from . import api

ENTRY = re.compile(r'data-api="([^"]+)".*?<pre>(.*?)</pre>', re.S)

class Package:
    "The modules in the folder `lib` as they are written, read when they are needed."
    def __init__(self, lib):
        self.lib, self.read = lib.resolve(), {}

    def path(self, module): return self.lib/(module.replace('.', '/') + '.py')

    def definitions(self, module):
        "Line and signature of what a module defines, by name."
        if module not in self.read:
            path = self.path(module)
            self.read[module] = api.module_definitions(path.read_text()) if path.exists() else {}
        return self.read[module]

def entries(page):
    "Key and signature of each definition that the HTML of a `page` documents, from top to bottom."
    return [(key, unescape(re.sub('<[^>]+>', '', shown)).strip()) for key, shown in ENTRY.findall(page)]

def check(site, notebooks, library, package, problems):
    "Whatever the pages in the folder `site` say wrongly about the `package` goes to `problems`."
    documented = defaultdict(int)
    for nb in notebooks:
        last = {}  # The line of the last entry, by module
        for key, shown in entries((site/f'{nb.page}.html').read_text()):
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

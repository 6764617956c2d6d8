"Turn notebooks into what Sphinx with MyST-NB reads: neutral Markdown into MyST, definitions into reference entries."
import re
from functools import cached_property

from nbdev.doclinks import NbdevLookup

from . import api, figures, pasting
from .citations import project_bibtex
from .markdown import link_parts, rewrite
from .maths import mathml
from .notebooks import options, page_name

SYMBOL = re.compile(r'`([A-Za-z_][\w.]*)(\(\))?`')
CALLOUT = re.compile(r'^(?P<fence>:{3,})\s*\{\.callout-(?P<kind>\w+)(?P<attributes>[^}\n]*)\}[ \t]*\n(?:\s*#+ '
                     r'(?P<title>.+)\n)?', re.M)
ATTRIBUTES = re.compile(r'(?<=\))\{[^}\n]*\}')  # Quarto's, behind a link or a picture
NOISE = re.compile(r'^\s*<style>\s*progress\b')  # what fastprogress leaves behind
FRONT = 'index'
WIDE = 640  # pixels; a wider figure scrolls on a phone instead of shrinking
# Lines of a cell from which on its code is folded, unless it says `#| code-fold: false`: what stands aside of the
# text, other code, and definitions.
ASIDE, LONG, WHOLE = 4, 12, 18
TEST = re.compile(r'^\s*(?:with )?(?:assert\b|test_\w+\(|pytest\.raises)', re.M)
TESTS = re.compile(r'\b(?:assert|test_\w+(?=\()|check_\w+(?=\()|pytest\.raises)')  # also several on a line
REFERENCE = re.compile(r'^#+ Reference[ \t]*$', re.M)
IMPORTS = 'Imports'
REPR = re.compile(r'^\[?<(?:Axes|Figure|matplotlib)')

def callouts(text):
    "Quarto's callouts as admonitions."
    def admonition(found):
        title = re.search(r'title="([^"]*)"', found['attributes'])
        title = title[1] if title else found['title'] or found['kind'].capitalize()
        return f'{found["fence"]}{{admonition}} {title}\n:class: {found["kind"]}\n\n'
    return CALLOUT.sub(admonition, text)

def purpose(source, picture):
    "What the code of a cell is for: a figure is looked at, and a test believed, before it is taken apart."
    if picture: return 'Code of the figure'
    if pasting.imports_only(source): return IMPORTS
    if not TEST.search(source): return 'Code'
    return counted(source)

def counted(source):
    "How many tests are in the code of a cell."
    n = len(TESTS.findall(source))
    return f'{n} tests' if n > 1 else 'A test'

def is_test(kind): return kind.endswith('test') or kind.endswith('tests')

def as_page(cells):
    "The `cells` as a notebook, as MyST-NB reads it."
    metadata = dict(kernelspec=dict(name='python3', display_name='python3', language='python'),
                    language_info=dict(name='python', pygments_lexer='ipython3'))
    return dict(cells=cells, metadata=metadata, nbformat=4, nbformat_minor=5)

def markdown_cell(text): return dict(cell_type='markdown', metadata={}, source=text)

def kind_of(cell): return cell['metadata']['mystnb']['code_prompt_show'] if isinstance(cell, dict) else None

def folded(cell): return 'hide-input' in cell['metadata']['tags']

def together(cells):
    "Cells in a row, each with its place, that only import, or only test, as one; the tests are counted."
    before = None
    for cell, place in cells:
        kind = kind_of(cell)
        last = before and kind_of(before[0])
        alike = kind and last and (kind == IMPORTS == last or is_test(kind) and is_test(last))
        if not alike or before[0]['outputs'] or not folded(cell) or not folded(before[0]):
            if before: yield before
            before = cell, place
            continue
        joined = before[0]
        joined['source'] += ('\n' if kind == IMPORTS else '\n\n') + cell['source']
        joined['outputs'] = cell['outputs']
        if kind != IMPORTS:
            line = counted(joined['source'])
            joined['metadata']['mystnb'] |= dict(code_prompt_show=line, code_prompt_hide=line)
    if before: yield before

class Converter:
    "What is known of all notebooks, to convert each of them; what is wrong goes to `problems`."
    def __init__(self, notebooks, library, package, bibliography, menu, moved, cfg, problems):
        self.notebooks, self.library, self.package, self.bibliography = notebooks, library, package, bibliography
        self.moved, self.cfg, self.problems = moved, cfg, problems
        self.root = cfg.config_path.resolve()
        self.details = {owner: found for part in menu for owner, found in part.details.items()}
        self.owners = {nb.page: owner for owner, found in self.details.items() for nb in found}
        self.by_path = {nb.path.resolve(): nb for nb in notebooks}

    def repository(self, name):
        "The address of a file or folder of the project."
        kind = 'tree' if (self.root/name).is_dir() else 'blob'
        return f'{self.cfg.git_url}/{kind}/{self.cfg.branch}/{name}'

    def source(self, o):
        "The address of the code of a definition."
        path = self.package.path(o.module).relative_to(self.root)
        line, _ = self.package.definitions(o.module).get(o.name, (0, ''))
        if not line: self.problems.add(o.place, f'`{o.name}` is not in {path}; run `make export`')
        return f'{self.repository(path.as_posix())}#L{line}'

    @cached_property
    def elsewhere(self):
        "Addresses of the documentation of the other libraries that settings.ini names, by symbol."
        own = f'{self.cfg.doc_host}{self.cfg.doc_baseurl}'
        urls = {name: url[0] if isinstance(url, tuple) else url for name, url in NbdevLookup().syms.items()}
        return {name: url for name, url in urls.items() if not url.startswith(own)}

    def symbol(self, nb, place, code):
        "A piece of inline `code`, linked to its definition if it names one."
        if not (named := SYMBOL.fullmatch(code)): return code
        name = named[1].removeprefix(f'{self.cfg.lib_name}.')
        found = self.library.find(name, nb.module)
        if len(found) > 1:
            modules = ' and '.join(o.module for o in found)
            self.problems.add(place, f'`{name}` is defined in {modules}; say which, as in `{found[0].module}.{name}`')
        if found: href = (found[0].page != nb.page)*nb.link(f'{found[0].page}.html') + f'#{found[0].anchor}'
        # A plain lower-case word is more often a variable than another library's function.
        elif re.search(r'[A-Z_(]', code): href = self.elsewhere.get(name)
        else: href = None
        if not href: return code
        return f'<a class="symbol" href="{href}"><code class="literal">{named[0][1:-1]}</code></a>'

    def whereabouts(self, file):
        "What became of a `file` that is not there."
        nbs = self.cfg.nbs_path.resolve()
        old = page_name(file.relative_to(nbs)) if file.is_relative_to(nbs) else ''
        return f'has moved to {self.moved[old].name}' if old in self.moved else 'does not exist'

    def check_address(self, place, target):
        "An address of our own site must be one of today."
        own = f'{self.cfg.doc_host}{self.cfg.doc_baseurl}/'
        page = target.partition('#')[0].removeprefix(own).removesuffix('.html')
        if target.startswith(own) and page in self.moved:
            self.problems.add(place, f'links to {target}, which has moved to {self.moved[page].page}.html')

    def text(self, nb, cell):
        "A Markdown cell, made to fit the site."
        if REFERENCE.search(rewrite(cell.source, fence=lambda piece: '')):
            self.problems.add(cell.place, 'has the heading Reference, which is that of the list of all definitions')
        return self.markdown(nb, cell.place, cell.source)

    def link(self, nb, place, piece):
        "A link or picture `piece`, its target checked and made to fit the site."
        picture, text, target, title = link_parts(piece)
        if picture and not text.strip():
            self.problems.add(place, f'the picture {target} has no alternative text: ![describe it]({target})')
        if re.match(r'[a-z]+:|#', target):
            self.check_address(place, target)
            return piece
        path, hash_, fragment = target.partition('#')
        file = (nb.path.parent/path).resolve()
        if not file.exists():
            self.problems.add(place, f'links to {target}, which {self.whereabouts(file)}')
            return piece
        if file in self.by_path: target = nb.link(self.by_path[file].page) + '.ipynb' + hash_ + fragment
        elif not picture:
            if not file.is_relative_to(self.root):
                self.problems.add(place, f'links to {target}, which lies outside the project')
                return piece
            target = self.repository(file.relative_to(self.root).as_posix()) + hash_ + fragment
        return f'{"!" if picture else ""}[{text}]({target}{title})'

    def markdown(self, nb, place, text):
        "Markdown as a notebook has it, made to fit the site: links, symbols, citations, callouts."
        text = ATTRIBUTES.sub('', callouts(text))
        text = rewrite(text, link=lambda piece: self.link(nb, place, piece))
        if nb is self.bibliography.notebook: return self.bibliography.render(text)
        return rewrite(self.bibliography.link(text, nb, place), code=lambda piece: self.symbol(nb, place, piece),
                       maths=lambda piece: self.formula(place, piece))

    def formula(self, place, piece):
        "A formula as MathML."
        if made := mathml(piece): return made
        self.problems.add(place, f'the formula {" ".join(piece.split())} has something that tools/sitebuild/maths.py '
                                 f'cannot convert')
        return piece

    def top(self, nb):
        "The title of a page, its description, and where it comes from."
        lines = [f'# {nb.title}']
        if nb.description: lines.append(f'{{.lead}}\n{self.markdown(nb, nb.place(0), nb.description)}')
        origin = f'Notebook: [`{nb.name}`]({self.repository(nb.name)})'
        if nb.module:
            origin = f'Module: `{self.cfg.lib_name}.{nb.module}`. ' + origin
        if nb.page != FRONT and not nb.said: origin = f'{nb.minutes} minute{"s"*(nb.minutes > 1)}. ' + origin
        if owner := self.owners.get(nb.page): origin = f'A detail of [](/{owner}.ipynb). ' + origin
        return '\n\n'.join([*lines, f'{{.origin}}\n{origin}'])

    @cached_property
    def mechanisms(self):
        "The names of the drawings that the site knows."
        script = (self.cfg.nbs_path/'_site'/'_static'/'mechanisms.js').read_text()
        return re.findall(r'^  (\w+)\(\{[^}]*\}, view\)', script, re.M)

    def check_mechanism(self, place, text):
        "A figure that answers to sliders has a drawing, and numbers behind it."
        if 'class="mechanism"' not in text: return
        name, numbers = (re.search(f'data-{key}="([^"]*)"', text) for key in ('mechanism', 'numbers'))
        if not name or name[1] not in self.mechanisms:
            self.problems.add(place, f'names no mechanism of mechanisms.js: {", ".join(self.mechanisms)}')
        if not numbers or numbers[1] in ('', '{}'): self.problems.add(place, 'a mechanism without numbers behind it')

    def outputs(self, nb, cell):
        "The stored outputs of a cell but for noise, made to fit the site."
        for out in cell.get('outputs', []):
            data = out.get('data', {})
            if NOISE.match(''.join(data.get('text/html', ''))): continue
            picture = any(kind.startswith('image/') for kind in data)
            if 'image/svg+xml' in data:
                data['image/svg+xml'] = figures.packed(figures.inked(''.join(data['image/svg+xml'])))
            if picture or REPR.match(''.join(data.get('text/plain', ''))): data.pop('text/plain', None)
            if 'text/html' in data:
                self.check_mechanism(cell.place, ''.join(data['text/html']))
                html = re.sub(r'<style.*?</style>\s*', '', ''.join(data['text/html']), flags=re.S)
                data['text/html'] = figures.packed_inside(html)
            if 'text/markdown' in data:
                text = figures.packed_inside(''.join(data['text/markdown']))
                data['text/markdown'] = self.markdown(nb, cell.place, text)
            if data or out.output_type == 'stream': yield out

    def picture(self, place, option, outputs):
        """How the figure among the `outputs` of a cell with this `option`, if there is one, is to be shown; it needs a
        text."""
        alt = option.get('fig-alt')
        pictures = [o for o in outputs if any(kind.startswith('image/') for kind in o.get('data', {}))]
        if alt and not pictures: self.problems.add(place, 'describes a figure, but stores none; execute it')
        if not pictures: return {}
        if len(pictures) > 1:
            self.problems.add(place, f'shows {len(pictures)} figures; give each a cell and a text of its own')
        if not alt:
            self.problems.add(place, 'shows a figure without alternative text; begin the cell with '
                                     '#| fig-alt: "What is to be seen"')
        width = figures.width(pictures[0])
        classes = ['wide']*(width > WIDE) + ['same-colours']*(option.get('fig-dark') == 'same')
        return dict(alt=str(alt)) | (dict(width=f'{width}px') if width else {}) | (dict(classes=' '.join(classes))
                if classes else {})

    def code(self, nb, cell):
        "A code cell with its outputs, as far as its options let it show; None if nothing is left."
        option, source = options(cell.source, cell.place, self.problems)
        off = {name for name, value in option.items() if value is False}
        if 'include' in off: return
        outputs = [] if 'output' in off else list(self.outputs(nb, cell))
        if not source and not outputs: return
        picture = self.picture(cell.place, option, outputs)
        own = api.exported(nb.cells[cell.place.cell])
        kind = IMPORTS if own and pasting.imports_only(source) else 'Code' if own else purpose(source, picture)
        aside = kind != 'Code' or nb.page.startswith('papers/')  # there the answers come first
        long = is_test(kind) or source.count('\n') >= (ASIDE if aside else LONG)
        if own and not aside: long = source.count('\n') >= WHOLE
        fold = option.get('code-fold', kind == IMPORTS or long)
        return self.code_cell(source, kind, outputs, fold is True, 'echo' in off, picture)

    def code_cell(self, source, kind, outputs=(), fold=True, without=False, picture=None):
        "A code cell for MyST-NB, folded under a line that says its `kind`, open, or `without` its code."
        tags = ['remove-input']*without + ['hide-input']*fold
        prompts = dict(code_prompt_show=kind, code_prompt_hide=kind)
        metadata = dict(tags=tags, mystnb=dict(image=picture or {}) | prompts)
        return dict(cell_type='code', execution_count=None, metadata=metadata, source=source, outputs=list(outputs))

    def reference(self, nb, defined):
        """The reference of a page, each part with its place: what its cells have `defined`, in the order of the source,
        and what is no public definition last."""
        if not defined: return
        yield '## Reference', nb.place(0)
        for o, shown in defined:
            if not isinstance(o, api.Definition): continue
            yield api.entry(o, lambda text: self.markdown(nb, o.place, text), self.source, shown), o.place
        helpers = [o for o, _ in defined if isinstance(o, api.Rest)]
        if helpers: yield '\n\n'.join(['### Helpers', *map(api.rest, helpers)]), nb.place(0)

    def more(self, nb):
        "The pages that hold the details of this one, for they are in no menu."
        line = lambda o: f'- [](/{o.page}.ipynb): {self.markdown(nb, o.place(0), o.description)}'
        return '\n'.join(['## Details on pages of their own', '', *map(line, self.details[nb.page])])

    def cells(self, nb):
        """Every cell of a page with the place it comes from: the lesson, and the reference after it.

        The lesson shows the code that is marked with `#| exports`; other definitions stand in the reference alone, to
        which every name in the text leads.
        """
        defined = []
        needed = pasting.imports(nb, self.cfg.lib_name, self.problems)
        first = next((place for place, _ in pasting.visible(nb)), None)
        yield self.top(nb), nb.place(0)
        for cell in nb.shown:
            found, shown = self.library.cells.get((nb.name, cell.place.cell), []), False
            if api.exported(nb.cells[cell.place.cell]):
                shown = 'exports' in cell.directives_
                defined += [(o, shown) for o in found]
                if not shown: continue
            if cell.place == first and needed: yield self.code_cell(needed, IMPORTS), cell.place
            if definitions := [o for o in found if isinstance(o, api.Definition)]:
                yield api.landmarks(definitions), cell.place
            if cell.cell_type == 'markdown': yield self.text(nb, cell), cell.place
            elif cell.source and (made := self.code(nb, cell)): yield made, cell.place
        if self.details.get(nb.page): yield self.more(nb), nb.place(0)
        yield from self.reference(nb, defined)
        if nb is self.bibliography.notebook:
            yield f'## Citing this library\n\n```bibtex\n{project_bibtex(self.cfg)}\n```', nb.place(0)

    def page(self, nb):
        "The notebook for MyST-NB, and the place that each of its cells comes from."
        cells, places = [], []
        for i, (cell, place) in enumerate(together(self.cells(nb))):
            cells.append((markdown_cell(cell) if isinstance(cell, str) else cell) | dict(id=f'c{i}'))
            places.append(place)
        return as_page(cells), places

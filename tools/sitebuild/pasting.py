"""Whoever pastes the visible code of a page in order gets what the page shows.

What that code needs from cells that are not shown is brought by the first cell, "Imports", which is made here. What
cannot be brought is a fault that names page, cell and name.
"""
import ast, builtins, importlib, importlib.util, re, symtable
from functools import cache
from pathlib import Path

from .api import assigned, exported
from .notebooks import Problems, options

IMPORT = ast.Import, ast.ImportFrom
SIMPLE = ast.Expr, ast.Assign, ast.AnnAssign, ast.AugAssign  # what they read must be there before them
# what reads the results that are stored beside the notebooks
STORED = re.compile(r"['\"](?:\w+/)*results/|\bResults\(")
GIVEN = {*dir(builtins), '__name__', '__file__', '__doc__'}
# Methods that a module of fastai gives to `Learner` when it is imported, and that no import names
PATCHED = {'no_bar': 'fastai.callback.progress', 'fit_one_cycle': 'fastai.callback.schedule',
           'fit_flat_cos': 'fastai.callback.schedule', 'fine_tune': 'fastai.callback.schedule',
           'lr_find': 'fastai.callback.schedule'}
OF_NOTEBOOKS = {'display': 'from IPython.display import display'}  # what Jupyter brings by itself

def parsed(source):
    try: return ast.parse(source).body
    except SyntaxError: return []  # IPython's magic

def imports_only(source):
    "Does `source` do nothing but import?"
    statements = parsed(source)
    return bool(statements) and all(isinstance(node, IMPORT) for node in statements)

def plain(cell, problems):
    "The options at the top of a code cell, and its code without them and without directives."
    option, source = options(cell.source, cell.place, problems)
    return option, '\n'.join(line for line in source.split('\n') if not line.startswith('#|')).strip('\n')

def visible(nb):
    "The place and the source of each cell whose code the page of a notebook shows."
    for cell in nb.shown:
        if cell.cell_type != 'code': continue
        if exported(nb.cells[cell.place.cell]) and 'exports' not in cell.directives_: continue
        option, source = plain(cell, Problems())
        if source and option.get('echo') is not False and option.get('include') is not False: yield cell.place, source

def late(scope):
    "Names that a function reads from the page, when it is called."
    found = {o.get_name() for o in scope.get_symbols() if o.is_global() and o.is_referenced()}
    return found.union(*map(late, scope.get_children()))

def scopes(scope):
    "The functions in a statement that are called later, and what is run with it: classes, comprehensions."
    for o in scope.get_children():
        if o.get_type() == 'class' or o.get_name() in ('genexpr', 'listcomp', 'setcomp', 'dictcomp'):
            yield o, True
            yield from scopes(o)
        else: yield o, False

def names(node):
    "What a statement reads at once, what its functions read later, and what it defines."
    top = symtable.symtable(ast.unparse(node), 'cell', 'exec')
    symbols = top.get_symbols()
    defined = {o.get_name() for o in symbols if o.is_assigned() or o.is_imported()}
    now = {o.get_name() for o in symbols if o.is_referenced()}
    later = set()
    for scope, at_once in scopes(top):
        if at_once: now |= {o.get_name() for o in scope.get_symbols() if o.is_global() and o.is_referenced()}
        else: later |= late(scope)
    if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name): now.add(node.target.id)
    if not isinstance(node, SIMPLE): now -= defined  # a loop reads what it has set itself
    return now, later, defined

@cache
def brought(module):
    "The names that `from module import *` brings."
    source = Path(importlib.util.find_spec(module).origin).read_text()
    lists = [node.value for node in parsed(source) if isinstance(node, ast.Assign) and '__all__' in assigned(node)]
    if len(lists) == 1: return set(ast.literal_eval(lists[0]))
    found = importlib.import_module(module)  # what others bring along, or compute
    return set(getattr(found, '__all__', None) or (name for name in vars(found) if not name.startswith('_')))

def given(node):
    "What an import brings: name -> the statement that brings it alone."
    if not isinstance(node, IMPORT): return {}
    start = f'from {"."*node.level}{node.module or ""} ' if isinstance(node, ast.ImportFrom) else ''
    found = {}
    for o in node.names:
        if o.name == '*': found |= {name: f'{start}import {name}' for name in brought(node.module)}
        else: found[(o.asname or o.name).split('.')[0]] = f'{start}import {ast.unparse(o)}'
    return found

def missing(cells):
    "The place and the name of what visible `cells` need and no visible cell gives before."
    known, waiting = set(GIVEN), []
    for place, source in cells:
        for node in parsed(source):
            now, later, defined = names(node)
            waiting += [(place, name) for name in sorted(later)]
            for name in sorted(now - known): yield place, name
            known |= defined | given(node).keys()
    yield from ((place, name) for place, name in waiting if name not in known)

def hidden(nb, library):
    "What the cells of a notebook import, shown or not, and what its module defines: name -> import."
    found = dict(OF_NOTEBOOKS)
    code = [cell for cell in nb.cells if cell.cell_type == 'code']
    for cell in code:
        for node in parsed(cell.source): found |= given(node)
    for cell in filter(exported, code) if nb.module else ():
        for node in parsed(cell.source):
            if isinstance(node, IMPORT): continue
            found |= {name: f'from {library}.{nb.module} import {name}' for name in assigned(node)}
    return found

def joined(statements):
    "Imports of single names as few lines, those of Python and of other libraries first."
    plain, by_module = [], {}
    for o in sorted(set(statements)):
        start, _, name = o.partition('import ')
        if start: by_module.setdefault(start, []).append(name)
        else: plain.append(name)
    lines = [f'import {name}' for name in plain]
    for start, found in by_module.items():
        line = f'{start}import {", ".join(found)}'
        if len(line) > 96:
            line = f'{start}import (\n    ' + ',\n    '.join(found) + ')'
        lines.append(line)
    return '\n'.join(sorted(lines, key=lambda line: 'reformer_rnn' in line))

def patches(cells):
    "The imports that bring methods which visible `cells` call."
    nodes = (node for _, source in cells for top in parsed(source) for node in ast.walk(top))
    called = {node.attr for node in nodes if isinstance(node, ast.Attribute)}
    return [f'import {module}' for name, module in PATCHED.items() if name in called]

def from_checkout(nb):
    "Does a page read results that only the checkout has?"
    return any(STORED.search(source) for _, source in visible(nb))

def imports(nb, library, problems):
    "The code of the first cell of a page, which brings what its visible cells need; what cannot be had is a problem."
    sources, found = hidden(nb, library), patches(visible(nb))
    for place, name in missing(visible(nb)):
        if name in sources: found.append(sources[name])
        else: problems.add(place, f'uses `{name}`, which no cell that is shown defines; show the cell that does')
    if not from_checkout(nb): return joined(found)
    folder = nb.name.rpartition('/')[0]
    return f'# reads stored results: run it in {folder} of the checkout\n{joined(found)}'

def to_run(nb, library, problems):
    "What somebody pastes who takes all code of a page but that which is marked as slow, for a GPU, or not to be run."
    if first := imports(nb, library, problems): yield 'Imports', first
    by_place = {cell.place: cell for cell in nb.shown}
    for place, source in visible(nb):
        cell = by_place[place]
        off = {'slow', 'gpu'} & cell.directives_.keys() or plain(cell, problems)[0].get('eval') is False
        if parsed(source) and not off: yield place, source

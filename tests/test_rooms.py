"Arrows between the rooms of the package run one way, nobody imports what is private, and code fits a page."
import ast, json, re, textwrap
from collections import defaultdict

import pytest
from conftest import ROOT

LIB = ROOT/'reformer_rnn'
ROOMS = {  # Room: the rooms from which it may import, besides its own
    'modes': (),
    'core': ('modes',),
    'files': (),
    'hub': (),
    'outside': ('files',),
    'pretrained': ('core', 'hub', 'outside'),  # and modes and files: who imports from core imports from all four
    'draw': ('core',),
    'attention': ('core',),
    'hugging_face': ('core',),
    'kernels': ('core', 'attention'),
    'blocks': ('core', 'attention'),
    'data': ('core',),
    'models': ('core', 'attention', 'blocks', 'data'),
    'training': ('core', 'attention', 'blocks', 'data', 'models'),
    'runs': ('core', 'attention', 'blocks', 'data', 'models', 'training'),
    'papers': ('core', 'attention', 'blocks', 'data', 'models', 'training', 'runs'),
    'exam': ('core', 'attention', 'blocks', 'data', 'models', 'training', 'runs'),
    'check_model': ('core', 'attention', 'models', 'runs'),
    'ledger': ('core', 'runs', 'papers', 'exam'),
    'all': ('core', 'attention', 'blocks', 'data', 'models', 'training', 'runs')}
WIDEST = 100  # columns of a line of code in a notebook, which is read on pages
WIDEST_SCRIPT = 120  # of one in tests and tools, which is read in editors
LONGEST = 25  # lines of code in a cell or in a method, see `lines_of_code`
LONGEST_CLASS = 60  # of one in a cell of its own, so that editors see it whole
LONG_CELLS = {  # Notebook: what stands first in a longer cell that is one thing, a loop or a table
    '10_attention/02_linear': {'linear_attention'},
    '10_attention/03_lsh': {'lsh_attention'},
    '15_kernels/02_linear': {'_CausalLinear', '_backward'},
    '30_models/15_foreign': {'gpt2'},
    }
FREE = re.compile(r'fig-alt|https?://')  # alternative texts and addresses may be longer

def modules():
    "Every module of the package, by its name below it."
    for path in sorted(LIB.rglob('*.py')):
        if path.stem[0] != '_': yield '.'.join(path.relative_to(LIB).with_suffix('').parts), path

def imports(name, path):
    "`(module, names, line)` of everything that a module imports from the package."
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.level:
            base = ['', *name.split('.')][:-node.level]
            target = '.'.join([*base, *(node.module or '').split('.')]).strip('.')
        elif isinstance(node, ast.ImportFrom) and (node.module or '').startswith('reformer_rnn.'):
            target = node.module.removeprefix('reformer_rnn.')
        else: continue
        yield target, [o.name for o in node.names], node.lineno

GRAPH = {name: list(imports(name, path)) for name, path in modules()}

def room(module): return module.split('.')[0]

@pytest.mark.parametrize('name', GRAPH)
def test_arrows(name):
    for target, _, line in GRAPH[name]:
        allowed = [room(name), *ROOMS[room(name)]]
        if 'core' in allowed: allowed += ['modes', 'files', 'pretrained']
        assert room(target) in allowed, f'{name}, line {line}: {room(name)} must not import from {target}'

@pytest.mark.parametrize('name', GRAPH)
def test_no_private_name_crosses_a_file(name):
    private = [(target, o, line) for target, names, line in GRAPH[name] for o in names if o.startswith('_')]
    assert not private, f'{name} imports private names: {private}'

@pytest.mark.parametrize('name', GRAPH)
def test_no_unused_import(name):
    "What only tests need is imported by them; an import for its effects has a comment that names them."
    code = (LIB/f'{name.replace(".", "/")}.py').read_text()
    tree, lines = ast.parse(code), code.splitlines()
    bound = {(o.asname or o.name).split('.')[0] for node in tree.body if isinstance(node, (ast.Import, ast.ImportFrom))
             and '#' not in lines[node.end_lineno-1] for o in node.names}
    used = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    assert not bound-used-{'*'}, f'{name} imports what it does not use: {sorted(bound-used)}'

def test_no_cycle():
    edges = defaultdict(set)
    for name, found in GRAPH.items():
        for target, names, _ in found:
            submodules = {f'{target}.{o}' for o in names} & GRAPH.keys()
            edges[name] |= submodules or ({target} & GRAPH.keys())
    done, path = set(), []
    def visit(name):
        assert name not in path, 'a cycle of imports: ' + ' -> '.join([*path[path.index(name):], name])
        if name in done: return
        path.append(name)
        for target in sorted(edges[name]): visit(target)
        path.pop()
        done.add(name)
    for name in GRAPH: visit(name)

LARGEST = 600  # lines of a module: beyond that it is two ideas

@pytest.mark.parametrize('name, path', list(modules()), ids=[name for name, _ in modules()])
def test_no_module_is_too_large(name, path):
    lines = path.read_text().count('\n')
    assert lines <= LARGEST, f'{name} has {lines} lines: two ideas are two modules'

SPEAKS = re.compile(r'`\w+`? if|`\w+Error`|`(Kept|Failed|Skipped|NotRepeatable)`|\b[Rr]efuse|\b[Rr]aise')
# Called by Python, and written by whoever uses a class
CALLED = '__init__', '__call__', '__getitem__'

def raises_itself(function):
    "Does it raise an error? What fastai's loop is steered with, and an abstract method, are none."
    raised = [ast.unparse(o.exc) for o in ast.walk(function) if isinstance(o, ast.Raise) and o.exc]
    return any(not o.startswith(('Cancel', 'NotImplementedError')) for o in raised)

def public_functions(tree):
    "`(name, function, what it is described by)` of functions, and of methods; what makes an object, by its class."
    for o in tree.body:
        if isinstance(o, ast.FunctionDef): yield o.name, o, [o]
        if not isinstance(o, ast.ClassDef) or o.name.startswith('_'): continue
        for method in o.body:
            if not isinstance(method, ast.FunctionDef): continue
            yield f'{o.name}.{method.name}', method, [o, method] if method.name == '__init__' else [method]

@pytest.mark.parametrize('name, path', list(modules()), ids=[name for name, _ in modules()])
def test_errors_are_in_the_docstring(name, path):
    """A public function or method that raises an error itself names it, except for one that is there to check
    something."""
    source = path.read_text()
    lines = source.split('\n')
    silent = []
    for called, function, described in public_functions(ast.parse(source)):
        if function.name.startswith(('_', 'check_')) and function.name not in CALLED: continue
        head = '\n'.join('\n'.join(lines[o.lineno-1:o.body[0].end_lineno]) for o in described)
        if raises_itself(function) and not SPEAKS.search(head): silent.append(called)
    assert not silent, f'say in the docstring what these raise: {silent}'

# Names of others with an underscore that their documentation promises
PROMISED = {'_replace', '_asdict', '_fields', '_exit'}

def is_private(name): return name.startswith('_') and not name.startswith('__') and name.isidentifier() and name != '_'

def own_names(tree):
    "What a module defines itself, under whatever name."
    for o in ast.walk(tree):
        if isinstance(o, (ast.FunctionDef, ast.ClassDef)): yield o.name
        elif isinstance(o, ast.arg): yield o.arg
        elif isinstance(o, ast.Name) and isinstance(o.ctx, ast.Store): yield o.id
        elif isinstance(o, ast.Attribute) and isinstance(o.ctx, ast.Store) and ast.unparse(o.value) == 'self':
            yield o.attr

def names_in(tree):
    "Attributes, what is imported from elsewhere, and texts that may be names of attributes."
    pieces = {id(o) for joined in ast.walk(tree) if isinstance(joined, ast.JoinedStr) for o in joined.values}
    for o in ast.walk(tree):
        if isinstance(o, ast.Attribute): yield o.attr
        elif isinstance(o, ast.ImportFrom) and not o.level:
            yield from (o.module or '').split('.')
            yield from (name.name for name in o.names)
        elif isinstance(o, ast.Import): yield from (part for name in o.names for part in name.name.split('.'))
        elif isinstance(o, ast.Constant) and isinstance(o.value, str) and id(o) not in pieces: yield o.value

def borrowed(source):
    "Private names of others that a module uses."
    tree = ast.parse(source)
    return {o for o in names_in(tree) if is_private(o)} - {*own_names(tree)} - PROMISED

def test_private_names_are_found():
    assert borrowed('from torch._C import x; o._a; vars(o).pop("_b"); self._c = o._c; f"{o}_d"; o._replace()') == {
        '_C', '_a', '_b'}

def test_private_names_of_others_are_listed():
    "With a reason, and the page that notices when one goes; and no other is listed."
    cells = json.loads((ROOT/'nbs/06_private_names.ipynb').read_text())['cells']
    rows = [line.split(' | ') for c in cells for line in ''.join(c['source']).split('\n') if line.startswith('| `')]
    listed = {name for row in rows for name in re.findall(r'`(\w+)`', row[0])}
    used = set().union(*(borrowed(path.read_text()) for _, path in modules()))
    assert used == listed, f'missing on the page: {used - listed}; not used any more: {listed - used}'
    for row in rows:
        pages = re.findall(r'\]\(([\w/]+\.ipynb)\)', row[-1])
        assert len(row) == 4 and pages and all((ROOT/'nbs'/o).exists() for o in pages), row

def test_pictures_survive_a_full_disk():
    "Only `save_figure` writes pictures of results."
    rooms = 'runs', 'papers', 'exam', 'ledger'
    writes = [name for name, path in modules() if room(name) in rooms and '.savefig(' in path.read_text()]
    assert writes == ['runs.record'], 'use save_figure of runs.record'

NOTEBOOKS = sorted(p.relative_to(ROOT).as_posix() for p in (ROOT/'nbs').rglob('*.ipynb') if '_' != p.parent.name[0])

# Code that is quoted in prose
PYTHON = re.compile(r'```python\n(.*?)```', re.S)

@pytest.mark.parametrize('name', NOTEBOOKS)
def test_lines_of_notebooks(name):
    cells = json.loads((ROOT/name).read_text())['cells']
    code = [''.join(c['source']).split('\n') for c in cells if c['cell_type'] == 'code']
    code += [o.split('\n') for c in cells for o in PYTHON.findall(''.join(c['source'])) if c['cell_type'] == 'markdown']
    wide = [line for lines in code for line in lines if len(line) > WIDEST and not FREE.search(line)]
    assert not wide, '\n'.join([f'{len(wide)} lines over {WIDEST} columns:', *wide])

# A line may end neither between the variables of a loop nor in the parameters of a lambda
TORN = re.compile(r'\b(?:for (?!.*\bin\b)[\w ,()]*|lambda [\w =,*]*),$')

@pytest.mark.parametrize('name', NOTEBOOKS)
def test_lines_end_where_a_thought_ends(name):
    cells = json.loads((ROOT/name).read_text())['cells']
    code = [''.join(c['source']).split('\n') for c in cells if c['cell_type'] == 'code']
    torn = [line for lines in code for line in lines if TORN.search(line) and not line.lstrip().startswith('#')]
    assert not torn, '\n'.join(torn)

def documented(tree):
    "Lines of parameters and of fields, each on a line of its own because its documentation stands beside it."
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef):
            yield from (o.lineno for o in node.body if isinstance(o, ast.AnnAssign))
        elif isinstance(node, ast.FunctionDef):
            yield from (o.lineno for o in ast.walk(node.args) if isinstance(o, ast.arg) and o.lineno > node.lineno)

def lines_of_code(source):
    "How many lines a cell has, without empty ones, comments, and parameters and fields with their documentation."
    source = '\n'.join('' if line.startswith(('%', '!')) else line for line in source.split('\n'))
    apart = set(documented(ast.parse(source)))
    lines = enumerate(source.split('\n'), 1)
    return sum(i not in apart and bool(o.strip()) and not o.lstrip().startswith('#') for i, o in lines)

def first_of(source):
    "The first definition of a cell, or else its first line of code."
    found = re.search(r'^(?:def|class) (\w+)', source, re.M)
    return found[1] if found else next(o for o in source.split('\n') if o.strip() and o[0] != '#')

def too_long(source):
    "Is a cell longer than a function may be, or a class in a cell of its own longer than a class, or a method of it?"
    lines = lines_of_code(source)
    if lines <= LONGEST: return False
    body = ast.parse(re.sub(r'^[%!].*', '', source, flags=re.M)).body
    if lines > LONGEST_CLASS or [type(o) for o in body] != [ast.ClassDef]: return True
    methods = [ast.get_source_segment(source, o, padded=True) for o in body[0].body if isinstance(o, ast.FunctionDef)]
    return any(lines_of_code(textwrap.dedent(o)) > LONGEST for o in methods)

def long_cells(name):
    cells = json.loads((ROOT/name).read_text())['cells']
    code = [''.join(c['source']) for c in cells if c['cell_type'] == 'code']
    return {first_of(o) for o in code if too_long(o)}

@pytest.mark.parametrize('name', NOTEBOOKS)
def test_length_of_cells(name):
    known = LONG_CELLS.get(name.removeprefix('nbs/').removesuffix('.ipynb'), set())
    assert long_cells(name) == known, f'cells of more than {LONGEST} lines of code, or cells that are short again'

def test_few_long_cells(): assert sum(map(len, LONG_CELLS.values())) <= 20

@pytest.mark.parametrize('name', NOTEBOOKS)
def test_outputs_name_no_machine(name):
    cells = json.loads((ROOT/name).read_text())['cells']
    outputs = '\n'.join(json.dumps(c.get('outputs', [])) for c in cells)
    for path in (str(ROOT), 'site-packages', '/tmp/tmp', '/tmp/ipykernel'):
        assert path not in outputs, f'an output holds {path}'

def test_reading_leads_to_every_experiment():
    "The page that says what to read names each page with a result, and each that one copies from."
    reading = (ROOT/'nbs/01_reading.ipynb').read_text()
    pages = [o.removeprefix('nbs/') for o in NOTEBOOKS if o.split('/')[1] in ('70_papers', '80_exam', '80_howto')]
    missing = [o for o in pages if f'({o})' not in reading]
    assert pages and not missing, f'execute nbs/01_reading.ipynb, which lists experiments, or link there {missing}'

@pytest.mark.parametrize('name, path', list(modules()), ids=[name for name, _ in modules()])
def test_classes_stand_whole(name, path):
    "No editor sees a method that is patched onto a class of its own file; what other files define may be extended."
    body = ast.parse(path.read_text()).body
    own = {o.name for o in body if isinstance(o, ast.ClassDef)}
    apart = []
    for o in body:
        if not isinstance(o, ast.FunctionDef) or 'patch' not in map(ast.unparse, o.decorator_list): continue
        if ast.unparse(o.args.args[0].annotation) in own: apart.append(o.name)
    assert not apart, f'methods outside their class: {apart}'

SCRIPTS = sorted(p.relative_to(ROOT).as_posix() for d in ('tests', 'tools') for p in (ROOT/d).rglob('*.py'))

@pytest.mark.parametrize('name', SCRIPTS)
def test_lines_of_scripts(name):
    lines = (ROOT/name).read_text().split('\n')
    wide = [line for line in lines if len(line) > WIDEST_SCRIPT and not FREE.search(line)]
    assert not wide, '\n'.join([f'{len(wide)} lines over {WIDEST_SCRIPT} columns:', *wide])

NO_LESSONS = {'25_backend'}  # from 90 on stand tests over all layers
LESSONS = [o for o in NOTEBOOKS if o.startswith(('nbs/10_attention/', 'nbs/20_blocks/'))
           and o.split('/')[2].removesuffix('.ipynb') not in NO_LESSONS and o.split('/')[2] < '90']

@pytest.mark.parametrize('name', LESSONS)
def test_lessons_have_a_beginning_and_an_end(name):
    """First what one learns, needs, and how long it takes; then what goes wrong, something to try, and a summary. The
    answer is folded, and between empty lines, so that it is set as text."""
    cells = json.loads((ROOT/name).read_text())['cells']
    text = '\n\n'.join(''.join(c['source']) for c in cells if c['cell_type'] == 'markdown')
    assert re.search(r'\*\*You will learn\*\* .+ \*\*You need\*\* .+ \*\*Minutes\*\* \d+\n', text), \
        'no line "**You will learn** ... · **You need** ... · **Minutes** 10"'
    for section in ('Pitfalls', 'Summary'): assert f'## {section}\n' in text, f'no section "{section}"'
    _, found, exercises = text.partition('## Exercise')
    assert found, 'no section "Exercise" or "Exercises"'
    answers = exercises.count('<details')
    folded = re.findall(r'\n\n<details class="answer"><summary>Answer</summary>\n\n[^<]+\n\n</details>', exercises)
    assert answers and len(folded) == answers, 'each answer stands in <details class="answer">, between empty lines'

# Rooms whose modules are programs, not parts: nobody imports all names of several of them
PROGRAMS = 'papers', 'exam', 'ledger', 'all'

def exported(path):
    "The names in `__all__` of a module."
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, ast.Assign) and getattr(node.targets[0], 'id', '') == '__all__':
            return ast.literal_eval(node.value) if isinstance(node.value, ast.List) else []
    return []

def test_no_two_pages_of_a_room_have_one_number():
    "They are read, and listed, in the order of their numbers."
    files = defaultdict(list)
    for folder, _, file in (name.rpartition('/') for name in NOTEBOOKS): files[folder, file[:2]].append(file)
    twice = [found for (folder, _), found in files.items() if folder != 'nbs' and len(found) > 1]
    assert not twice, f'give one of each another number: {twice}'

def test_no_name_is_exported_twice():
    "One of them would hide the other in `from reformer_rnn.all import *`, without a word."
    homes = defaultdict(list)
    for name, path in modules():
        for o in [] if room(name) in PROGRAMS else exported(path): homes[o].append(name)
    assert len(homes) > 500
    assert {o: found for o, found in homes.items() if len(found) > 1} == {}

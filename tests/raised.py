"""Run a notebook as `nbdev_test` does, and require that its own tests raise every error that its exported code has.

Two things are looked at. Every `raise` of an exported cell has to be reached, there or in the module that the notebook
writes, which other modules bring along. And every function that speaks of an
error in its docstring or its docments has to be left by one, wherever that comes from.
"""
import ast, builtins, os, re, sys
from functools import wraps
from importlib.machinery import SourceFileLoader
from importlib.util import spec_from_file_location
from pathlib import Path
from tempfile import TemporaryDirectory

PROMISE = re.compile(r'`\w+Error`|\b[Rr]efuse[sd]?\b|\b[Rr]aises?\b')
EXPORTED = re.compile(r'^#\|\s*export[si]?\b', re.M)
ABSTRACT = 'NotImplementedError'
ELSEWHERE = 'BRTSpeedConfig.check',  # tested as the class of the module, which fresh processes import

def patched(node):
    "The class to which `patch` adds a function."
    if not any(ast.unparse(o).startswith('patch') for o in node.decorator_list): return []
    return [ast.unparse(node.args.args[0].annotation)]

class Marker(ast.NodeTransformer):
    "Puts a note before every `raise`, named by the function that it is in; collects the names, and those of promises."
    def __init__(self, source=''): self.source, self.inside, self.raises, self.promises = source, [], [], set()

    def visit_FunctionDef(self, node):
        outside = self.inside
        self.inside = [*outside, *patched(node), node.name]
        last = node.body[0].end_lineno if ast.get_docstring(node) else node.body[0].lineno-1
        head = self.source.split('\n')[node.lineno-1:last]
        if PROMISE.search('\n'.join(head)): self.promises.add('.'.join(self.inside))
        self.generic_visit(node)
        self.inside = outside
        return node

    def visit_ClassDef(self, node):
        self.inside = [*self.inside, node.name]
        self.generic_visit(node)
        self.inside = self.inside[:-1]
        return node

    def visit_Raise(self, node):
        if node.exc is None or ABSTRACT in ast.unparse(node): return node
        text = f'{".".join(self.inside)}: {ast.unparse(node)}'
        name = f'{text} ({self.raises.count(text)+1})' if text in self.raises else text
        self.raises.append(name)
        note = ast.parse(f'_reached_({name!r})').body[0]
        for o in ast.walk(note): ast.copy_location(o, node)
        return [note, node]

def marked(tree): return ast.fix_missing_locations(Marker().visit(tree))

class OwnModule(SourceFileLoader):
    "Imports the module of a notebook with notes; as a finder, knows no other module."
    @classmethod
    def of(cls, notebook):
        from execnb.nbio import read_nb
        found = re.search(r'^#\| default_exp (\S+)', '\n'.join(cell.source for cell in read_nb(notebook).cells), re.M)
        name = f'reformer_rnn.{found[1]}' if found else ''
        return cls(name, str(Path(*name.split('.')).with_suffix('.py').resolve()) if found else '')

    def find_spec(self, name, path=None, target=None):
        return spec_from_file_location(name, self.path, loader=self) if name == self.name else None

    def get_code(self, fullname): return compile(marked(ast.parse(self.get_data(self.path))), self.path, 'exec')

class Notes:
    "What has been reached, in a file, for processes that a notebook forks."
    def __init__(self, path): self.path = path

    def write(self, *names):
        with open(self.path, 'a') as f: f.writelines(f'{name}\n' for name in names)

    def reached(self, name):
        "A `raise`, and the functions on the way to it."
        frame, way = sys._getframe(1), []
        while frame: way, frame = [*way, frame.f_code.co_qualname], frame.f_back
        self.write(repr(name), *{o.replace('<locals>.', '') for o in way})

    def watched(self, test_fail):
        "`test_fail` that notes the functions which an error has left."
        @wraps(test_fail)
        def watching(f, *args, **kwargs):
            def leaving(*args, **kwargs):
                try: return f(*args, **kwargs)
                except BaseException as e:
                    self.left(e.__traceback__)
                    raise
            return test_fail(leaving, *args, **kwargs)
        return watching

    def left(self, traceback):
        while traceback:
            self.write(traceback.tb_frame.f_code.co_qualname.replace('<locals>.', ''))
            traceback = traceback.tb_next

    def names(self): return set(Path(self.path).read_text().splitlines()) if Path(self.path).exists() else set()

def parents(name):
    "A function, and those inside of which it is defined."
    parts = name.split('.')
    return ['.'.join(parts[:i]) for i in range(1, len(parts)+1)]

def expected(notebook):
    "The names of the `raise` statements in exported cells, and of the functions that promise errors."
    from execnb.nbio import read_nb
    raises, promises = [], set()
    for cell in read_nb(notebook).cells:
        if cell.cell_type != 'code' or not EXPORTED.search(cell.source): continue
        marker = Marker(cell.source)
        marker.visit(ast.parse(cell.source))
        raises += marker.raises
        promises |= marker.promises
    return raises, promises

def missing(notebook):
    "Run a notebook; what it promises and does not raise."
    import fastcore.test
    from IPython.core.interactiveshell import InteractiveShell
    from nbdev.test import nbdev_test
    class Marked:
        def visit(self, node): return marked(node)
    with TemporaryDirectory() as folder:
        notes = Notes(os.path.join(folder, 'notes'))
        started = InteractiveShell.__init__
        def start(shell, *args, **kwargs):
            started(shell, *args, **kwargs)
            shell.ast_transformers.append(Marked())
        InteractiveShell.__init__ = start
        builtins._reached_ = notes.reached
        sys.meta_path.insert(0, OwnModule.of(notebook))
        fastcore.test.test_fail = notes.watched(fastcore.test.test_fail)
        nbdev_test(path=notebook, n_workers=0)
        found = notes.names()
    raises, promises = expected(notebook)
    never = [o for o in raises if repr(o) not in found]
    left = {parent for o in found for parent in parents(o)}
    never += [f'{o} promises an error' for o in sorted(promises - left)]
    return [o for o in never if not o.startswith(ELSEWHERE)]

def require_errors(notebook):
    "Run a notebook, and leave with what it promises and does not raise."
    if never := missing(notebook): sys.exit('\n'.join([f'No test of {notebook} raises', *never]))

if __name__ == '__main__': require_errors(sys.argv[1])

"One store: JSON is written, and folders are locked, by `files` alone."
import ast

import pytest
from conftest import ROOT

LIB = ROOT/'reformer_rnn'
WRITERS = {'write', 'write_text', 'write_bytes', 'writelines'}
LOCKS = {'fcntl', 'msvcrt', 'portalocker'}  # besides filelock, which knows every system

def is_call(node, *names):
    "Is this a call of `json.NAME`, or of NAME taken from there?"
    f = getattr(node, 'func', None)
    return getattr(f, 'attr', getattr(f, 'id', '')) in names and isinstance(node, ast.Call)

def second_writers(source):
    "Lines on which JSON goes to a file past `write_json`."
    for node in ast.walk(ast.parse(source)):
        if is_call(node, 'dump') and 'json' in ast.unparse(node.func): yield node.lineno
        if is_call(node, *WRITERS) and any(is_call(o, 'dumps') for o in ast.walk(node)): yield node.lineno

def locks(source):
    "The modules of one system's locks that a source imports."
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import): yield from {o.name for o in node.names} & LOCKS

def sources(): return {o.relative_to(LIB).as_posix(): o.read_text() for o in sorted(LIB.rglob('*.py'))}

def test_json_has_one_writer():
    found = {name: lines for name, text in sources().items() if (lines := [*second_writers(text)])}
    assert found == {}, f'use write_json of files: {found}'

def test_locks_lie_in_one_place():
    assert [name for name, text in sources().items() if [*locks(text)]] == ['files.py'], 'use FileLock of filelock'

@pytest.mark.parametrize('line', ["json.dump(o, f)", "Path('a').write_text(json.dumps(o))",
                                  "f.write((json.dumps(o)+'\\n').encode())"])
def test_a_second_writer_is_named(line): assert [*second_writers(f'import json\n{line}')] == [2]

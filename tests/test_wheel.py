"The wheel works where there is no checkout."
import json, os, zipfile
from email.parser import Parser
from pathlib import Path

import pytest
from conftest import ROOT, borrowing_venv, pins, run
from packaging.requirements import Requirement

@pytest.fixture(scope='module')
def python(wheel, tmp_path_factory):
    "The Python of an environment in which nothing but the wheel is installed."
    python = borrowing_venv(tmp_path_factory.mktemp('venv'))
    run(python, '-m', 'pip', 'install', '-q', '--no-deps', '--no-index', wheel)
    return python

def test_imports(python, tmp_path):
    "All names are there, and the model that comes along writes where nothing can be reached."
    code = '''
import sys
from pathlib import Path
import reformer_rnn, torch
from reformer_rnn.all import *
assert Path(reformer_rnn.__file__).is_relative_to(sys.prefix), reformer_rnn.__file__
assert len(LM.from_pretrained('small').generate('The ', 40)) >= 30
'''
    run(python, '-c', code, cwd=tmp_path)

def test_command(python, tmp_path):
    usage = run(python.with_name('reformer_rnn'), '--help', cwd=tmp_path)
    assert 'copy' in usage and 'charlm' in usage

def test_contents(wheel):
    "Every module and sample is in the wheel, and nothing besides."
    inside = {name for name in zipfile.ZipFile(wheel).namelist() if '.dist-info/' not in name}
    package = ROOT/'reformer_rnn'
    samples = [p for p in (package/'samples').rglob('*') if p.is_file()]
    files = [*package.rglob('*.py'), package/'py.typed', *samples]
    assert inside == {p.relative_to(ROOT).as_posix() for p in files}

def test_size(wheel): assert wheel.stat().st_size < 2.5e6

# Commands, each in a process of its own which has the slow imports behind it; what each printed, as JSON
STEPS = '''
import json, os, sys, tempfile
import torch, fastai.callback.all, fastai.text.all, reformer_rnn.all
from reformer_rnn.ledger.command import main

def said(words):
    with tempfile.TemporaryFile('w+') as out:
        child = os.fork()
        if not child:
            os.dup2(out.fileno(), 1); os.dup2(out.fileno(), 2)
            sys.argv = ['reformer_rnn', *words]
            main()
            sys.stdout.flush()
            os._exit(0)
        _, status = os.waitpid(child, 0)
        out.seek(0)
        text = out.read()
    if status: sys.exit(f'{words} gave {status}: {text}')
    return text

print(json.dumps([said(o) for o in json.loads(sys.argv[1])]))
'''

@pytest.mark.skipif(not hasattr(os, 'fork'), reason='no fork')
def test_from_a_text_to_a_sentence(python, tmp_path):
    "Each step in a process of its own: train, write, measure; the number of the record comes out again."
    def commands(*lines):
        words = json.dumps([list(map(str, line)) for line in lines])
        return json.loads(run(python, '-c', STEPS, words, cwd=tmp_path).splitlines()[-1])
    text = 'It was the best of times, it was the worst of times. '*400
    (tmp_path/'book.txt').write_text(text)
    (tmp_path/'end.txt').write_text(text[-len(text)//10:])
    record = Path('results')/'charlm'/'linear-seed0.json'
    sizes = '--d-model 16 --n-heads 2 --n-layers 1 --seq-len 32 --bs 4 --sample 0'.split()
    _, written, again, elsewhere = commands(
        ['charlm', 'book.txt', *sizes], ['generate', record, '--prompt', 'It was', '--n', 40],
        ['evaluate', record], ['evaluate', record, 'end.txt'])
    assert written.startswith('It was') and len(written) >= 30
    stored = f"{json.loads((tmp_path/record).read_text())['bits_per_byte']:.6f}"
    assert again.count(stored) == 2  # measured again, and what the record says
    assert stored in elsewhere
    card = (tmp_path/record.with_suffix('.model')/'README.md').read_text()
    assert stored[:6] in card and 'book.txt' in card

def test_requirements(wheel):
    "The versions that constraints.txt pins lie within the ranges that the wheel asks for."
    archive = zipfile.ZipFile(wheel)
    metadata = next(name for name in archive.namelist() if name.endswith('.dist-info/METADATA'))
    asked = [Requirement(o) for o in Parser().parsestr(archive.read(metadata).decode()).get_all('Requires-Dist')]
    assert {'torch', 'fastai', 'fastcore'} <= {o.name for o in asked}
    for o in asked: assert pins()[o.name] in o.specifier, f'{o} does not allow {pins()[o.name]}'

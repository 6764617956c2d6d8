"The wheel works where there is no checkout."
import zipfile
from email.parser import Parser

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
    code = '''
import sys
from pathlib import Path
import reformer_rnn, torch
from reformer_rnn.all import *
assert Path(reformer_rnn.__file__).is_relative_to(sys.prefix), reformer_rnn.__file__
assert LM(5, 8, 1, 2)(torch.zeros(1, 3, dtype=torch.long)).shape == (1, 3, 5)
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

def test_small_model(python, tmp_path):
    "The model that comes with the package writes, where nothing can be reached."
    code = "from reformer_rnn.models.lm import LM; print(LM.from_pretrained('small').generate('The ', 40))"
    assert len(run(python, '-c', code, cwd=tmp_path)) >= 30
    assert run(python.with_name('reformer_rnn'), 'generate', '--n', '20', cwd=tmp_path).startswith('The ')

def test_requirements(wheel):
    "The versions that constraints.txt pins lie within the ranges that the wheel asks for."
    archive = zipfile.ZipFile(wheel)
    metadata = next(name for name in archive.namelist() if name.endswith('.dist-info/METADATA'))
    asked = [Requirement(o) for o in Parser().parsestr(archive.read(metadata).decode()).get_all('Requires-Dist')]
    assert {'torch', 'fastai', 'fastcore'} <= {o.name for o in asked}
    for o in asked: assert pins()[o.name] in o.specifier, f'{o} does not allow {pins()[o.name]}'

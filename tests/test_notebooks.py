"Every notebook is one test: all its cells run, in a process of its own, and raise every error that they export."
import sys

import pytest
from conftest import ROOT, run
from nbdev.doclinks import nbglob

NOTEBOOKS = sorted(p.relative_to(ROOT).as_posix() for p in nbglob(ROOT/'nbs', as_path=True))

@pytest.mark.parametrize('notebook', NOTEBOOKS)
def test_notebook(notebook):
    run(sys.executable, 'tests/raised.py', notebook)

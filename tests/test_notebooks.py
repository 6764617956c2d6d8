"Every notebook is one test: all its cells run, in a process of its own, and raise every error that they export."
import pytest
from conftest import ROOT, forked
from nbdev.doclinks import nbglob
from raised import require_errors

NOTEBOOKS = sorted(p.relative_to(ROOT).as_posix() for p in nbglob(ROOT/'nbs', as_path=True))

@pytest.mark.parametrize('notebook', NOTEBOOKS)
def test_notebook(notebook, tmp_path):
    forked(require_errors, notebook, log=tmp_path/'log.txt')

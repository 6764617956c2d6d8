"Every notebook is one test: all its cells run, in a process of its own."
import sys
from pathlib import Path

import pytest
from conftest import ROOT, run
from nbdev.doclinks import nbglob

NOTEBOOKS = sorted(p.relative_to(ROOT).as_posix() for p in nbglob(ROOT/'nbs', as_path=True))

@pytest.mark.parametrize('notebook', NOTEBOOKS)
def test_notebook(notebook):
    run(Path(sys.executable).with_name('nbdev_test'), '--path', notebook)

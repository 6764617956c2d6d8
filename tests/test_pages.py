"Whoever pastes the visible code of a page in order gets what the page shows."
import sys

import pytest
from conftest import ROOT, run
from test_tools import cell, write_notebook

sys.path.insert(0, str(ROOT/'tools'))
from sitebuild import pasting
from sitebuild.notebooks import Problems, load

NOTEBOOKS = sorted(p.relative_to(ROOT).as_posix() for p in (ROOT/'nbs').rglob('*.ipynb') if not p.name.startswith('.'))
# Others are run by `python -m pytest -m pages`
QUICK = 'nbs/10_attention/02_linear.ipynb'

def pasted(nb):
    "The cells that somebody pastes, and the problems of a page."
    problems = Problems()
    return [('Imports', pasting.imports(nb, 'reformer_rnn', problems)), *pasting.visible(nb)], problems

def test_visible_code_needs_nothing_hidden():
    "A name of no visible cell is imported by the first, or the page, the cell and the name are said."
    faults = Problems()
    for name in NOTEBOOKS: pasting.imports(load(ROOT/name, ROOT/'nbs', ROOT, faults), 'reformer_rnn', faults)
    assert not faults, '\n'.join(faults)
    assert len(NOTEBOOKS) > 150

def planted(folder, *sources, module=''):
    "A notebook with these cells, loaded."
    top = [cell('markdown', '# A page\n\n> Of a test.')] + [cell('code', f'#| default_exp {module}')]*bool(module)
    path = folder/'nbs'/'page.ipynb'
    path.parent.mkdir()
    write_notebook(path, *top, *(cell('code', o) for o in sources))
    return load(path, folder/'nbs', folder, Problems())

@pytest.mark.parametrize('hidden, shown, brought', [
    ('import tempfile', 'tempfile.mkdtemp()', 'import tempfile'),
    ('import numpy as np', 'def f(): return np.zeros(3)', 'import numpy as np'),
    ('from math import pi as round', '[round for _ in "ab"]', ''),
    ('from math import tau,pi', 'class Circle:\n    r = pi', 'from math import pi'),
    ('from reformer_rnn.core import *', 'seed_everything(0)', 'from reformer_rnn.core import seed_everything'),
    ('x = 1', 'for x in range(3): x += 1', '')])
def test_planted_imports(tmp_path, hidden, shown, brought):
    "What a hidden cell imports is missed in the visible ones, and imported by the first cell of the page."
    nb = planted(tmp_path, f'#| hide\n{hidden}', shown)
    assert bool(list(pasting.missing(pasting.visible(nb)))) == bool(brought)
    cells, problems = pasted(nb)
    assert cells[0][1] == brought and not problems
    assert not list(pasting.missing(cells))

def test_own_definitions_and_display(tmp_path):
    "The first cell imports what the module of the page defines out of sight, in as few lines as it takes."
    nb = planted(tmp_path, '#| export\nLIMIT = 3\ndef _helper(): return LIMIT\ndef seen(): return _helper()',
                 'display(_helper())\nseen()', module='part.one')
    assert pasted(nb)[0][0][1].split('\n') == ['from IPython.display import display',
                                               'from reformer_rnn.part.one import _helper, seen']

def test_planted_definition_is_named(tmp_path):
    "What only a hidden cell defines cannot be had; the fault names page, cell and name."
    nb = planted(tmp_path, '#| hide\nsecret = 3', 'def later(): return secret', 'later()+own\nown = 2')
    problems = pasted(nb)[1]
    assert len(problems) == 2 and all(o.startswith('nbs/page.ipynb, cell ') for o in problems)
    assert 'cell 3 ("later()+own"): uses `own`' in problems[0] and 'cell 2' in problems[1] and '`secret`' in problems[1]

def test_stored_results_are_announced(tmp_path):
    nb = planted(tmp_path, "runs = open('results/x.json')")
    assert pasted(nb)[0][0][1] == '# reads stored results: run it in nbs of the checkout\n'

def paste(name): run(sys.executable, ROOT/'tests'/'paste.py', ROOT/name)

def test_page_runs(): paste(QUICK)

@pytest.mark.pages
@pytest.mark.parametrize('name', [o for o in NOTEBOOKS if o != QUICK])
def test_every_page_runs(name): paste(name)

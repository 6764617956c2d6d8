"""Ten ordinary scripts run, and pyright finds no error in them, nor in the types that they use.

pyright brings Node, so it is no part of the environment. `make test-newest` installs it in one of its own, as does
`.venv/bin/python -m pytest -n 0 -m slow tests/test_typed.py`."""
import subprocess, sys, venv
from pathlib import Path

import pytest
from conftest import ROOT, forked_script, run

SCRIPTS = sorted((ROOT/'tests'/'typed').glob('*.py'))

@pytest.mark.parametrize('script', SCRIPTS, ids=[o.stem for o in SCRIPTS])
def test_runs(script, tmp_path):
    if script.stem == 'gpt2': pytest.importorskip('transformers')
    done = forked_script(script, tmp_path)
    assert done.returncode == 0 and done.stdout, done.stderr

def complaints(pyright, *scripts):
    "The lines in which pyright names an error."
    command = [pyright, '--pythonpath', sys.executable, *map(str, scripts)]
    said = subprocess.run(command, cwd=Path(scripts[0]).parent, capture_output=True, text=True, timeout=600)
    assert 'errors,' in said.stdout or 'error,' in said.stdout, said.stdout + said.stderr
    return [line for line in said.stdout.splitlines() if ' - error: ' in line]

@pytest.mark.slow
def test_pyright_finds_no_error(tmp_path):
    venv.create(tmp_path/'venv', with_pip=True)
    bin = tmp_path/'venv'/'bin'
    run(bin/'python', '-m', 'pip', 'install', '-q', 'pyright[nodejs]')
    assert len(SCRIPTS) >= 10
    assert not complaints(bin/'pyright', *SCRIPTS)
    wrong = tmp_path/'wrong.py'
    wrong.write_text('from reformer_rnn.models.lm import LM\nfrom reformer_rnn.core import no_such_name\n'
                     'LM(8).generate()\n')
    assert len(complaints(bin/'pyright', wrong)) == 2

"""Readers run notebooks in JupyterLab and save them: git shows what they changed, and nothing else.

`make lab` over a copy of the notebooks, in an environment with the wheel, and a browser. `make test-newest` runs this;
alone: `.venv/bin/python -m pytest -n 0 -m slow tests/test_lab.py`."""
import configparser, json, os, shutil, signal, socket, subprocess, sys, time
from contextlib import closing

import pytest
from conftest import ROOT, borrowing_venv, run

sys.path.insert(0, str(ROOT/'tools'))
from find_browser import ADVICE, find

# The page on which `make lab` opens, two lessons with figures, and three pages on what is one's own
READ = ('01_reading', '10_attention/01_softmax', '10_attention/03_lsh', '80_howto/01_text', '80_howto/02_series',
        '80_howto/04_layer')
MINE = 'A line of the reader.'

# What a page of JupyterLab does: open a notebook, run all of its cells, add a line to the first, save
READING = '''async ([path, line]) => {
    const app = window.jupyterapp;
    await app.restored;
    const panel = await app.commands.execute('docmanager:open', {path});
    await panel.context.ready;
    await panel.sessionContext.ready;
    await app.commands.execute('notebook:run-all-cells');
    const first = panel.content.widgets[0].model.sharedModel;
    first.setSource(first.getSource() + '\\n' + line);
    await app.commands.execute('docmanager:save');
    await panel.sessionContext.shutdown();
}'''

@pytest.fixture
def checkout(wheel, tmp_path):
    "The notebooks in a repository of their own, and beside them what `make lab` sets up, but with the wheel."
    for name in 'Makefile settings.ini pyproject.toml setup.py constraints.txt .gitignore .gitattributes'.split():
        shutil.copy(ROOT/name, tmp_path)
    left_out = shutil.ignore_patterns('__pycache__', '.ipynb_checkpoints', '*.model')
    for name in ('nbs', 'tools'): shutil.copytree(ROOT/name, tmp_path/name, ignore=left_out)
    for command in 'init --quiet', 'add --all', '-c user.name=a -c user.email=a@b commit --quiet --message a':
        run('git', *command.split(), cwd=tmp_path)
    python = borrowing_venv(tmp_path/'.venv')
    config = configparser.ConfigParser(delimiters=['='])
    config.read(ROOT/'settings.ini')
    lab = config['DEFAULT']['lab_requirements'].split()
    run(python, '-m', 'pip', 'install', '--quiet', '-c', ROOT/'constraints.txt', *lab)
    run(python, '-m', 'pip', 'install', '--quiet', '--no-deps', '--no-index', wheel)
    run(python, '-c', 'import set_up; set_up.settle()', cwd=tmp_path/'tools')
    (tmp_path/'.venv'/'.ready-lab').write_text(f'{tmp_path}\n')
    return tmp_path

@pytest.fixture
def lab(checkout):
    "The address of a JupyterLab that `make lab` has started."
    with closing(socket.create_server(('127.0.0.1', 0))) as o: port = o.getsockname()[1]
    options = f'--no-browser --allow-root --expose-app-in-browser --ServerApp.port={port} --IdentityProvider.token='
    log = checkout.parent/'lab.log'
    with open(log, 'w') as out:
        server = subprocess.Popen(['make', 'lab', f'ARGS={options}'], cwd=checkout, stdout=out, stderr=out,
                                  start_new_session=True, env=os.environ | dict(HOME=str(checkout.parent)))
    try:
        while 'is running at' not in log.read_text():
            assert server.poll() is None, log.read_text()
            time.sleep(.5)
        yield f'http://127.0.0.1:{port}/lab'
    finally:
        os.killpg(server.pid, signal.SIGTERM)
        server.wait(60)

def with_my_line(path):
    "The text of a notebook with the reader's line in its first cell."
    content = json.loads(path.read_text())
    content['cells'][0]['source'][-1] += '\n'
    content['cells'][0]['source'].append(MINE)
    return json.dumps(content, indent=1, sort_keys=True, ensure_ascii=False) + '\n'

@pytest.mark.slow
@pytest.mark.skipif(not find(), reason=ADVICE)
def test_git_shows_what_a_reader_changed(checkout, lab):
    from playwright.sync_api import sync_playwright
    notebooks = [f'nbs/{o}.ipynb' for o in READ]
    expected = {o: with_my_line(checkout/o) for o in notebooks}
    with sync_playwright() as playwright:
        args = [] if os.geteuid() else ['--no-sandbox']
        page = playwright.chromium.launch(executable_path=find(), args=args).new_page()
        page.goto(lab)
        page.wait_for_function('window.jupyterapp')
        for name in READ: page.evaluate(READING, [f'{name}.ipynb', MINE])
    python = checkout/'.venv'/'bin'/'python'
    # before and after cleaning
    for clean in False, True:
        if clean: run(python, '-c', 'from nbdev.clean import nbdev_clean; nbdev_clean()', cwd=checkout)
        assert sorted(run('git', 'diff', '--name-only', cwd=checkout).split()) == sorted(notebooks)
        for name in notebooks:
            shown = run('git', 'diff', '-U0', name, cwd=checkout)
            assert (checkout/name).read_text() == expected[name], shown

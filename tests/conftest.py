"What several tests share: running commands and functions, and virtual environments that borrow what is installed here."
import multiprocessing, os, runpy, shutil, subprocess, sys, sysconfig, tempfile, venv
from pathlib import Path

import pytest
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parent.parent

QUICK = 'test_in_step.py', 'test_rooms.py', 'test_pins.py', 'test_claims.py', 'test_notebooks.py'

def pytest_addoption(parser):
    parser.addoption('--changed', action='store_true',
                     help='only checks of seconds, and notebooks that git sees as changed')

def changed_notebooks():
    "The notebooks that differ from the last commit."
    lines = run('git', 'status', '--porcelain', '-uall', '--', 'nbs').splitlines()
    return {line[3:].split(' -> ')[-1].strip('"') for line in lines}

# What takes longest, 20 to 40 seconds alone: begun first, so that no worker ends with one of them
LONG_NOTEBOOKS = ('30_models/07_encoder_decoder', '30_models/15_foreign', '30_models/90_promises',
                  '50_training/06_scale', '50_training/02_callbacks', '50_training/08_checkpoints',
                  '60_runs/06_measure', '70_papers/20_linear/01_copy',
                  '70_papers/10_reformer/03_what_goes_wrong')
LONG = {*(f'tests/test_notebooks.py::test_notebook[nbs/{o}.ipynb]' for o in LONG_NOTEBOOKS),
        'tests/test_processes.py::test_two_processes', 'tests/test_site.py::test_small_site',
        'tests/test_wheel.py::test_from_a_text_to_a_sentence'}

def pytest_collection_modifyitems(config, items):
    "Begin with what takes long; with `--changed`, leave it out, and what has not changed."
    if not config.getoption('--changed'):
        items[:] = in_good_order(items)
        return
    changed = changed_notebooks()
    def stays(item):
        if item.path.name not in QUICK: return False
        return item.path.name != 'test_notebooks.py' or item.callspec.params['notebook'] in changed
    config.hook.pytest_deselected(items=[o for o in items if not stays(o)])
    items[:] = [o for o in items if stays(o)]

def in_good_order(items):
    "Half of the long ones, half of the others, the other halves: each of two workers begins with one half."
    long = [o for o in items if o.nodeid in LONG]
    others = [o for o in items if o.nodeid not in LONG]
    half = len(others)//2
    return [*long[::2], *others[:half], *long[1::2], *others[half:]]

def pins():
    "The versions in constraints.txt, by canonical name of the package."
    lines = (ROOT/'constraints.txt').read_text().split()
    return {canonicalize_name(name): version for name, version in (line.split('==') for line in lines)}

def run(*command, cwd=ROOT, timeout=900):
    "Run `command`; give its output, or fail the test with it."
    env = {k: v for k, v in os.environ.items() if k not in ('IN_TEST', 'PYTHONPATH')}
    ran = subprocess.run([str(o) for o in command], cwd=cwd, env=env, timeout=timeout, stdin=subprocess.DEVNULL,
                         stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if ran.returncode: pytest.fail(f'{" ".join(map(str, command))} gave {ran.returncode}:\n{ran.stdout}', pytrace=False)
    return ran.stdout

# What takes seconds to import, imported once for all processes that the tests fork; what is missing is passed over.
HEAVY = ('torch', 'torch._dynamo', 'torch._inductor.pattern_matcher', 'torch.distributed.fsdp',
         'torch.distributed.tensor.experimental', 'fastai.callback.all', 'fastai.text.all', 'scipy.signal',
         'sklearn.linear_model', 'pandas', 'matplotlib.pyplot', 'nbdev.test', 'execnb.shell', 'IPython.core.oinspect',
         'tokenizers', 'transformers.models.gpt2.modeling_gpt2', 'safetensors.torch', 'nbdev.processors', 'ziamath',
         'fontTools.subset', 'pytest')

# Of the package these processes have nothing. The server of Python 3.11 does not look where pytest looks for modules,
# and says nothing when it finds none: only installed ones can be named.
FORKS = multiprocessing.get_context('forkserver' if os.name != 'nt' else 'spawn')
FORKS.set_forkserver_preload(list(HEAVY))

def ended(process, timeout=900):
    "The exit code of a process of `FORKS`, which is killed when it takes too long."
    process.join(timeout)
    if process.is_alive(): process.kill(); process.join(60)
    return process.exitcode

def forked(function, *args, log):
    "Call `function` in a process of its own, with its output in the file `log`; fail the test if that goes wrong."
    process = FORKS.Process(target=logged, args=(log, function, args))
    process.start()
    if (code := ended(process)) != 0:
        pytest.fail(f'{function.__name__}{args} gave {code}:\n{log.read_text()}', pytrace=False)

def logged(log, function, args):
    "Call a function as if it had been started in the root of the project, with its output in a file."
    with open(log, 'w') as f: os.dup2(f.fileno(), 1); os.dup2(f.fileno(), 2)
    sys.stdout.reconfigure(line_buffering=True)
    for name in ('IN_TEST', 'PYTHONPATH'): os.environ.pop(name, None)
    multiprocessing.set_start_method(None, force=True)  # its own children start as they would anywhere
    os.chdir(ROOT)
    function(*args)

def forked_script(script, folder, *args):
    "Run a Python script in `folder` as `subprocess.run` does, in a process that has the heavy imports behind it."
    with tempfile.TemporaryDirectory() as said:
        out, err = Path(said)/'out', Path(said)/'err'
        process = start_script(script, folder, args, out, err)
        return subprocess.CompletedProcess([script, *args], ended(process), out.read_text(), err.read_text())

def start_script(script, folder, args, out, err):
    "Start a Python script in `folder`, in such a process, with its output in two files; the process."
    process = FORKS.Process(target=as_script, args=(str(script), folder, args, out, err))
    process.start()
    return process

def as_script(script, folder, args, out, err):
    "Become a script that was called in `folder`, with its output in two files."
    for stream, path in enumerate((out, err), 1):
        with open(path, 'w') as f: os.dup2(f.fileno(), stream)
    multiprocessing.set_start_method(None, force=True)
    os.chdir(folder)
    sys.argv = [script, *map(str, args)]
    sys.path.insert(0, str(Path(script).parent))
    runpy.run_path(script, run_name='__main__')

def borrowing_venv(folder):
    "A new virtual environment in `folder` that sees the packages installed here, pip too; the path of its Python."
    venv.create(folder)
    python = folder/'bin'/'python'
    own = run(python, '-c', 'import sysconfig; print(sysconfig.get_path("purelib"))').strip()
    # A path in a .pth file is searched after the environment's own packages. The .pth files found there are not
    # read, so the editable installation of this project stays invisible.
    (Path(own)/'borrowed.pth').write_text(sysconfig.get_path('purelib'))
    return python

@pytest.fixture(scope='session')
def wheel(tmp_path_factory):
    "The wheel of this project, built from a copy so that the build leaves nothing here."
    copy = tmp_path_factory.mktemp('source')
    dist = tmp_path_factory.mktemp('dist')
    for name in 'setup.py settings.ini pyproject.toml MANIFEST.in README.md LICENSE'.split():
        shutil.copy(ROOT/name, copy)
    shutil.copytree(ROOT/'reformer_rnn', copy/'reformer_rnn', ignore=shutil.ignore_patterns('__pycache__'))
    run(sys.executable, '-m', 'pip', 'wheel', '-q', '--no-deps', '--no-build-isolation', '-w', dist, copy)
    return next(dist.glob('*.whl'))

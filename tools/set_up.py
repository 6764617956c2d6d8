"""Make the virtual environment .venv, or bring it up to date: `make` calls this when it is missing, old or moved.

    python3 tools/set_up.py demo    what the library imports, and nothing else
    python3 tools/set_up.py all     also what tests, notebooks and site need
    python3 tools/set_up.py lab     what the demo needs, and JupyterLab

On Linux, PyPI has PyTorch for NVIDIA GPUs, which brings gigabytes of CUDA. Without such a GPU the build for the CPU is
taken, wherever pip finds it: at an index or in a folder that pip is set to, or at --index. --torch cpu and --torch cuda
choose by hand. Every version is the one that constraints.txt pins.
"""
import argparse, configparser, json, os, platform, re, shutil, subprocess, sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT/'.venv'
CPU_INDEX = 'https://download.pytorch.org/whl/cpu'
# What fastai requires and only loads for pictures and for spaCy's tokens
LEFT_OUT = 'torchvision', 'spacy'
# GB on disk on Linux with PyTorch for the CPU, with what Python compiles in use (a sixth of it, estimated for
# demo and lab); and what the build for CUDA adds
SIZES = dict(demo=1.5, lab=1.6, all=2.5)
CUDA = 4.0
# Commands of nbdev that work through Quarto, install things or release -> what does so here
RELEASE = 'the steps of a release are in CONTRIBUTING.md'
INSTEAD = dict(docs='`make docs` renders the site', proc_nbs='`make docs` renders the site',
               preview='`make preview` serves the site', readme='`make export` writes README.md',
               prepare='`make export docs test` does what it would', contributing='edit CONTRIBUTING.md itself',
               sidebar='nbs/_site/menu.toml declares the menu', install='`make docs` needs no Quarto',
               install_quarto='`make docs` needs no Quarto', bump_version=RELEASE, changelog=RELEASE, conda=RELEASE,
               pypi=RELEASE, release_both=RELEASE, release_gh=RELEASE, release_git=RELEASE)

def plain(name):
    "The name of a package as indexes spell it."
    return re.sub('[-_.]+', '-', name).lower()

def pinned(name):
    "The version of a package in constraints.txt."
    lines = (ROOT/'constraints.txt').read_text().split()
    return dict(line.split('==') for line in lines)[name]

def pip(*args, **kwargs):
    "Run the pip of the environment with the pins; Python compiles what is imported, and nobody imports most of it."
    command = [VENV/'bin'/'python', '-m', 'pip', '--disable-pip-version-check', 'install', '--no-compile',
               '-c', ROOT/'constraints.txt', *args]
    return subprocess.run([str(o) for o in command], cwd=ROOT, **kwargs)

def nvidia_gpu():
    "The first NVIDIA GPU that this machine's driver lists, else an empty string."
    if not (tool := shutil.which('nvidia-smi')): return ''
    listed = subprocess.run([tool, '-L'], capture_output=True, text=True).stdout
    return next((line for line in listed.splitlines() if line.startswith('GPU ')), '')

def cpu_build(index):
    "What pip is asked for to get torch for the CPU, from where it is set to look, else from `index`; None if neither."
    asked = f'torch=={pinned("torch")}+cpu'
    # An index that cannot be reached would be tried again for every package: it is only named when it has the build
    for where in [], ['--extra-index-url', index]:
        if not pip('--dry-run', '-q', '--no-deps', '--ignore-installed', '--retries', '0', '--timeout', '10', *where,
                   asked, capture_output=True).returncode: return [asked, *where]

def installed_build():
    "Which build of the pinned torch is installed: 'cpu', 'cuda' or None."
    ran = subprocess.run([VENV/'bin'/'python', '-c', 'import importlib.metadata as o; print(o.version("torch"))'],
                         capture_output=True, text=True)
    return {pinned('torch'): 'cuda', f'{pinned("torch")}+cpu': 'cpu'}.get(ran.stdout.strip())

def torch_build(asked, index):
    "What pip is asked for as torch, with the options that it needs for that, and the reason in words."
    version = pinned('torch')
    if platform.system() != 'Linux': return [f'torch=={version}'], 'for this system'
    cuda = [f'torch==={version}']  # three signs: no build with a suffix, such as +cpu
    if asked == 'cuda': return cuda, 'for CUDA, as asked for'
    found = None if asked else installed_build()
    if found == 'cuda': return cuda, 'for CUDA, which is installed already (TORCH=cpu takes the other)'
    if not asked and not found and (gpu := nvidia_gpu()): return cuda, f'for CUDA, since this machine has a GPU ({gpu})'
    if cpu := cpu_build(index):
        why = 'as asked for' if asked else 'which is installed already' if found else 'since no NVIDIA GPU is seen here'
        return cpu, f'for the CPU, {why}'
    missing = f'none for the CPU is to be had, neither where pip is set to look nor at {index}'
    if asked: sys.exit(f'Of the builds of PyTorch {version}, {missing}. Name an index with TORCH_INDEX=URL, or take '
                       'TORCH=cuda')
    return cuda, f'for CUDA, though no NVIDIA GPU is seen here: {missing} (TORCH_INDEX=URL names another index)'

def needed(requirements, torch):
    "What `requirements` need, directly or not, without what is left out: ['fastai==2.8.7', ...]."
    ran = pip('--dry-run', '-q', '--ignore-installed', '--report', '-', *torch, *requirements, stdout=subprocess.PIPE,
              text=True)
    if ran.returncode: sys.exit(ran.returncode)
    found = {plain(o['metadata']['name']): o['metadata'] for o in json.loads(ran.stdout)['install']}
    todo = [plain(re.match(r'[\w.-]+', o)[0]) for o in requirements]
    seen = set()
    while todo:
        name = todo.pop()
        if name in seen or name in LEFT_OUT or name not in found: continue
        seen.add(name)
        # Whatever a marker excludes here, pip has not listed
        todo += [plain(re.match(r'[\w.-]+', o)[0]) for o in found[name].get('requires_dist', [])]
    return [f'{name}=={found[name]["version"]}' for name in sorted(seen-{'torch'})]

def make_venv():
    "Make .venv, unless it is there and has a whole pip; of one that was moved, name the new place in its scripts."
    python, check = VENV/'bin'/'python', ROOT/'tools'/'check_env.py'
    whole = python.exists() and not subprocess.run([python, check, '--pip'], capture_output=True).returncode
    def failed(*args): return subprocess.run([sys.executable, '-m', *map(str, args)]).returncode
    if not whole and failed('venv', '--clear', VENV):
        # Debian's Python without ensurepip
        bare = failed('venv', '--clear', '--without-pip', VENV)
        if bare or failed('pip', '--python', python, 'install', '-q', 'pip'):
            shutil.rmtree(VENV, ignore_errors=True)
            sys.exit('No virtual environment could be made: on Debian and Ubuntu, apt install python3-venv')
    subprocess.run([python, check, '--mend'])

def settle():
    "Give Jupyter the settings of tools/jupyter, and let commands of nbdev that do not fit here say what does."
    for folder, name in dict(ipython='ipython_config.py', jupyter='jupyter_server_config.py').items():
        (VENV/'etc'/folder).mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT/'tools'/'jupyter'/name, VENV/'etc'/folder)
    for name, instead in INSTEAD.items():
        script = VENV/'bin'/f'nbdev_{name}'
        script.write_text(f'#!/bin/sh\necho "nbdev_{name} does not fit this project: {instead}" >&2\nexit 1\n'
                          .replace('`', '\\`'))
        script.chmod(0o755)

def main(part, asked, index):
    "Bring the environment to what `part` needs."
    print(f'An environment for this folder alone, {VENV.name}, is made or brought up to date.', flush=True)
    make_venv()
    torch, why = torch_build(asked, index)
    size = SIZES[part] + (CUDA if '===' in torch[0] else 0)
    print(f'PyTorch {pinned("torch")} is the build {why}.\n{VENV.name} will take {size:.1f} GB on disk; what pip keeps '
          'from earlier is not downloaded again. pip looks up what is needed, and then shows what it does.', flush=True)
    config = configparser.ConfigParser(delimiters=['='])
    config.read(ROOT/'settings.ini', encoding='utf-8')
    settings = config['DEFAULT']
    tools = 'setuptools', 'wheel'
    if part == 'all': steps = [[*tools, *torch], ['--no-build-isolation', '-e', '.[dev]', *torch]]
    else:
        also = settings['lab_requirements'].split() if part == 'lab' else []
        packages = needed([*tools, *settings['requirements'].split(), *also], torch)
        steps = [['--no-deps', *torch, *packages], ['--no-deps', '--no-build-isolation', '-e', '.']]
    for step in steps:
        if code := pip(*step).returncode: sys.exit(code)
    settle()
    print('All is there. Does it work together?', flush=True)
    sys.exit(subprocess.run([VENV/'bin'/'python', ROOT/'tools'/'check_env.py', '--repair', '--checkout']).returncode)

if __name__ == '__main__':
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('part', choices=list(SIZES), help='what the environment is for')
    parser.add_argument('--torch', choices=['cpu', 'cuda'], help='the build of PyTorch (default: what the machine has)')
    parser.add_argument('--index', default=CPU_INDEX, help='where builds for the CPU are (default: %(default)s)')
    args = parser.parse_args()
    main(args.part, args.torch, args.index)

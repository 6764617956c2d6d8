"""Check that the environment can run the library, and with --repair mend what pip cannot see.

fastai requires torchvision. From a package index that is the build for CUDA, which pip finds content with a CPU build
of torch because their version numbers agree; but it does not load, and then neither does any package that uses
torchvision when it finds it. This library and the parts of fastai that it uses do without torchvision, so a
torchvision that does not load is removed.
"""
import argparse, subprocess, sys
from importlib.metadata import PackageNotFoundError, version

MODULES = ['torch', 'fastai.basics', 'fastai.callback.all', 'fastai.text.all', 'matplotlib.pyplot']

def installed(package):
    "The version of `package`, or None when it is not installed."
    try: return version(package)
    except PackageNotFoundError: return None

def import_error(module):
    "The last line of what a fresh process says when it cannot import `module`, else an empty string."
    ran = subprocess.run([sys.executable, '-c', f'import {module}'], capture_output=True, text=True)
    return (ran.stderr.strip().splitlines() or ['the process died'])[-1] if ran.returncode else ''

def pip(*args):
    "Run pip for this environment; its exit code and what it printed."
    ran = subprocess.run([sys.executable, '-m', 'pip', *args], capture_output=True, text=True)
    return ran.returncode, (ran.stdout + ran.stderr).strip()

def torchvision_problem(repair):
    "What is wrong with torchvision, if anything; with `repair` remove it when it does not load."
    found = installed('torchvision')
    error = found and import_error('torchvision')
    if not error: return
    print(f'torchvision {found} does not load beside torch {installed("torch")}: {error}')
    if not repair: return 'torchvision does not load: remove it, or run this with --repair'
    code, said = pip('uninstall', '-y', 'torchvision')
    if code: return f'torchvision could not be removed: {said}'
    print('Removed it. Only fastai.vision needs it; for that, install the torchvision build that belongs to this torch.')

def problems(modules, repair):
    "One line for each thing that is wrong with the environment."
    if problem := torchvision_problem(repair): yield problem
    for module in modules:
        if error := import_error(module): yield f'{module} cannot be imported: {error}'
    said = pip('check')[1].splitlines()
    yield from (line for line in said if ' requires ' in line and 'torchvision, which is not installed' not in line)

if __name__ == '__main__':
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('modules', nargs='*', default=MODULES, help=f'what must import (default: {" ".join(MODULES)})')
    parser.add_argument('--repair', action='store_true', help='remove a torchvision that does not load')
    args = parser.parse_args()

    found = list(problems(args.modules, args.repair))
    if found: sys.exit('The environment is not sound:\n' + '\n'.join(found))
    print(f'The environment is sound: torch {installed("torch")}, fastai {installed("fastai")}.')

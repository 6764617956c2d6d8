"""Check that the environment can run the library, and with --repair mend what pip cannot see.

fastai requires torchvision. From a package index that is the build for CUDA, which pip finds content with a CPU build
of torch because their version numbers agree; but it does not load, and then neither does any package that uses
torchvision when it finds it. This library and the parts of fastai that it uses do without torchvision, so a
torchvision that does not load is removed.

A pip that was killed leaves packages of which it believes that they are installed: their metadata lies there, but the
list of their files does not, or some of the files do not. With --mend such packages are made known as missing, so that
the next `pip install` installs them again. That needs no package and no network. The scripts of an environment that was
moved with its folder are given the new place. With --checkout, the package must be imported from this folder.
"""
import argparse, csv, re, shutil, subprocess, sys, sysconfig
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
MODULES = ['torch', 'fastai.basics', 'fastai.callback.all', 'fastai.text.all', 'matplotlib.pyplot']

# What fastai requires and only loads for pictures and for spaCy's tokens
LEFT_OUT = re.compile('(torchvision|spacy), which is not installed')

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

def damage(info):
    "What is wrong with the package whose metadata lie in the folder `info`, else an empty string."
    try:
        head = (info/'METADATA').read_text(encoding='utf-8').splitlines()
        rows = list(csv.reader((info/'RECORD').read_text(encoding='utf-8').splitlines()))
    except (OSError, ValueError, csv.Error) as e: return (f'{getattr(e, "filename", None) or info}: '
                                                          f'{getattr(e, "strerror", None) or e}')
    if not all(any(line.startswith(o) for line in head) for o in ('Name: ', 'Version: ')): return 'METADATA is cut off'
    if not rows or any(len(o) != 3 for o in rows): return 'RECORD is cut off'
    for name, _, size in rows:
        if name.endswith('.pyc'): continue  # Python makes these again
        file = info.parent/name
        if not file.exists(): return f'{name} is missing'
        # What lies elsewhere, such as scripts and settings, may be changed by its owner
        if size and not name.startswith(('..', '/')) and file.stat().st_size != int(size):
            return f'{name} is cut off or changed'
    return ''

def site_folders():
    "The folders of this virtual environment in which packages lie."
    if sys.prefix == sys.base_prefix:
        sys.exit(f'{sys.executable} is not the Python of a virtual environment: nothing is mended there')
    return {Path(sysconfig.get_path(o)) for o in ('purelib', 'platlib')}

def damaged():
    "What a killed pip has left behind: {metadata of a package, or remains of one: what is wrong}."
    found = {}
    for site in site_folders():
        found |= {info: wrong for info in sorted(site.glob('*.dist-info')) if (wrong := damage(info))}
        found |= {rest: 'remains of a package that was to be replaced' for rest in sorted(site.glob('~*'))}
    return found

def mend():
    "Make damaged packages known as missing; were there any?"
    found = damaged()
    for path, wrong in found.items():
        print(f'{path.name.removesuffix(".dist-info")} is damaged and will be installed again ({wrong})')
        if path.is_dir() and not path.is_symlink(): shutil.rmtree(path)
        else: path.unlink()
    return bool(found)

def pip_problem():
    "Why this environment has to be made anew, if it has to: its pip came with it."
    infos = [o for site in site_folders() for o in site.glob('pip-*.dist-info')]
    if not infos: return 'there is no pip'
    return next((f'pip is damaged: {wrong}' for o in infos if (wrong := damage(o))), '')

def scripts():
    "The text files among the scripts of this virtual environment."
    for file in sorted(Path(sysconfig.get_path('scripts')).iterdir()):
        try: yield file, file.read_text(encoding='utf-8')
        except (OSError, ValueError): pass  # a program, a folder or a broken link

def places():
    "The folders in which the scripts of this virtual environment believe it lies, but for the true one."
    first = (text.partition('\n')[0] for _, text in scripts())
    return {o[2:].removesuffix('/bin/python') for o in first if re.fullmatch('#!/.*/bin/python', o)} - {sys.prefix}

def move():
    "Name the true place of this virtual environment in its scripts."
    for old in places():
        print(f'.venv was made in {old}: its scripts now name {sys.prefix}')
        for file, text in scripts():
            if old in text: file.write_text(text.replace(old, sys.prefix), encoding='utf-8')

def imported_from():
    "The folder from which a fresh process that is started elsewhere imports the package; empty if it cannot."
    code = 'import importlib.util as o; print(o.find_spec("reformer_rnn").origin)'
    ran = subprocess.run([sys.executable, '-c', code], capture_output=True, text=True, cwd=sys.prefix)
    return Path(ran.stdout.strip()).parent if not ran.returncode else None

def checkout_problem():
    "What is wrong with the place from which the package is imported, if anything."
    found = imported_from()
    if found and found.resolve() == ROOT/'reformer_rnn': return ''
    return (f'reformer_rnn is imported from {found.parent if found else "nowhere"}, not from {ROOT}; `make install` '
            f'installs it again, unless PYTHONPATH or a .pth file in {sysconfig.get_path("purelib")} names the other '
            'folder: take that away first')

def torchvision_problem(repair):
    "What is wrong with torchvision, if anything; with `repair` remove it when it does not load."
    found = installed('torchvision')
    error = found and import_error('torchvision')
    if not error: return
    print(f'torchvision {found} does not load beside torch {installed("torch")}: {error}')
    if not repair: return 'torchvision does not load: remove it, or run this with --repair'
    code, said = pip('uninstall', '-y', 'torchvision')
    if code: return f'torchvision could not be removed: {said}'
    print('Removed it. Only fastai.vision needs it; for that, install the torchvision build that belongs to this '
          'torch.')

def problems(modules, repair):
    "One line for each thing that is wrong with the environment."
    yield from (f'{path.name} is damaged: {wrong}; `make install` mends it' for path, wrong in damaged().items())
    yield from (f'.venv was made in {old} and moved; `make install` mends it' for old in places())
    yield from filter(None, [torchvision_problem(repair)])
    for module in modules:
        if error := import_error(module): yield f'{module} cannot be imported: {error}'
    said = pip('check')[1].splitlines()
    yield from (line for line in said if ' requires ' in line and not LEFT_OUT.search(line))

if __name__ == '__main__':
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('modules', nargs='*', default=MODULES, help=f'what must import (default: {" ".join(MODULES)})')
    parser.add_argument('--repair', action='store_true', help='remove a torchvision that does not load')
    parser.add_argument('--mend', action='store_true',
                        help='only make packages that a killed pip left damaged known as missing, and scripts know '
                             'where they are; exit code 1 if a package was damaged')
    parser.add_argument('--checkout', action='store_true', help='require that reformer_rnn is imported from here, too')
    parser.add_argument('--pip', action='store_true', help='only look whether pip is whole')
    args = parser.parse_args()
    if args.pip: sys.exit(pip_problem() or 0)
    if args.mend: move(); sys.exit(int(mend()))

    found = list(problems(args.modules, args.repair))
    if args.checkout: found += filter(None, [checkout_problem()])
    if found: sys.exit('The environment is not sound:\n' + '\n'.join(found))
    print(f'The environment is sound: torch {installed("torch")}, fastai {installed("fastai")}.')

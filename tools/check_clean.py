"""Check that the package and the notebooks are exactly what nbdev would write.

The notebooks are exported into an empty folder and cleaned there, so nothing in the project changes. Every module
must come out of that export byte for byte, and cleaning must leave every notebook as it is.
"""
import os, shutil, subprocess, sys, tempfile
from pathlib import Path

from nbdev.config import get_config
from nbdev.doclinks import nbglob

def nbdev(command, folder):
    "Run an nbdev `command` on the project in `folder`; stop with its message if it fails."
    env = {k: v for k, v in os.environ.items() if k != 'IN_TEST'}  # under IN_TEST nbdev exports nothing
    ran = subprocess.run([Path(sys.executable).with_name(command)], cwd=folder, env=env, capture_output=True, text=True)
    if ran.returncode: sys.exit(f'{command} failed:\n{ran.stdout}{ran.stderr}')

def contents(folder, paths):
    "The bytes of each of `paths`, by its name relative to `folder`."
    return {p.relative_to(folder).as_posix(): p.read_bytes() for p in sorted(paths) if p.exists()}

def rewritten(root, notebooks):
    "What nbdev writes for the project in `root` when there is nothing but settings and `notebooks`."
    with tempfile.TemporaryDirectory() as tmp:
        copy = Path(tmp)
        for p in [root/'settings.ini', root/'pyproject.toml', *notebooks]:
            target = copy/p.relative_to(root)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(p, target)
        nbdev('nbdev_export', copy)
        nbdev('nbdev_clean', copy)
        return contents(copy, [copy/'pyproject.toml', *copy.rglob('*.py'), *copy.rglob('*.ipynb')])

def problems(root, lib):
    "One line for each file of the project in `root` that nbdev would write differently."
    notebooks = [p.resolve() for p in nbglob(as_path=True)]
    ours = contents(root, [root/'pyproject.toml', *lib.rglob('*.py'), *notebooks])
    theirs = rewritten(root, notebooks)
    for name in sorted(ours.keys() | theirs.keys()):
        if name not in theirs: yield f'{name}: no notebook exports this module; delete it'
        elif ours.get(name) == theirs[name]: continue
        elif name.endswith('.ipynb'): yield f'{name}: not clean; run nbdev_clean'
        else: yield f'{name}: not in step with the notebooks; run nbdev_export'

if __name__ == '__main__':
    cfg = get_config()
    found = list(problems(cfg.config_path.resolve(), cfg.lib_path.resolve()))
    if found: sys.exit('\n'.join(found))
    print('The package is in step with the notebooks, and the notebooks are clean.')

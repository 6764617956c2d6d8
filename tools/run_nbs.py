"""Execute notebooks in place, each in a fresh kernel in its own folder, and store their outputs, cleaned.

A cell marked `#| eval: false`, or with a flag that `tst_flags` in settings.ini lists (slow, gpu), is not run and keeps
the outputs it has, so that a result made once on a bigger machine survives. `--flags slow` runs such cells too.
"""
import argparse, os, subprocess, sys, time
from pathlib import Path

import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError
from nbdev.clean import nbdev_clean
from nbdev.config import get_config
from nbdev.doclinks import nbglob
from nbdev.process import extract_directives

from sitebuild.figures import lighten

TOLD = '70_papers', '80_exam'  # Rooms whose experiments and claims ...
OVERVIEWS = '01_reading.ipynb', 'claims.ipynb', 'index.ipynb'  # ... these pages list

FORMATS = ['svg', 'retina']  # Each figure is drawn in both, and the lighter way is kept

class Runner(NotebookClient):
    "A `NotebookClient` that leaves alone the cells with a flag in `skip`."
    def __init__(self, nb, skip, **kwargs):
        super().__init__(nb, **kwargs)
        self.skip = skip

    async def async_execute_cell(self, cell, cell_index, **kwargs):
        flags = extract_directives(cell, remove=False) if cell.cell_type == 'code' else {}
        if flags.get('eval:') == ['false'] or self.skip & flags.keys(): return cell
        return await super().async_execute_cell(cell, cell_index, **kwargs)

def run(path, skip):
    "Execute the notebook at `path`; write it, cleaned, only if every cell succeeds."
    nb = nbformat.read(path, as_version=4)
    Runner(nb, skip, timeout=None, coalesce_streams=True, kernel_name='python3',
           extra_arguments=[f'--InlineBackend.figure_formats={name}' for name in FORMATS],
           resources={'metadata': {'path': str(path.parent)}}).execute()
    for output in (o for cell in nb.cells for o in cell.get('outputs', [])): lighten(output)
    nbformat.write(nb, path)
    nbdev_clean(str(path))

def changed(folder):
    "The notebooks under `folder` that differ from the last commit, and the pages that list what they hold."
    listed = subprocess.run(['git', 'status', '--porcelain', '-z', '-uall', '--no-renames', '--', '.'],
                            cwd=folder, capture_output=True, text=True, check=True).stdout.split('\0')
    top = subprocess.run(['git', 'rev-parse', '--show-toplevel'], cwd=folder, capture_output=True, text=True,
                         check=True)
    files = {Path(top.stdout.strip())/line[3:] for line in listed if line}
    found = [p for p in nbglob(as_path=True) if p.resolve() in files]
    tells = any(p.resolve().relative_to(folder.resolve()).parts[0] in TOLD for p in found)
    return [*found, *[folder/name for name in OVERVIEWS if tells and (folder/name).resolve() not in files]]

if __name__ == '__main__':
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('notebooks', nargs='*', type=Path, help='default: those that git sees as changed')
    parser.add_argument('--all', action='store_true', help='every notebook')
    parser.add_argument('--flags', default='', help='flags whose cells are run all the same, as in "slow gpu"')
    args = parser.parse_args()

    cfg = get_config()
    notebooks = args.notebooks or sorted(nbglob(as_path=True) if args.all else changed(cfg.nbs_path))
    os.environ['MATPLOTLIBRC'] = str((cfg.nbs_path/'_site'/'matplotlibrc').resolve())
    os.environ.pop('MPLBACKEND', None)  # notebooks draw into their cells, whatever the shell wants
    skip = set(cfg.tst_flags.split()) - set(args.flags.split())
    failed = []
    for path in notebooks:
        start = time.time()
        try: run(path, skip)
        except CellExecutionError as e: failed.append(path); print(f'{path} failed, and is left as it was:\n{e}')
        else: print(f'{path} {time.time() - start:.1f} s')
    print(f'{len(notebooks) - len(failed)} notebooks executed, {len(failed)} failed')
    sys.exit(bool(failed))

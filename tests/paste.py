"""Paste the visible code of a page, cell by cell, into this Python: `python tests/paste.py nbs/00_core.ipynb`.

It needs the installed package alone, and the folder of the notebook only if the page says so in its first cell.
"""
import ast, linecache, os, sys, tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT/'tools'))
from sitebuild import pasting
from sitebuild.notebooks import Problems, load

def page(path):
    "The cells to paste, and the folder in which to do it, or None; what no cell shows ends it."
    problems = Problems()
    nb = load(path, ROOT/'nbs', ROOT, problems)
    cells = list(pasting.to_run(nb, 'reformer_rnn', problems))
    if problems: sys.exit('\n'.join(problems))
    return cells, path.parent if pasting.from_checkout(nb) else None

def paste(cells, names):
    "Run the cells one after the other; an error names the cell."
    for place, source in cells:
        linecache.cache[str(place)] = len(source), None, source.splitlines(True), str(place)  # as IPython does
        try: exec(compile(source, str(place), 'exec'), names)
        except BaseException:
            print(f'{place} fails when it is pasted', file=sys.stderr)
            raise

if __name__ == '__main__':
    cells, folder = page(Path(sys.argv[1]).resolve())
    del sys.path[0]  # what stands in tools/ is nothing that a reader has
    with tempfile.TemporaryDirectory() as empty:
        os.chdir(folder or empty)
        paste(cells, globals())

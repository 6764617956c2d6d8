"""Every notebook that runs in .venv draws its figures as tools/run_nbs.py does; tools/set_up.py copies this to where
IPython looks for it."""
import os, sys
from pathlib import Path

os.environ.setdefault('MATPLOTLIBRC', str(Path(sys.prefix).parent/'nbs'/'_site'/'matplotlibrc'))
c.InlineBackend.figure_formats = ['svg', 'retina']  # the lighter one is kept

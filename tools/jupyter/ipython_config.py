"""Every notebook that runs in .venv draws its figures as tools/run_nbs.py does; tools/set_up.py copies this to where
IPython looks for it."""
import logging, os, sys
from pathlib import Path

os.environ.setdefault('MATPLOTLIBRC', str(Path(sys.prefix).parent/'nbs'/'_site'/'matplotlibrc'))
c.InlineBackend.figure_formats = ['svg', 'retina']  # the lighter one is kept
# JupyterLab asks the kernel things on the side; what becomes of those tasks would be printed into some cell
logging.getLogger('asyncio').addFilter(lambda record: 'coro=<Kernel.' not in record.getMessage())

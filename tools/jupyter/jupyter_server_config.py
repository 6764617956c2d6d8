"""Jupyter saves a notebook as tools/run_nbs.py does, cleaned and with light figures, so that git shows what the reader
changed and no more; tools/set_up.py copies this to where Jupyter looks for it."""
import sys
from pathlib import Path

sys.path.insert(0, str(Path(sys.prefix).parent/'tools'))

def as_stored(model, path, **kwargs):
    "Change what is about to be saved."
    from nbdev.clean import clean_jupyter
    from sitebuild.figures import lighten
    if model['type'] != 'notebook': return
    for output in (o for cell in model['content']['cells'] for o in cell.get('outputs', [])): lighten(output)
    clean_jupyter(path, model)

c.FileContentsManager.pre_save_hook = as_stored

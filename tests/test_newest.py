"The wheel, installed by nothing but its own open requirements, works with the newest releases of what it needs."
import venv

import pytest
import torch
from conftest import ROOT, run

TRAIN = '''
from importlib.metadata import version
from pathlib import Path
from reformer_rnn.all import *

print({name: version(name) for name in ('torch', 'fastai', 'fastcore', 'fasttransform', 'plum-dispatch', 'wandb')})
dls = copy_dls(16, vocab_sz=8, bs=32, n_train=640, n_valid=64)
for attention in 'softmax', 'lsh', 'linear':
    seed_everything(0)
    learn = copy_learner(dls, LM(8, 32, 2, 2, attention=attention))
    with learn.no_bar():
        before, _ = learn.validate()
        learn.fit_one_cycle(2, 1e-2)
        after, _ = learn.validate()
    assert after < before, (attention, before, after)

# with tracking, in a process of its own
folder = Path('tracked')
cbs = wandb_callbacks(dict(seed=0), folder=folder, run_id=wandb_id(check_writable(folder)/'id', False))
with learn.no_bar(): learn.fit(1, cbs=cbs)
content = next(folder.glob('wandb/offline-run-*/run-*.wandb')).read_bytes()
for what in b'train_loss', b'table-file', b'image-file', b'model-': assert what in content, what
'''

@pytest.mark.slow
def test_newest(wheel, tmp_path):
    python = tmp_path/'venv'/'bin'/'python'
    venv.create(tmp_path/'venv', with_pip=True)
    # torch stays where it is when it is a build for the CPU: a newer one would bring gigabytes for CUDA.
    limit = tmp_path/'limit.txt'
    limit.write_text('' if torch.version.cuda else f'torch=={torch.__version__.split("+")[0]}')
    run(python, '-m', 'pip', 'install', '-q', '-c', limit, f'{wheel}[wandb]')
    print(run(python, ROOT/'tools'/'check_env.py', '--repair', cwd=tmp_path))
    print(run(python, '-c', TRAIN, cwd=tmp_path))
    print(run(python, ROOT/'tests'/'verbs.py', cwd=tmp_path))

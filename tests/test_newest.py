"The wheel, installed by nothing but its own open requirements, works with the newest releases of what it needs."
import os, shutil, venv

import pytest
import torch
from conftest import ROOT, run

TRAIN = '''
from importlib.metadata import version
from pathlib import Path
from reformer_rnn.all import *

print({name: version(name) for name in ('torch', 'fastai', 'fastcore', 'fasttransform', 'plum-dispatch', 'wandb',
                                       'transformers')})
dls = copy_dls(16, vocab_sz=8, bs=32, n_train=640, n_valid=64)
for attention in 'softmax', 'lsh', 'linear':
    seed_everything(0)
    learn = copy_learner(dls, LM(8, 32, 2, 2, attention=attention))
    with learn.no_bar():
        before, _ = learn.validate()
        learn.fit_one_cycle(2, 1e-2)
        after, _ = learn.validate()
    assert after < before, (attention, before, after)

# a GPT-2 of transformers: written, and read again in a form of ours
from reformer_rnn.models.gpt2 import byte_gpt2, gpt2_from, gpt2_settings
base = byte_gpt2(16, 1, 2, 32)
again = gpt2_from(gpt2_settings(base))
again.load_state_dict(base.state_dict())
ids = torch.arange(12)[None]
with torch.no_grad(): assert torch.equal(base(ids).logits, again(ids).logits)

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
    stays = not (torch.version.cuda or os.environ.get('NEWEST_TORCH'))
    limit = tmp_path/'limit.txt'
    limit.write_text(f'torch=={torch.__version__.split("+")[0]}' if stays else '')
    run(python, '-m', 'pip', 'install', '-q', '-c', limit, f'{wheel}[wandb]', 'transformers')
    print(run(python, ROOT/'tools'/'check_env.py', '--repair', cwd=tmp_path))
    print(run(python, '-c', TRAIN, cwd=tmp_path))
    print(run(python, ROOT/'tests'/'verbs.py', cwd=tmp_path))

def written(folder):
    "The content of the modules and notebooks in a folder."
    files = [*(folder/'reformer_rnn').rglob('*.py'), *(folder/'nbs').rglob('*.ipynb'), folder/'pyproject.toml']
    return {o.relative_to(folder).as_posix(): o.read_text().splitlines() for o in files}

@pytest.mark.slow
def test_nbdev_3(tmp_path):
    "It writes what nbdev 2 writes, but for the address of the documentation."
    copy, bin = tmp_path/'copy', tmp_path/'venv'/'bin'
    ignored = shutil.ignore_patterns('__pycache__', 'results')
    for name in ('nbs', 'reformer_rnn'): shutil.copytree(ROOT/name, copy/name, ignore=ignored)
    for name in ('settings.ini', 'pyproject.toml'): shutil.copy(ROOT/name, copy)
    before = written(copy)
    venv.create(tmp_path/'venv', with_pip=True)
    run(bin/'python', '-m', 'pip', 'install', '-q', 'nbdev>=3')
    for command in ('export', 'clean'): print(run(bin/f'nbdev-{command}', cwd=copy))
    after = written(copy)
    assert after.keys() == before.keys()
    differing = [name for name in after if after[name] != before[name]]
    assert set(differing) <= {'reformer_rnn/_modidx.py'}
    lines = [line for name in differing for line in set(after[name]) ^ set(before[name])]
    assert all("'doc_host'" in line or "'doc_baseurl'" in line for line in lines), lines

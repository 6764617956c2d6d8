"The wheel, installed by nothing but its own open requirements, works with the newest releases of what it needs."
import venv

import pytest
import torch
from conftest import ROOT, run

TRAIN = '''
from importlib.metadata import version
from reformer_rnn.all import *

print({name: version(name) for name in ('torch', 'fastai', 'fastcore', 'fasttransform', 'plum-dispatch')})
dls = copy_dls(16, vocab_sz=8, bs=32, n_train=640, n_valid=64)
for attention in 'softmax', 'lsh', 'linear':
    seed_everything(0)
    learn = copy_learner(dls, LM(8, 32, 2, 2, attention=attention))
    with learn.no_bar():
        before, _ = learn.validate()
        learn.fit_one_cycle(2, 1e-2)
        after, _ = learn.validate()
    assert after < before, (attention, before, after)
'''

@pytest.mark.slow
def test_newest(wheel, tmp_path):
    python = tmp_path/'venv'/'bin'/'python'
    venv.create(tmp_path/'venv', with_pip=True)
    # torch stays where it is when it is a build for the CPU: a newer one would bring gigabytes for CUDA.
    limit = tmp_path/'limit.txt'
    limit.write_text('' if torch.version.cuda else f'torch=={torch.__version__.split("+")[0]}')
    run(python, '-m', 'pip', 'install', '-q', '-c', limit, wheel)
    print(run(python, ROOT/'tools'/'check_env.py', '--repair', cwd=tmp_path))
    print(run(python, '-c', TRAIN, cwd=tmp_path))

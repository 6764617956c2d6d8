"The base of the GPT-2 experiments is never half of one run and half of another; a broken package is named."
import json, os, shutil, signal, subprocess, sys, time

import pytest
from conftest import FORKS, ended

from reformer_rnn.files import file_checksum

TINY = dict(data='', n_bytes=0, test_pages=2, d_model=16, n_layers=1, n_heads=2, window=8, m=2, base_steps=24,
            base_bs=2, checkpoint_steps=7)

def write_base(folder, changes):
    "Make the base."
    from reformer_rnn.papers.gpt2.pages import GPT2BaseConfig, run_gpt2_base
    folder.mkdir(exist_ok=True)
    with open(folder/'log.txt', 'a') as f: os.dup2(f.fileno(), 1); os.dup2(f.fileno(), 2)
    run_gpt2_base(GPT2BaseConfig(**TINY | changes, base=str(folder/'base')))

def start(folder, **changes):
    "Begin to make the base in a process of its own."
    process = FORKS.Process(target=write_base, args=(folder, changes))
    process.start()
    return process

def make(folder, **changes):
    "Make the base, to the end."
    process = start(folder, **changes)
    assert ended(process) == 0, (folder/'log.txt').read_text()

def kill_while_saving(folder, wait, **changes):
    "Kill as soon as the base is being written, or a little later. Was there still something to kill?"
    process = start(folder, **changes)
    while not any((folder/'base'/f'.reformer_rnn.{o}').exists() for o in ('writing', 'decided')):
        if not process.is_alive(): return False
        time.sleep(.0003)
    time.sleep(wait)
    process.kill()
    return ended(process) == -signal.SIGKILL

def made(folder):
    "What training has left behind, without times."
    record = json.loads((folder/'base'/'base.json').read_text())
    names = sorted(o.name for o in folder.iterdir() if o.name != 'log.txt')
    return (names, file_checksum(folder/'base'/'model.safetensors'), record['fingerprint'],
            record['steps']['train_loss'], record['config'])

@pytest.mark.skipif(os.name == 'nt', reason='signals')
@pytest.mark.parametrize('older', [False, True])
def test_kills_around_the_save(tmp_path, older):
    make(tmp_path/'whole')
    folder, kills = tmp_path/'killed', 0
    if older: make(folder, base_lr=1e-3)
    for wait in (0, .002, .006):
        kills += kill_while_saving(folder, wait, resume=not older)
        for o in folder.glob('*.checkpoints') if older else (): shutil.rmtree(o)
    make(folder, resume=not older)
    assert kills and made(folder) == made(tmp_path/'whole')

def test_a_broken_torchvision_is_named(tmp_path):
    pytest.importorskip('transformers')
    (tmp_path/'torchvision').mkdir(); (tmp_path/'torchvision-0.1.dist-info').mkdir()
    (tmp_path/'torchvision'/'__init__.py').write_text('raise RuntimeError("operator torchvision::nms does not exist")')
    (tmp_path/'torchvision-0.1.dist-info'/'METADATA').write_text('Metadata-Version: 2.1\nName: torchvision\nVersion: '
                                                                 '0.1\n')
    code = (f'import sys; sys.path.insert(0, {str(tmp_path)!r}); from reformer_rnn.models.gpt2 import byte_gpt2; '
            f'byte_gpt2()')
    done = subprocess.run([sys.executable, '-c', code], capture_output=True, text=True)
    last = done.stderr.strip().splitlines()[-1]
    assert last.startswith('ImportError: ') and 'torchvision::nms' in last and 'pip install' not in last

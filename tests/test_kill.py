"""Training that is killed at random moments, also while it writes a checkpoint, ends as if nothing had happened.

Run as a script, this file forks one training after the other and kills them: `python tests/test_kill.py copy 6 0`.
"""
import hashlib, json, os, random, signal, sys, tempfile, time
from pathlib import Path

import pytest

def make(kind):
    "A learner: a stateless model on the copy task, or one that carries its state through a text."
    import torch
    from reformer_rnn.all import LM, copy_dls, copy_learner, lm_learner, seed_everything, text_dls
    seed_everything(0)
    if kind == 'copy':
        dls = copy_dls(8, 8, bs=4, n_train=40, n_valid=8, device='cpu')
        return copy_learner(dls, LM(8, 16, 1, 2, 'lsh', n_hashes=2, bucket_size=4, max_len=8, dropout=.1))
    text = torch.arange(600).pow(2).remainder(17).byte()
    dls = text_dls(text[:480], text[480:], bs=4, seq_len=12, vocab_sz=17, device='cpu')
    return lm_learner(dls, LM(17, 16, 1, 2, 'linear', positions='sinusoidal', dropout=.1), carry=True)

def train(kind, folder):
    "Train, or go on, and write a checksum of all that training leaves behind."
    from reformer_rnn.all import Checkpoint, RunRecord, write_json
    from reformer_rnn.training.checkpoints import random_states
    from reformer_rnn.training.snapshots import pack
    learn, record = make(kind), RunRecord(every=1)
    with learn.no_bar(), learn.no_logging():
        learn.fit_one_cycle(3, 1e-2, cbs=[record, Checkpoint(folder, every_steps=2)])
    rec = learn.recorder
    steps = record.record['steps']
    tensors = {}
    end = [learn.model.state_dict(), [dict(learn.opt.state[p]) for p in learn.model.parameters()], rec.losses,
           rec.values, dict(rec.hps),
           steps['step'], steps['train_loss'], steps['lr'], learn.throughput.tokens, random_states(learn.model)]
    sha = hashlib.sha256(json.dumps(pack(end, tensors)).encode())
    for o in tensors.values(): sha.update(repr(o.dtype).encode() + o.contiguous().flatten().numpy().tobytes())
    write_json(folder/'end.json', dict(checksum=sha.hexdigest(), steps=len(steps['step'])))

def fork(kind, folder):
    "Start a training in a process of its own; its number."
    pid = os.fork()
    if pid: return pid
    status = 1
    try:
        folder.mkdir(exist_ok=True)
        with open(folder/'log.txt', 'a') as f: os.dup2(f.fileno(), 1); os.dup2(f.fileno(), 2)
        train(kind, folder)
        status = 0
    except BaseException:
        import traceback
        traceback.print_exc()
    finally:
        sys.stdout.flush(); sys.stderr.flush(); os._exit(status)

def whole(kind, folder):
    "Train in one piece; the seconds it took."
    start = time.perf_counter()
    _, status = os.waitpid(fork(kind, folder), 0)
    assert status == 0, (folder/'log.txt').read_text()
    return time.perf_counter() - start

def written_since(folder, start):
    "Has a process begun since `start` to write a checkpoint, and not ended? A killed one leaves its folder behind."
    try: return (folder/'.writing').stat().st_mtime > start
    except FileNotFoundError: return False

def kill_once(kind, folder, seconds, writing):
    """Start or go on, and kill after so many seconds, or at the first moment after that in which a checkpoint is
    being written.

    Gives whether it was killed, and whether it was writing.
    """
    start, pid = time.time(), fork(kind, folder)
    while True:
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            assert status == 0, (folder/'log.txt').read_text()
            return False, False
        if time.time() - start > seconds and (not writing or written_since(folder, start)): break
    os.kill(pid, signal.SIGKILL)
    _, status = os.waitpid(pid, 0)
    return os.WIFSIGNALED(status), written_since(folder, start)

def main(kind, n_kills, seed):
    import reformer_rnn.all, fastai.callback.all  # once, for all forks
    import torch
    torch.set_num_threads(1)
    rng, kills, in_writing = random.Random(seed), 0, 0
    with tempfile.TemporaryDirectory() as temporary:
        seconds = whole(kind, Path(temporary)/'whole')
        expected = json.loads((Path(temporary)/'whole'/'end.json').read_text())
        attempt = 0
        while kills < n_kills:  # a training that is over is followed by another one
            folder = Path(temporary)/f'killed-{attempt}'
            over = False
            attempt += 1
            while kills < n_kills and not over:
                writing = kills % 2 == 0
                killed, in_the_middle = kill_once(kind, folder, rng.uniform(0, .6*seconds), writing)
                over = not killed
                kills = kills + killed
                in_writing = in_writing + (killed and in_the_middle)
            whole(kind, folder)
            end = json.loads((folder/'end.json').read_text())
            assert end == expected, (end, expected, (folder/'log.txt').read_text())
    print(f'{kind}: {kills} kills, {in_writing} of them in the middle of writing, {attempt} trainings of '
          f'{expected["steps"]} steps, all with the same end')
    assert in_writing

@pytest.mark.parametrize('kind', ['copy', 'text'])
def test_six_kills(kind, tmp_path):
    from conftest import forked_script
    done = forked_script(Path(__file__), tmp_path, kind, 6, 0)
    assert done.returncode == 0 and '6 kills' in done.stdout, done.stderr

@pytest.mark.slow
@pytest.mark.parametrize('kind', ['copy', 'text'])
def test_many_kills(kind):
    from conftest import run
    print(run(sys.executable, __file__, kind, 30, 1))

PROGRAM = Path(sys.executable).with_name('reformer_rnn')

def start_command(folder, *options):
    "Start a small experiment from the command line, with its output in two files; the process."
    from conftest import start_script
    sizes = '--n-bytes 20000 --d-model 16 --n-heads 2 --seq-len 32 --bs 4 --carry --epochs 1 --sample 4'
    folder.mkdir(exist_ok=True)
    command = 'charlm', *sizes.split(), '--results', str(folder), *options
    return start_script(PROGRAM, folder, command, folder/'out.txt', folder/'err.txt')

@pytest.mark.skipif(os.name == 'nt', reason='signals')
def test_command_stops_and_resumes(tmp_path):
    from conftest import ended
    whole, stopped = (start_command(tmp_path/o) for o in ('whole', 'stopped'))
    folder = tmp_path/'stopped'
    records = folder/'linear-seed0.checkpoints'
    while not records.exists(): time.sleep(.01); assert stopped.is_alive(), (folder/'err.txt').read_text()
    time.sleep(.3)
    os.kill(stopped.pid, signal.SIGTERM)
    code, err = ended(stopped, 120), (folder/'err.txt').read_text()
    assert code == 143, (code, err)
    last = err.strip().splitlines()[-1]
    assert last.startswith('reformer_rnn charlm: stopped by SIGTERM after step') and 'Traceback' not in err, err
    assert ended(start_command(folder, '--resume'), 120) == 0, (folder/'err.txt').read_text()
    assert 'going on from' in (folder/'out.txt').read_text()
    assert ended(whole, 120) == 0, (tmp_path/'whole'/'err.txt').read_text()
    a, b = (json.loads((tmp_path/o/'linear-seed0.json').read_text()) for o in ('whole', 'stopped'))
    for key in ('bits_per_byte', 'continuation'): assert a[key] == b[key]
    for key in ('step', 'train_loss', 'lr'): assert a['steps'][key] == b['steps'][key]
    assert not records.exists()

if __name__ == '__main__': main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))

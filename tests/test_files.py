"""Models that are saved into anybody's folder: whatever was there stays, and the old or the new model is there, after
kills, on full disks, and beside others that write and read."""
import os, random, shutil, signal, subprocess, sys
from contextlib import chdir
from pathlib import Path

import pytest
import torch

from reformer_rnn.files import MANIFEST, own_names, read_together, remove_together, write_together
from reformer_rnn.models.lm import LM
from reformer_rnn.pretrained import load_pretrained

pytestmark = pytest.mark.skipif(os.name == 'nt', reason='forks')
NAMES = 'config.json', 'model.safetensors', 'README.md'
TEMPORARY = '.reformer_rnn.writing', '.reformer_rnn.decided'  # what lies in them was left by a dead process

def write(folder, which, names=NAMES):
    with write_together(folder) as new:
        for name in names: (new/name).write_text(which*20)

def read(folder): return read_together(folder, lambda place: {o: (place/o).read_text() for o in NAMES[:2]})

def whole(which): return {o: which*20 for o in NAMES[:2]}

def tree(folder):
    "Everything below a folder: its number on the disk, and what is in it."
    def content(o): return os.readlink(o) if o.is_symlink() else o.is_dir() or o.read_bytes()
    return {o.relative_to(folder): (o.lstat().st_ino, content(o)) for o in folder.rglob('*')}

def fork(action):
    "Do something in a process of its own; its number."
    pid = os.fork()
    if pid: return pid
    code = 1
    try: code = action() or 0
    finally: os._exit(code)

def killed(n, action):
    "Do something in a process that dies before step n on the disk; did it die?"
    steps = {'open', 'os.mkdir', 'os.rename', 'os.remove', 'os.rmdir'}
    left = iter(range(n))
    def hook(event, args):
        if event in steps and next(left, None) is None: os.kill(os.getpid(), signal.SIGKILL)
    def watched():
        sys.addaudithook(hook)
        action()
    status = os.waitpid(fork(watched), 0)[1]
    assert status in (0, signal.SIGKILL), status
    return status == signal.SIGKILL

def test_killed_at_every_step(tmp_path):
    "The first model until one step, and from then on the second; the next saving tidies up, other files stay."
    (tmp_path/'thesis.tex').write_text('years of work')
    stays = (tmp_path/'thesis.tex').stat().st_ino, tmp_path.stat().st_ino
    found = []
    write(tmp_path, 'a')
    while killed(len(found), lambda: write(tmp_path, 'b')):
        before = tree(tmp_path)
        found.append(read(tmp_path))
        assert tree(tmp_path) == before
        write(tmp_path, 'a')
        assert sorted(os.listdir(tmp_path)) == sorted([*NAMES, MANIFEST, 'thesis.tex'])
        assert ((tmp_path/'thesis.tex').stat().st_ino, tmp_path.stat().st_ino) == stays
    last = found.index(whole('b'))
    assert found == [whole('a')]*last+[whole('b')]*(len(found)-last) and 0 < last < len(found)
    print(f'{len(found)} kills, {last} of them before the new model counts')

def test_killed_removals(tmp_path):
    n = 0
    write(tmp_path/'model', 'a')
    (tmp_path/'model'/'notes.txt').write_text('mine')
    while killed(n, lambda: remove_together(tmp_path/'model')):
        remove_together(tmp_path/'model')
        assert os.listdir(tmp_path/'model') == ['notes.txt']
        write(tmp_path/'model', 'a')
        n += 1
    assert n and os.listdir(tmp_path/'model') == ['notes.txt']

def anything(rng, folder, victim, depth=2):
    "Put files, folders and links at random into a folder, some of them with names of ours or of ours while writing."
    names = {*NAMES, MANIFEST, '.reformer_rnn.writing', '.reformer_rnn.decided', '.model.ready', '.model.replaced',
             'notes.txt', 'a b', '.hidden', 'vocab.json', *own_names, 'x', 'y', 'z'}
    for name in rng.sample(sorted(names), rng.randrange(5)):
        kind, path = rng.randrange(4), folder/name
        if kind == 0 and depth:
            path.mkdir()
            anything(rng, path, victim, depth-1)
        elif kind == 1: path.symlink_to(rng.choice((victim, victim/'config.json', folder/'nowhere')))
        elif not path.exists(): path.write_text(rng.choice(('mine', '{}', '{"../../victim/config.json": "0"}')))

def spelled(rng, folder, monkeypatch):
    "One of the names by which a folder can be called, and where one has to be for it."
    if rng.random() < .3: monkeypatch.setenv('HOME', str(folder)); return '~', folder
    if rng.random() < .3: return '.', folder
    if rng.random() < .3 and (inside := [o for o in folder.iterdir() if o.is_dir() and not o.is_symlink()]):
        return '..', inside[0]
    if rng.random() < .5:
        link = folder.parent/'link'
        link.unlink(missing_ok=True)
        link.symlink_to(folder)
        return link, folder
    return folder, folder

@pytest.fixture(scope='module')
def small():
    torch.manual_seed(0)
    return LM(11, 8, 1, 2, max_len=8)

def test_strange_places(tmp_path, monkeypatch, small):
    "Sixty savings among files of others: these stay, also where the model is refused for their sake."
    rng, saved = random.Random(0), 0
    victim = tmp_path/'victim'
    for i in range(60):
        folder = tmp_path/f'{i}'/'place'
        for o in (folder, victim): o.mkdir(parents=True, exist_ok=True)
        (victim/'config.json').write_text('precious')
        anything(rng, folder, victim)
        if rng.random() < .5 and not any((folder/o).is_symlink() or (folder/o).exists() for o in (*NAMES, MANIFEST)):
            try: small.save_pretrained(folder)
            except ValueError: pass
        name, here = spelled(rng, folder, monkeypatch)
        before, outside = tree(folder), tree(victim)
        with chdir(here):
            try: small.save_pretrained(name)
            except ValueError: ours = set()
            else:
                assert load_pretrained(name).vocab_sz == 11
                saved += 1
                ours = {Path(o) for o in (*NAMES, MANIFEST)}
        after = tree(folder)
        stayed = {k: v for k, v in before.items() if k not in ours and k.parts[0] not in TEMPORARY}
        assert {k: v for k, v in after.items() if k not in ours and k.parts[0] not in TEMPORARY} == stayed
        assert tree(victim) == outside
    assert 15 < saved < 55

def limited(folder, size, model):
    "Save where no file may have more bytes than that, as on a full disk; 3 if that is refused as it should be."
    import resource
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))
    try: model.save_pretrained(folder)
    except ValueError as e: return 3 if 'another folder' in str(e) else 4

def test_full_disk(tmp_path, small):
    "At whatever size the disk is full: one `ValueError`, and the old model."
    old = LM(11, 8, 1, 2, max_len=8)
    old.save_pretrained(tmp_path)
    before, codes = tree(tmp_path), []
    for size in (0, 1, 100, 300, 700, 1000, 1500, 2000, 3000, 5000, 10**6):
        codes.append(os.waitstatus_to_exitcode(os.waitpid(fork(lambda: limited(tmp_path, size, small)), 0)[1]))
        if codes[-1]: assert tree(tmp_path) == before
    assert {*codes[:-1]} == {3} and codes[-1] == 0
    assert torch.equal(load_pretrained(tmp_path).norm.weight, small.norm.weight)

@pytest.fixture
def mount(tmp_path):
    "A disk of 64 KiB in memory; only an administrator can mount it."
    place = tmp_path/'disk'
    place.mkdir()
    options = '-t', 'tmpfs', '-o', 'size=64k', 'tmpfs', str(place)
    if not shutil.which('mount') or subprocess.run(['mount', *options], capture_output=True).returncode:
        pytest.skip('cannot mount')
    yield place
    subprocess.run(['umount', str(place)], check=True)

def test_full_mount(mount, small):
    "A mount is a folder like others; when it is full, the model that is there stays."
    small.save_pretrained(mount)
    (mount/'thesis.tex').write_text('years of work')
    before = tree(mount)
    with pytest.raises(ValueError, match='No space left'): LM(11, 64, 2, 2, max_len=8).save_pretrained(mount)
    assert tree(mount) == before and load_pretrained(mount).vocab_sz == 11

def save_often(folder, seed, n):
    torch.manual_seed(seed)
    model = LM(11, 8, 1, 2, max_len=8)
    torch.nn.init.constant_(model.norm.weight, seed)
    for _ in range(n): model.save_pretrained(folder)

def test_two_writers_and_a_reader(tmp_path, small):
    "Whoever reads while two processes save into one folder gets a model of one of them, and never an error."
    small.save_pretrained(tmp_path)
    writers = [fork(lambda: save_often(tmp_path, seed, 12)) for seed in (1, 2)]
    seen = []
    while writers:
        seen.append({*load_pretrained(tmp_path).norm.weight.tolist()})
        pid, status = os.waitpid(-1, os.WNOHANG)
        assert status == 0
        if pid: writers.remove(pid)
    assert len(seen) > 3 and all(len(o) == 1 for o in seen)
    assert {*load_pretrained(tmp_path).norm.weight.tolist()} in ({1}, {2})
    assert sorted(os.listdir(tmp_path)) == sorted([*NAMES, MANIFEST])

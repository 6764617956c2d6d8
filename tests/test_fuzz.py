"""Damaged input gets an error of a promised type that names what is wrong: the file, or the argument.

300 random damages of files, folders, checkpoints, records, tables, series, states and masks, the same in every run.
None may be accepted, and none may end in an error that Python or PyTorch raises by itself.
"""
import json, random

import numpy as np
import pytest
import torch

import reformer_rnn.all  # registers every layer
from reformer_rnn.attention.layer import attention_layers
from reformer_rnn.attention.softmax import softmax_attention
from reformer_rnn.core import check_int, check_mask, check_qkv
from reformer_rnn.files import read_json
from reformer_rnn.data.documents import read_folder, read_jsonl, read_packages, read_pg19
from reformer_rnn.data.series import Scaler, read_series
from reformer_rnn.data.text import read_bytes
from reformer_rnn.training.snapshots import _digest, read_checkpoint, write_checkpoint

PROMISED = ValueError, FileNotFoundError
TREE = dict(step=3, losses=[i/3 for i in range(9)], weights={'a': torch.eye(3)}, rng=(3, (1, 2), None))
NEEDS = dict(config=dict, seed=int)
RECORD = dict(config=dict(lr=.1), seed=0, epochs=dict(valid_loss=[.5, .25]))

def flip(data, rng):
    "One bit is another."
    i = rng.randrange(len(data))
    return data[:i] + bytes([data[i] ^ 1 << rng.randrange(8)]) + data[i+1:]

def cut(data, rng): return data[:rng.randrange(len(data))]

def checkpoint(rng, folder):
    "Any bit of a checkpoint flipped, any piece cut off, or a file missing."
    path = write_checkpoint(folder/'checkpoints', 3, TREE)
    file = path/rng.choice(('manifest.json', 'tensors.pt'))
    change = rng.choice((flip, cut, None))
    if change is None: file.unlink()
    else: file.write_bytes(change(file.read_bytes(), rng))
    return lambda: read_checkpoint(path), path.name

def forged(rng, folder):
    "A checkpoint with other content and right checksums: an entry that no version writes lies somewhere in it."
    path = write_checkpoint(folder/'checkpoints', 3, TREE)
    manifest = json.loads((path/'manifest.json').read_text())
    wrong = rng.choice(({}, {'other': 1}, {'tensor': 't99'}, {'floats': 3}, {'dict': 3}, {'tuple': 1},
                        {'dict': [[[], 1]]},
                        {'named': ['os', 'system'], 'items': []}))
    if rng.random() < .2: manifest['tensors'] = rng.choice((None, [], {}, 'x', {'bytes': 1}))
    else: manifest['content'] = [1, [wrong]]
    (path/'manifest.json').write_text(json.dumps(manifest | dict(sha256=_digest(manifest))))
    return lambda: read_checkpoint(path), path.name

def record(rng, folder):
    "A record that is cut off, not UTF-8, too deep, no object, or without what it needs."
    (folder/'records').mkdir(exist_ok=True)
    file = folder/'records'/'run.json'
    whole = json.dumps(RECORD).encode()
    name = rng.choice(list(NEEDS))
    without = {k: v for k, v in RECORD.items() if k != name}
    others = [RECORD], 3, 'x', None, without, RECORD | {name: []}, RECORD | {name: None}
    damaged = cut(whole, rng), b'\xff' + whole, b'[' * 10**rng.randrange(4, 6), json.dumps(rng.choice(others)).encode()
    file.write_bytes(rng.choice(damaged))
    return lambda: read_json(file, NEEDS), 'run.json'

def table(rng, folder):
    "A table of dates and numbers with one damage."
    rows = [['date', 'a', 'b']] + [[f'2021-01-01 {h:02d}:00', str(h), str(h*h)] for h in range(24)]
    i, k = rng.randrange(2, 24), rng.randrange(1, 3)
    kind, encoding = rng.randrange(8), 'utf-8'
    if kind == 0: rows[i][k] = rng.choice(('x', '', 'inf', 'nan', '1,5"', '--'))
    if kind == 1: rows[i][0] = rng.choice(('', 'yesterday', '2021-13-01', rows[i-1][0]))
    if kind == 2: del rows[i]
    if kind == 3: rows[i].append('7')
    if kind == 4: rows[0][k] = rng.choice(('', rows[0][3-k]))
    if kind == 5: rows[0][k], encoding = 'Öl', rng.choice(('latin-1', 'utf-16'))
    if kind == 6: rows[0][0] = 'when'
    if kind == 7: rows = rows[:rng.randrange(2)]
    (folder/'table.csv').write_bytes('\n'.join(','.join(o) for o in rows).encode(encoding))
    return lambda: read_series(folder/'table.csv'), 'table.csv'

def scaler(rng, folder):
    "A column that cannot be standardised."
    values = torch.randn(20, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(rng.randrange(99)))
    k = rng.randrange(3)
    power = rng.randrange(40, 300)
    size = rng.choice((0., float('inf'), float('nan'), 10.**power, 10.**-power))
    values[:, k] = values[:, k]*size
    return lambda: Scaler(values, ('a', 'b', 'c')), "'" + 'abc'[k] + "'"

def documents(rng, folder):
    "A folder of documents with one that is none."
    root = folder/f'documents-{rng.randrange(10**9)}'
    root.mkdir()
    for i in range(3): (root/f'{i}.txt').write_text(f'text {i}')
    kind = rng.randrange(5)
    if kind == 0: (root/'1.txt').write_bytes(b'text \xff'); return lambda: read_folder(root), '1.txt'
    if kind == 1: (root/'1.txt').write_bytes(b''); return lambda: read_folder(root), '1.txt'
    if kind == 2: return lambda: read_folder(root/'nowhere'), 'nowhere'
    if kind == 3: return lambda: read_packages(root), root.name
    long = b'"' + b'x'*200_000 + b'"\n'
    (root/'metadata.csv').write_bytes(rng.choice((b'\xff\n', b'1,2\n', b'1,t,1900,u\n1,t,1900,u\n', long)))
    return lambda: read_pg19(root), 'metadata.csv'

def lines(rng, folder):
    "Records of texts, one of them damaged."
    deep = b'{"text": ' + b'['*10**5
    good = json.dumps(dict(text='a text')).encode()
    bad = rng.choice((b'{', b'[1]', b'{"text": 3}', b'{"other": "x"}', b'{"text": "\xff"}', deep, b'{"text": ""}'))
    at = rng.randrange(3)
    (folder/'texts.jsonl').write_bytes(b'\n'.join([*[good]*at, bad, good]))
    return lambda: read_jsonl(folder/'texts.jsonl'), f'texts.jsonl:{at+1}'

def text(rng, folder):
    "A text that is missing, empty, too short, or of another encoding."
    file = folder/'text.txt'
    file.write_bytes(b'' if rng.random() < .3 else b'some text \xff')
    kind = rng.randrange(4)
    if kind == 0: return lambda: read_bytes(folder/'nowhere.txt'), 'nowhere.txt'
    if kind == 1: return lambda: read_bytes(file, 10**6), 'text.txt'
    if kind == 2: return lambda: read_bytes(file, encoding=rng.choice(('utf-8', 'ascii'))), 'text.txt'
    return lambda: read_bytes(folder), folder.name

def inputs(rng, folder):
    "Queries, keys, values, masks and numbers that do not fit."
    q = torch.randn(2, 2, 5, 4)
    wrong = rng.choice((q[0], q.long(), q.double(), q[..., :3], q[:1], q[:, :1]))
    mask = rng.choice((torch.ones(2, 5), *(torch.ones(o, dtype=torch.bool) for o in ((2, 6), (3, 5), (2, 5, 5)))))
    number = rng.choice((0, -1, 1.5, True, '3', None, float('nan'), np.float32(2)))
    return rng.choice(((lambda: check_qkv(q, wrong, q), 'k'), (lambda: check_mask(mask, (2, 2, 5, 5)), 'mask'),
                       (lambda: softmax_attention(q, q, q, mask=mask), 'mask'),
                       (lambda: check_int('n_heads', number), 'n_heads')))

def layers(rng, folder):
    "A mask that does not fit, or inputs that are none, for any registered layer."
    kind = rng.randrange(4)
    layer = make_layer(rng.choice(LAYERS))
    x = torch.randn(2, 8, 16)
    if kind == 0: return lambda: layer(x[0]), 'x has shape (8, 16)'
    if kind == 1: return lambda: layer(x[..., :15]), 'x has shape (2, 8, 15)'
    if kind == 2: return lambda: layer(x, mask=torch.ones(2, 8)), 'mask'
    return lambda: layer(x, mask=torch.ones(3, 7, dtype=torch.bool)), 'mask'

def states(rng, folder):
    "A state of another batch, for any registered layer that carries one."
    name = rng.choice([o for o in LAYERS if o in STATEFUL])
    n = rng.choice((1, 3, 4))
    layer = make_layer(name)
    state = layer(torch.randn(2, 8, 16))[1]
    return lambda: layer(torch.randn(n, 8, 16), state=state), 'the state'

def make_layer(name):
    "A small causal layer."
    torch.manual_seed(0)
    options = dict(window=4) if name in ('local', 'sliding', 'block_recurrent') else {}
    if name == 'lsh': options = dict(max_len=16)
    return attention_layers[name](16, 2, causal=True, **options).eval()

LAYERS = list(attention_layers)
STATEFUL = {name for name in LAYERS if make_layer(name)(torch.randn(2, 8, 16))[1] is not None}

KINDS = checkpoint, forged, record, table, scaler, documents, lines, text, inputs, layers, states

@pytest.mark.parametrize('kind', KINDS, ids=lambda o: o.__name__)
def test_refused(kind, tmp_path):
    problems = []
    n = 30 if kind in (checkpoint, record, table) else 27
    for i in range(n):
        rng = random.Random(f'{kind.__name__} {i}')
        f, named = kind(rng, tmp_path)
        try: got = f()
        except PROMISED as e:
            if named not in str(e): problems.append(f'{i}: does not name {named}: {type(e).__name__}: {str(e)[:150]}')
        except Exception as e: problems.append(f'{i}: raw {type(e).__name__}: {str(e)[:150]}')
        else: problems.append(f'{i}: accepted: {str(got)[:100]}')
    assert not problems, '\n'.join(problems)

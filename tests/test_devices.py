"What measures speed makes everything on the device of its settings: here on the one of shapes without numbers."
import sys
from dataclasses import replace
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import pytest

from reformer_rnn.files import read_json
from reformer_rnn.runs import measure
from reformer_rnn.runs.experiment import find_experiment

SMALL = {
    'crossover': dict(lengths=(8,), tokens=16, d_model=8, n_heads=2, replicated=(8,), replicated_width=8,
                      replicated_layers=1, decoded=2),
    'brt_speed': dict(rows=('Slide:13L', 'Rec:fixed:skip'), n_layers=4, d_model=8, n_heads=2, window=4, seq_len=8,
                      lengths=(8,), long_rows=('Rec:fixed:skip',)),
    'delta_speed': dict(lengths=(8,), n_heads=1, d_head=4, batches=(1,), positions=(4,)),
    'linear_speed': dict(lengths=(8,), tokens=16, n_heads=1, d_head=4),
    'reformer_speed': dict(lengths=(16,), n_hashes=(1, 4), tokens=16, d_model=8, n_heads=1, bucket_size=4,
                           depths=(2,), depth_len=16),
    'rem_speed': dict(lengths=(8,), n_heads=1, d_head=4)}

APART = {'peer', 'memory', 'generation'}  # a version, processes of their own, and words that are drawn by their numbers

@pytest.mark.parametrize('name', SMALL)
def test_everything_is_on_the_device(name, tmp_path, monkeypatch):
    monkeypatch.setattr(measure, 'check_device', lambda device: None)
    found = find_experiment(name)
    # a server of processes that has the package imported would serve the other tests of this worker as well
    monkeypatch.setattr(sys.modules[type(found.settings()).__module__], 'in_process',
                        lambda f, *args, **options: f(*args), raising=False)
    parts = {part: f for part, f in found.does.items() if part not in APART}
    record = replace(found, does=parts, report=None).run(
        found.settings(device='meta', rounds=1, results=str(tmp_path), **SMALL[name]))
    assert len(record) == 3 + len(parts)
    assert [path.stem for path in tmp_path.iterdir()] == [f'{found.file or found.name}-meta']

def test_dry_run_on_a_cpu(tmp_path):
    "What `make gpu` runs, once and small: every row is stored, only kernels for a GPU refuse, a second run goes on."
    path = Path(__file__).parent.parent/'tools/measure_gpu.py'
    script = module_from_spec(spec_from_file_location('measure_gpu', path))
    script.__spec__.loader.exec_module(script)
    call = ['--device', 'cpu', '--try', '--layers', 'softmax', 'linear', '--out', str(tmp_path/'gpu.json')]
    script.main([*call, '--minutes', '0'])
    assert all(row['left'] for row in read_json(tmp_path/'gpu.json')['rows'])
    script.main(call)
    rows = read_json(tmp_path/'gpu.json')['rows']
    script.main([*call, '--minutes', '0'])
    again = read_json(tmp_path/'gpu.json')['rows']
    assert [row for row in again if 'left' not in row] == [row for row in rows if 'refused' not in row]
    named = {row['name']: row for row in rows if 'refused' not in row}
    asked = 'training linear', 'token linear', 'token softmax', 'gradients of rsa', 'delta', 'hashed, 4 rounds'
    assert all('at ' in named[name]['target'] for name in asked)
    assert named['gradients of rsa']['met']
    for row in rows:
        assert ('refused' in row) == (row['kernel'] in ('fla', 'flex')), row
        assert 'CUDA' in row.get('refused', 'CUDA')

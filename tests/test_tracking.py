"""Whatever happens to Weights & Biases, the record of a run is written, and training waits ten seconds at most.

`python tests/test_tracking.py` tries all situations with two experiments and prints a table.
"""
import contextlib, io, json, shutil, sys, tempfile, threading, time, warnings
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

EXPERIMENTS = {
    'copy': dict(model=('softmax',), seeds=(0,), length=16, vocab_sz=16, d_model=16, n_heads=2, epochs=1,
                 epoch_steps=4, bs=4, n_valid=8),
    'linear_copy': dict(model=('linear',), seeds=(0,), length=16, d_model=16, n_layers=1, n_heads=2, d_ff=16,
                        epochs=1, epoch_steps=4,
                        bs=4, n_valid=8),
}

@contextlib.contextmanager
def server(status):
    "A server on this machine that answers everything with `status`, or accepts and never answers; its address."
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            if status is None: over.wait(); return
            self.send_response(status); self.send_header('Content-Length', '0'); self.end_headers()
        do_GET = do_PUT = do_POST
        def log_message(self, *args): pass
    made = ThreadingHTTPServer(('127.0.0.1', 0), Handler)
    over = threading.Event()
    made.daemon_threads = True
    threading.Thread(target=made.serve_forever, daemon=True).start()
    try: yield f'http://127.0.0.1:{made.server_port}'
    finally: over.set(); made.shutdown(); made.server_close()

def no_home(tmp):
    "A home folder in which nothing can be made, whoever asks."
    (tmp/'home').touch()
    return str(tmp/'home')

KEY = 'x'*40
ONLINE = {'WANDB_MODE': 'online'}
SITUATIONS = {  # Name: (status of a server, None for silence, or no server; `folder -> environment`; what is said)
    'disabled': ('', lambda tmp: {'WANDB_MODE': 'disabled'}, 'WANDB_MODE=disabled'),
    'offline': ('', lambda tmp: {'WANDB_MODE': 'offline'}, None),
    'online, no network': ('', lambda tmp: ONLINE | {'WANDB_BASE_URL': 'http://127.0.0.1:1', 'WANDB_API_KEY': KEY}, 'cannot be reached'),
    '401': (401, lambda tmp: ONLINE | {'WANDB_API_KEY': KEY}, 'refuses the key'),
    'silent': (None, lambda tmp: ONLINE | {'WANDB_API_KEY': KEY}, 'cannot be reached'),
    'wrong host': ('', lambda tmp: ONLINE | {'WANDB_BASE_URL': 'http://nowhere.invalid', 'WANDB_API_KEY': KEY}, 'cannot be reached'),
    'no key': ('', lambda tmp: ONLINE | {'WANDB_BASE_URL': 'http://127.0.0.1:1', 'NETRC': '/nowhere'}, 'there is no account'),
    'read-only home': ('', lambda tmp: {'WANDB_MODE': 'offline', 'HOME': no_home(tmp)}, None),
    'no home': ('', lambda tmp: {'WANDB_MODE': 'offline', 'HOME': None}, None),
    'closed disk': ('', lambda tmp: {'WANDB_MODE': 'offline'}, None),
    'unknown mode': ('', lambda tmp: {'WANDB_MODE': 'maybe'}, 'WANDB_MODE=maybe is not known'),
    'answers 404 and nothing else': (404, lambda tmp: ONLINE | {'WANDB_API_KEY': KEY}, None),
}
QUICK = 'disabled', '401', 'silent', 'read-only home', 'closed disk'

def train(experiment, tmp, situation):
    "Train a small model with tracking; its record, what was printed, and for how long training waited."
    from reformer_rnn.runs.experiment import find_experiment
    from reformer_rnn.training import weights_biases
    status, environment, _ = SITUATIONS[situation]
    found = find_experiment(experiment)
    config, run = found.settings, found.run
    results = tmp/'results'
    results.mkdir()
    if situation == 'closed disk': (results/'wandb').touch()  # no folder can be made there
    waited, out = [], io.StringIO()
    def timed(f):
        def g(*args, **kwargs):
            start = time.perf_counter()
            try: return f(*args, **kwargs)
            finally: waited.append(time.perf_counter() - start)
        return g
    with contextlib.ExitStack() as stack:
        patch = stack.enter_context(pytest.MonkeyPatch.context())
        for name in ('WANDB_API_KEY', 'WANDB_BASE_URL', 'NETRC'): patch.delenv(name, raising=False)
        if status != '': patch.setenv('WANDB_BASE_URL', stack.enter_context(server(status)))
        for name, value in environment(tmp).items():
            if value is None: patch.delenv(name, raising=False)
            else: patch.setenv(name, value)
        for name in ('LogRun', 'FinishWandb'):
            callback = getattr(weights_biases, name)
            patch.setattr(callback, '__call__', timed(callback.__call__))
        patch.setattr(sys.modules['reformer_rnn.runs.train'], 'wandb_callbacks', timed(weights_biases.wandb_callbacks))
        stack.enter_context(contextlib.redirect_stdout(out))
        run(config(**EXPERIMENTS[experiment], results=str(results), track='wandb'))
    records = [o for o in results.glob('*-seed0.json')]
    assert len(records) == 1 and json.loads(records[0].read_text())['epochs']['valid_loss'], out.getvalue()
    return out.getvalue(), sum(waited), len(list(results.glob('wandb/offline-run-*/run-*.wandb')))

@pytest.mark.parametrize('situation', QUICK)
def test_record_is_written(situation, tmp_path):
    said, waited, kept = train('copy', tmp_path, situation)
    expected = SITUATIONS[situation][2]
    assert expected is None or expected in said, said
    assert waited < 12, 'tracking held training up'
    assert kept == (situation not in ('disabled', 'closed disk'))

@pytest.mark.parametrize('folder', ['results', 'results/wandb'])
def test_folder_deleted_during_training(folder, tmp_path, monkeypatch):
    "The folder of the run disappears in the middle: it comes again, with the record."
    from reformer_rnn.runs import record as tracking
    after_batch = tracking.RunRecord.after_batch
    def deleting(self):
        after_batch(self)
        if self.n_batches == 2: shutil.rmtree(tmp_path/folder, ignore_errors=True)
    monkeypatch.setattr(tracking.RunRecord, 'after_batch', deleting)
    train('copy', tmp_path, 'offline')

def main():
    warnings.simplefilter('ignore')
    print(f'{"":<30}' + ''.join(f'{o:>24}' for o in EXPERIMENTS))
    written, longest = 0, 0.
    for situation in SITUATIONS:
        cells = []
        for experiment in EXPERIMENTS:
            with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as tmp:
                said, waited, kept = train(experiment, Path(tmp), situation)
            written, longest = written + 1, max(longest, waited)
            cells.append(f'waited {waited:.1f} s, {"kept" if kept else "not kept"}')
        print(f'{situation:<30}' + ''.join(f'{o:>24}' for o in cells) + '  '
              + said.partition('Weights & Biases: ')[2].partition('. ')[0][:90], flush=True)
    print(f'{written} records of {len(SITUATIONS)*len(EXPERIMENTS)} written; the longest wait {longest:.1f} s')

if __name__ == '__main__': main()

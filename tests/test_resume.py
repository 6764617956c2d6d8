"Every experiment, stopped by SIGTERM in the middle of an epoch and resumed, ends as if nothing had happened."
import io, json, os, signal
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import fields, replace

import pytest
from fastai.data.core import TfmdDL

from reformer_rnn.runs import train as runs_train
from reformer_rnn.papers.gpt2 import recall as gpt2_recall
from reformer_rnn.runs.experiment import commands, find_experiment, used_fields
from reformer_rnn.runs import record
from reformer_rnn.training.checkpoints import Stopped

# Command, perhaps with what is stopped: settings of a run of a second or two, and the step after which it is stopped
TINY = {
    'copy': (dict(model=('lsh-2',), length=16, vocab_sz=16, bucket_size=4, d_model=16, n_heads=2, epochs=2,
                  epoch_steps=4, bs=4, n_valid=8), 6),
    'copy_implementations': (dict(model=('here',), seeds=(0,), length=16, vocab_sz=16, bucket_size=4, d_model=16,
                                  n_heads=2, epochs=2, epoch_steps=4, bs=4, n_valid=8), 6),
    'linear_copy': (dict(model=('linear',), length=16, d_model=16, n_layers=1, n_heads=2, d_ff=16, epochs=2,
                         epoch_steps=4, bs=4, n_valid=8), 6),
    'replication': (dict(model=('linear',), seeds=(0,), d_model=16, n_layers=1, n_heads=2, d_ff=16, epochs=2,
                         epoch_steps=4, bs=4, n_valid=8), 6),
    'charlm': (dict(model=('rsa-xl',), n_bytes=6000, d_model=16, n_layers=1, seq_len=32, bs=4, epochs=2,
                    dropout=.1, sample=4), 50),
    'forecast': (dict(model=('rsa-informer',), data='synthetic', seeds=(0,), horizon=12, seq_len=24, d_model=16,
                      n_heads=4, d_ff=16, e_layers=1,
                      rem='0,1,1,0,1,1', bs=256, epochs=3, shuffle=True), 9),
    'digits': (dict(model=('linear',), d_model=8, n_layers=1, n_heads=2, bs=256, epochs=2, n_samples=1,
                    n_completions=1), 6),
    'recall': (dict(model=('fixed:skip',), seeds=(0,), lengths=(16, 24), unseen=(), epoch_steps=6, n_valid=8,
                    d_model=16, n_heads=2, d_ff=16, window=4, n_states=4, bs=4), 8),
    'state_tracking': (dict(model=('delta:1',), seeds=(0,), length=16, unseen=(24,), epochs=2, epoch_steps=4,
                            n_valid=8, d_model=16, n_heads=2, d_ff=16, bs=4), 6),
    'brt_states': (dict(task='s3', model=('lstm:skip',), seeds=(0,), epochs=2, epoch_steps=4, tokens=80, n_valid=8,
                        d_model=16, n_heads=2, d_ff=16, n_states=4), 6),
    'doclm': (dict(model=('Rec:fixed:skip',), tokens=3*20*4*32, epochs=3, d_model=16, n_layers=3, n_heads=2,
                   window=8, seq_len=32, bs=4, dropout=.1), 27),
    'gpt2_base': (dict(data='', n_bytes=0, test_pages=2, d_model=16, n_layers=1, n_heads=2, window=8, m=2,
                       base_steps=24, base_bs=2), 9),
    'gpt2': (dict(model=('glr',), seeds=(0,), data='', n_bytes=0, test_pages=2, d_model=16, n_layers=1, n_heads=2,
                  window=8, m=2, base_steps=4, base_bs=2,
                  train_bytes=1500, page_bytes=400, test_bytes=200, windows=2, bs=2, epochs=2), 70),
    'gpt2_recall': (dict(model=('kv',), seeds=(0,), window=8, d_model=16, n_layers=1, n_heads=2, m=2, base_steps=5,
                         epochs=2, steps=8, bs=4, between=1,
                         test_between=(0,), n_test=64), 12),
    'exam': (dict(task=('parity',), model=('delta:2',), seeds=(0,), rates=(1e-2,), updates=8, tokens=80,
                  epoch_steps=4, n_valid=4, n_test=4, d_model=16, d_ff=16, seconds=0.), 6),
    'classify': (dict(seeds=(0,), packages=('json', 'http'), d_model=16, n_heads=2, bs=16, epochs=2), 7),
    'state_tuning': (dict(model=('state',), base='small', n_train=260, n_test=513, bs=2, seq_len=32, epochs=2), 5),
}
TINY['gpt2_recall, while its base learns'] = TINY['gpt2_recall'][0], 3

def train(name, cfg, stop_after=0):
    "The record of the one run of an experiment, or of `Stopped`."
    class RunRecord(record.RunRecord):
        def after_batch(self):
            super().after_batch()
            if self.training and self.learn.train_iter == stop_after: signal.raise_signal(signal.SIGTERM)
    gpt2_recall._last_base.clear()  # as in a new process
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
        patch.setattr(runs_train, 'RunRecord', RunRecord)
        return find_experiment(name).run(cfg)[0]

def test_every_experiment_that_resumes_has_settings_here():
    able = {name for name in commands() if 'resume' in {f.name for f in fields(find_experiment(name).settings)}}
    assert able == {name.partition(',')[0] for name in TINY}

def test_every_loader_that_generates_says_from_what():
    "Else --resume would keep results of other data: all it could compare is their number."
    for name in commands(): find_experiment(name)
    loaders, todo = set(), [TfmdDL]
    while todo:
        found = todo.pop().__subclasses__()
        todo += found
        loaders |= {o for o in found if o.__module__.startswith('reformer_rnn.')}
    generate = {o for o in loaders if o.__init__.__annotations__.get('dataset') in (range, 'range')}
    assert {o.__name__ for o in generate} >= {'CopyDL', 'RecallDL', 'DrawnDL'}
    silent = [o.__name__ for o in generate if not hasattr(o, 'made_from')]
    assert not silent, f'{silent} generate data and have no made_from'

def places(name, folder):
    "Where an experiment puts its results, and a base that it trains itself."
    names = {f.name for f in used_fields(find_experiment(name).settings)} - TINY[name][0].keys()
    return {k: v for k, v in dict(results=str(folder), base=str(folder/'base')).items() if k in names}

@pytest.mark.skipif(os.name == 'nt', reason='signals')
@pytest.mark.parametrize('name', TINY)
def test_resumes(name, tmp_path, small_documents):
    settings, step = TINY[name]
    name = name.partition(',')[0]
    if name == 'doclm': settings = dict(settings, data=small_documents)
    cfg = find_experiment(name).settings(**settings, **places(name, tmp_path/'whole'))
    whole = train(name, cfg)
    stopped = replace(cfg, **places(name, tmp_path/'stopped'))
    assert len(whole['epochs']['epoch']) > 1, 'too short to be stopped in the second epoch'
    with pytest.raises(Stopped, match=f'after step {step}'): train(name, stopped, step)
    with pytest.raises(ValueError, match='not finished'): train(name, stopped)
    again = json.loads(json.dumps(train(name, replace(stopped, resume=True))))
    whole = json.loads(json.dumps(whole))
    timed = {'config', 'environment', 'throughput', 'seconds', 'seconds_per_epoch', 'peak_bytes'}
    def untimed(o): return {k: untimed(v) for k, v in o.items() if k not in timed} if isinstance(o, dict) else o
    assert untimed(again) == untimed(whole)
    assert not list((tmp_path/'stopped').rglob('*.checkpoints'))

@pytest.fixture
def small_documents(tmp_path):
    "A folder of short documents of different lengths, in three parts."
    for i in range(12):
        path = tmp_path/'documents'/('valid' if i == 10 else 'test' if i == 11 else 'train')/f'{i}.txt'
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(''.join(' ' if j%7 == 3 else chr(97 + (i*j*j + j)%23) for j in range(300 + 137*i)))
    return str(tmp_path/'documents')

def started_later(make):
    "The weights after four epochs of which the first two were trained by another learner, and after all four in a row."
    import torch
    from fastai.callback.core import CancelFitException, Callback
    from reformer_rnn.core import seed_everything
    class Stop(Callback):
        order = 70
        def after_epoch(self):
            if self.epoch == 1: raise CancelFitException
    def fit(*cbs, **more):
        seed_everything(0)
        learn = make()
        if more: learn.load('half', with_opt=True)
        with learn.no_bar(), learn.no_logging(): learn.fit_one_cycle(4, 1e-2, cbs=list(cbs), **more)
        if cbs: learn.save('half', with_opt=True)
        return torch.cat([p.detach().flatten() for p in learn.model.parameters()])
    fit(Stop())
    return fit(start_epoch=2), fit()

@pytest.mark.parametrize('kind', ('text', 'documents', 'copy', 'shuffled'))
def test_start_epoch_reads_on(kind, tmp_path, monkeypatch):
    "A new session that leaves out epochs leaves out their data, in the order that the whole training would have drawn."
    import torch
    from fastai.data.core import DataLoaders
    from reformer_rnn.data.copy import copy_dls
    from reformer_rnn.data.documents import Document, Documents
    from reformer_rnn.data.loaders import Shown
    from reformer_rnn.data.reading import documents_dls
    from reformer_rnn.data.text import text_dls
    from reformer_rnn.models.lm import LM
    from reformer_rnn.training.learner import lm_learner
    class Pairs(Shown, TfmdDL): pass
    text = torch.arange(400).pow(2).remainder(17).byte()
    docs = Documents(Document(str(i), bytes(text[:30+20*i].numpy())) for i in range(7))
    items = [(text[i:i+8].long(), text[i+1:i+9].long()) for i in range(40)]
    def loaders():
        if kind == 'text': return text_dls(text[:300], text[300:], bs=4, seq_len=16, vocab_sz=17, device='cpu')
        if kind == 'copy': return copy_dls(length=8, vocab_sz=17, bs=8, n_train=32, n_valid=8, device='cpu')
        if kind == 'documents': return documents_dls(docs, Documents([Document('v', b'abcdefgh')]), bs=2, seq_len=8,
                                                     val_bs=1, resets=False, device='cpu')
        shuffled = Pairs(items, bs=8, shuffle=True, num_workers=0)
        return DataLoaders(shuffled, Pairs(items, bs=8, num_workers=0), device='cpu')
    monkeypatch.chdir(tmp_path)
    later, whole = started_later(lambda: lm_learner(loaders(), LM(256, 8, 1, 1, 'linear', positions=None)))
    assert torch.equal(later, whole)

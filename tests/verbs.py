"fastai's verbs on every kind of loader of this package; `python tests/verbs.py` tries them where there is no pytest."
import re, tempfile, warnings
from functools import partial
from pathlib import Path

import pandas as pd
import torch
from fastai.callback import fp16, hook, schedule  # they add verbs to a Learner
from fastai.callback.fp16 import ModelToHalf
from fastai.callback.progress import CSVLogger
from fastai.learner import Learner, load_learner
from fastai.text.data import TextDataLoaders

from reformer_rnn.all import *
from reformer_rnn.papers.block_recurrent.states import StatesDL
from reformer_rnn.papers.linear.replication import ReplicationConfig, replication_learner, replication_model

TEXT = b'It was the best of times, it was the worst of times. '*60
small = dict(d_model=16, n_layers=1, n_heads=2)

def text(carry=False):
    data = torch.frombuffer(bytearray(TEXT), dtype=torch.uint8)
    dls = text_dls(data[:2000], data[2000:3000], 4, 32, device='cpu')
    return lm_learner(dls, LM(256, attention='linear', **small), carry=carry)

def letters():
    data = encode_text8('it was the best of times '*100)
    return lm_learner(text_dls(data[:2000], data[2000:], 4, 32, device='cpu', vocab_sz=27), LM(27, **small))

def read_documents(resets=True, **kwargs):
    docs = Documents(Document(f'book {i}', TEXT[:200+40*i]) for i in range(6))
    return documents_dls(docs[:4], docs[4:], 2, 32, device='cpu', resets=resets, **kwargs)

def packed():
    return lm_learner(read_documents(False, kind=PackedDL), LM(256, attention='linear', **small))

def documents(portions=False):
    dls = read_documents()
    if portions: dls = Loaders(Portions(dls.train, 5), dls.valid)
    model = BlockRecurrentLM(256, window=16, n_states=4, recurrent=(-1,), **small)
    return lm_learner(dls, model, cbs=[ResetRows()])

def gpt2(resets=True):
    "Without flags nothing may be carried from one document into the next, so that it is another learner."
    model = RecurrentGPT2(byte_gpt2(16, 2, 2, 32), 'kv', window=16, layers=range(1))
    return gpt2_learner(read_documents(), model) if resets else lm_learner(read_documents(False), model)

def series():
    parts = forecast_windows(synthetic_series(400), 12, 4)
    n, n_time = len(parts.train.columns), parts.train.times.shape[1]
    model = Informer(n, n, 12, 6, 4, d_model=12, n_heads=3, d_ff=24, n_time=n_time)
    return Learner(forecast_dls(parts, 16, device='cpu'), model, loss_func=torch.nn.MSELoss())

def copy(**kwargs):
    return copy_learner(copy_dls(16, 11, 8, 64, 20, device='cpu', **kwargs), LM(11, **small))

def digits(): return lm_learner(digits_dls(bs=64, device='cpu'), LM(18, attention='linear', **small))

def generated(cls, vocab_sz):
    dls = Loaders(cls(range(64), (40, 48), bs=8), cls(range(20), (40,), fixed=True, bs=8), device=torch.device('cpu'))
    return lm_learner(dls, LM(vocab_sz, **small))

def exam(cls=ExamDL, name='mqar'):
    task = cls.tasks[name]
    train, valid = (cls(range(n), name, task.train[:1], bs=4, fixed=n == 8) for n in (16, 8))
    return lm_learner(Loaders(train, valid, device=torch.device('cpu')), LM(task.n_symbols, **small))

def drawn():
    def draw(n): return (torch.arange(9).repeat(n, 1),)*2
    return lm_learner(Loaders(DrawnDL(range(64), draw, bs=8), DrawnDL(range(16), draw, bs=16)), LM(9, **small))

def replication():
    cfg = ReplicationConfig(epoch_steps=4, bs=8, n_valid=20, d_ff=32, **small)
    return replication_learner(cfg, replication_model(cfg, 'linear'))

def own_loaders(**kwargs):
    "fastai's loaders of words."
    table = pd.DataFrame(dict(text=['read the file and close it', 'send a mail to the list']*8,
                              label=['file', 'mail']*8, test=[False]*12+[True]*4))
    return TextDataLoaders.from_df(table, text_col='text', valid_col='test', bs=4, num_workers=0,
                                   device='cpu', **kwargs)

def classifier():
    dls = own_loaders(label_col='label')
    return Learner(dls, SequenceClassifier(LM(len(dls.vocab[0]), attention='linear', **small), 2, pad=1))

def words():
    dls = own_loaders(is_lm=True, seq_len=5)
    return lm_learner(dls, LM(len(dls.vocab), tie_weights=True, **small))

def forecast():
    found = synthetic_series(120)
    table = pd.DataFrame(found.values.numpy(), columns=found.columns).assign(date=found.dates)
    return forecast_learner(table, 4, seq_len=8, seeds=2, bs=64, device='cpu')

def translation():
    "A source and the target so far go in, the target comes out."
    def draw(n):
        source = torch.randint(1, 9, (n, 6))
        return source, torch.cat([torch.zeros(n, 1).long(), source[:, :-1]], 1), source
    dls = Loaders(DrawnDL(range(64), draw, bs=8, n_inp=2), DrawnDL(range(16), draw, bs=16, n_inp=2))
    return lm_learner(dls, EncoderDecoder(9, **small))

LEARNERS = {
    'text': text, 'text carried': partial(text, True), 'letters': letters, 'documents': documents, 'packed': packed,
    'portions': partial(documents, True), 'GPT-2': gpt2, 'GPT-2 without flags': partial(gpt2, False), 'series': series,
    'copy': copy, 'varied copy': partial(copy, varied=True),
    'growing copy': partial(copy, shorter=(8,), passes=2), 'digits': digits, 'recall': partial(generated, RecallDL, 18),
    'parity': partial(generated, ParityDL, 2), 'permutations': partial(generated, PermutationsDL, 6),
    'reassigned': partial(generated, ReassignedDL, 272), 'exam': exam,
    'pairs': partial(exam, StatesDL, 'pairs'), 'drawn': drawn, 'replication': replication}

# With loaders of fastai, or a method of their own: for what asks nothing of a loader
BESIDE = {'classifier': classifier, 'words': words, 'forecast': forecast, 'translation': translation}

# What `freeze` leaves to train, as a pattern of names of parameters
HEADS = dict.fromkeys([*LEARNERS, *BESIDE], r'out\.') | {
    'GPT-2': r'rec\.', 'GPT-2 without flags': r'rec\.', 'classifier': r'classes\.',
    'forecast': r'members\.\d\.model\.out\.'} | dict.fromkeys(
    ('documents', 'portions', 'words'), r'(out|embed\.tokens)\.')  # whose weights are tied

# Whose learners do not write, and what they say instead
NO_TEXT = {name: 'learn.get_preds' for name in ('series', 'replication')} | {
    name: 'no vocabulary' for name in LEARNERS if name in (
        'copy', 'varied copy', 'growing copy', 'digits', 'recall', 'parity', 'permutations', 'reassigned', 'exam',
        'pairs', 'drawn')}

def targets(dl): return [b[-1] for b in dl]

def same(a, b): assert torch.equal(torch.as_tensor(a), torch.as_tensor(b))

def refused(f, said):
    "Is this refused with an error that says what to do?"
    try: f()
    except ValueError as e: assert said in str(e), e
    else: raise AssertionError(f'not refused, although expected to say {said!r}')

def show_batch(learn, name):
    for dl in learn.dls[0], learn.dls[1]: dl.show_batch(max_n=2)
    learn.dls.show_batch()

def show_results(learn, name):
    learn.show_results(max_n=2)
    learn.show_results(ds_idx=0)

def get_preds(learn, name):
    dl = learn.dls.valid
    preds, found = learn.get_preds()
    same(found, torch.cat(targets(dl), int(getattr(dl, 'contiguous', False))))
    assert preds.shape[:2] == found.shape[:2]
    def with_input(): return learn.get_preds(dl=dl, with_input=True)
    flags = getattr(dl, 'resets', False) or getattr(dl, 'packed', False)
    if flags: refused(with_input, 'read the inputs from the loader')
    else: same(with_input()[1], preds)

def predict(learn, name):
    options = dict(n=5, temperature=.8) if isinstance(learn, SequenceLearner) else {}
    def write(): return learn.predict('it was', **options)
    if name in NO_TEXT: refused(write, NO_TEXT[name])
    else: assert write().startswith('it was') and len(write()) > 6

def summary(learn, name): assert 'Total params' in learn.summary()

def export(learn, name):
    learn.fit(1)
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter('ignore')  # fastai's, that a pickle can do anything
        learn.path = Path(folder)
        learn.export('learner.pkl')
        again = load_learner(Path(folder)/'learner.pkl')
    dl = learn.dls.valid
    with again.no_bar():
        same(again.get_preds(dl=dl)[0], learn.get_preds(dl=dl)[0])
        predict(again, name)
        for f in again.dls.show_batch, again.validate, again.get_preds, partial(again.fit, 1):
            refused(f, 'exported without its data')
    learn.fit(1)  # which still has its own

def lr_find(learn, name): assert learn.lr_find(num_it=8, show_plot=False).valley > 0

def save(learn, name):
    learn.fit(1)
    with tempfile.TemporaryDirectory() as folder:
        learn.path = Path(folder)
        learn.save('model')
        before = learn.validate()[0]
        for p in learn.model.parameters(): p.data.zero_()
        learn.load('model')
    same(learn.validate()[0], before)
    learn.fit(1)

def validate(learn, name):
    learn.fit(1)
    in_training = learn.recorder.values[-1][1]
    same(learn.validate()[0], in_training)

def half(learn, name, to):
    with warnings.catch_warnings():
        warnings.simplefilter('ignore')  # PyTorch's, that there is no GPU
        getattr(learn, to)().fit(1)
        assert learn.validate()[0] > 0

def to_fp16(learn, name): half(learn, name, 'to_fp16')
def to_bf16(learn, name): half(learn, name, 'to_bf16')

def freeze(learn, name):
    "The head alone is trained, then everything that was before, with a rate for each group."
    def trained(): return {name for name, p in learn.model.named_parameters() if p.requires_grad}
    learn.unfreeze()  # that of a GPT-2 begins frozen
    every, before = trained(), {name: p.clone() for name, p in learn.model.named_parameters()}
    learn.freeze()
    head = trained()
    assert head == {o for o in every if re.match(HEADS[name], o)} != set()
    learn.fit(1, 1e-2)
    moved = {name for name, p in learn.model.named_parameters() if not p.equal(before[name])}
    assert moved and moved <= head, moved-head
    learn.fit(1, 1e-2, reset_opt=name != 'GPT-2')
    learn.unfreeze()
    assert trained() == every
    n = len(learn.opt.hypers)
    assert n > 1
    learn.freeze_to(1)
    first = {id(p) for p in learn.opt.param_lists[0]}
    assert trained() == {name for name, p in learn.model.named_parameters() if id(p) not in first} & every != every
    learn.unfreeze()
    if name == 'replication': return  # it has a schedule of its own
    def rates(): return [group['lr'] for group in learn.opt.hypers]
    learn.fit(1, slice(1e-4))
    assert rates() == [1e-5]*(n-1)+[1e-4]
    learn.fit_one_cycle(1, slice(1e-5, 1e-3))  # a constant factor from each group to the next
    assert torch.allclose(torch.tensor(rates()).float()/rates()[0], torch.logspace(0, 2, n))
    learn.fine_tune(1, 1e-3)
    assert trained() == every and rates()[0] < rates()[-1]

def beside(learn, name):
    "What fastai's own loaders and a learner of tables are asked for besides."
    learn.fit(1)
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter('ignore')  # fastai's, of pickle, and PyTorch's, that there is no GPU
        learn.path = Path(folder)
        learn.fit(1, cbs=CSVLogger())
        learn.add_cb(CSVLogger('again.csv'))
        learn.fit(1)
        learn.export('learner.pkl')
        again = load_learner(Path(folder)/'learner.pkl')
        for o in learn, again: ANSWERS[name](o)
        learn.show_results(max_n=2)
        learn.to_bf16().fit(1)
        refused(lambda: learn.fit(1, cbs=ModelToHalf()), 'to_bf16')

def says_class(learn):
    "By its name, whoever is asked, and its model keeps it."
    label, i, p = learn.predict('send a mail')
    assert learn.model.labels == ['file', 'mail'] and label == learn.model.labels[i]
    assert learn.model.predict('send a mail')[label] == p.max()

def translates(learn):
    source = torch.arange(1, 7)[None]
    assert learn.predict(source, 6, start=0).shape == (1, 6)
    refused(lambda: learn.predict('a text'), 'start=')

ANSWERS = {
    'classifier': says_class, 'translation': translates,
    'words': lambda learn: predict(learn, 'words'),
    'forecast': lambda learn: refused(lambda: learn.predict('a table'), 'learn.forecast(df)')}

VERBS = {f.__name__: f for f in (show_batch, show_results, get_preds, predict, summary, export, lr_find, save, validate,
                                 to_fp16, to_bf16)}
# Verbs that ask nothing of a loader
FOR_ALL = {'freeze': freeze}

def try_verb(name, verb):
    "Build the learner of a loader, and try a verb."
    import matplotlib.pyplot as plt
    torch.manual_seed(0)
    learn = (LEARNERS | BESIDE)[name]()
    with learn.no_bar(), learn.no_logging(): (VERBS | FOR_ALL | dict(beside=beside))[verb](learn, name)
    plt.close('all')

if __name__ == '__main__':
    for name in [*LEARNERS, *BESIDE]:
        for verb in [*FOR_ALL, 'beside'] if name in BESIDE else VERBS | FOR_ALL:
            try: try_verb(name, verb)
            except Exception as e: raise RuntimeError(f'{verb} of {name}') from e
    print(f'{len(VERBS | FOR_ALL)} verbs on {len(LEARNERS | BESIDE)} kinds of learners')

"A model in any wrapper is trained, read and written with as the model alone, or refused in words."
import peft
import pytest
import torch
from fastai.callback.core import Callback
from torch import nn

from reformer_rnn.all import *
from reformer_rnn.core import parts_with, seed_everything
from reformer_rnn.training.callbacks import ChunkedLoss, ResetRows
from reformer_rnn.training.scale import Recompute


class Own(nn.Module):
    "A wrapper that passes nothing on"
    def __init__(self, inner):
        super().__init__()
        self.inner = inner

    def forward(self, *args): return self.inner(*args)


class Forwarding(Own):
    "A wrapper that passes on what it does not have, for reading"
    def __getattr__(self, name):
        try: return super().__getattr__(name)
        except AttributeError: return getattr(self.inner, name)


class Hiding(Forwarding):
    "A wrapper whose model is not among its modules"
    def __init__(self, inner):
        super().__init__(None)
        del self.inner
        self.inner = [inner]
        self.weights = nn.ParameterList(inner.parameters())

    def forward(self, *args): return self.inner[0](*args)

    def __getattr__(self, name):
        try: return nn.Module.__getattr__(self, name)
        except AttributeError: return getattr(self.inner[0], name)


def adapted(model):
    "Low-rank additions of zero, with all weights trained"
    wrapped = peft.get_peft_model(model, peft.LoraConfig(r=2, target_modules=['to_q','to_v']))
    for name,p in wrapped.named_parameters(): p.requires_grad_('lora' not in name)
    return wrapped


@pytest.fixture(scope='module')
def one_process(tmp_path_factory):
    "A group of this process alone"
    store = torch.distributed.FileStore(str(tmp_path_factory.mktemp('group')/'store'), 1)
    torch.distributed.init_process_group('gloo', store=store, rank=0, world_size=1)
    yield
    torch.distributed.destroy_process_group()


wrappers = dict(peft=adapted, compiled=lambda o: torch.compile(o, backend='eager'),
                processes=nn.parallel.DistributedDataParallel, copies=nn.DataParallel,
                own=Own, forwarding=Forwarding, twice=lambda o: Own(Forwarding(o)))


def text(n, seed=0):
    g = torch.Generator().manual_seed(seed)
    return torch.randint(97, 123, (n,), generator=g).byte()


def trained(wrap, cbs=(), model=None, **options):
    "Weights after an epoch, and the losses of two validations"
    seed_everything(0)
    model = model or LM(256, 16, 1, 2, 'linear', positions=None)
    learn = lm_learner(text_dls(text(300), text(100, 1), bs=2, seq_len=16, device='cpu'),
                       wrap(model), cbs=list(cbs), **options)
    with learn.no_bar(), learn.no_logging():
        learn.fit(1, 1e-2)
        losses = [*learn.validate(),*learn.validate()]
    weights = torch.cat([p.detach().flatten() for k,p in learn.model.named_parameters()
                         if 'lora' not in k])
    return learn,weights,losses


places = {'carry': lambda: dict(carry=True), 'a plain run': dict, 'loss in slices': lambda: dict(cbs=[ChunkedLoss()]),
          'recomputed': lambda: dict(cbs=[Recompute()])}


@pytest.fixture(scope='module')
def alone(): return {place: trained(lambda o: o, **make()) for place,make in places.items()}


@pytest.mark.parametrize('wrapper', wrappers)
@pytest.mark.parametrize('place', places)
def test_training_is_that_of_the_model_alone(place, wrapper, alone, one_process):
    _,weights,losses = alone[place]
    learn,found,measured = trained(wrappers[wrapper], **places[place]())
    assert (weights-found).abs().max()<1e-6
    assert measured==pytest.approx(losses, abs=1e-5) and measured[:2]==measured[2:]
    [inner] = parts_with(learn.model, 'carry_state')
    assert isinstance(inner, LM) and isinstance(inner.vocab, ByteVocab) # what its texts were read with
    assert not inner.carry_state and inner.state is None and inner._compiled_call_impl is None
    options = dict(temperature=0)
    assert learn.predict('abc', 5, **options)=='abc'+inner.generate('abc', 5, **options)


def test_carrying_matters_here(alone):
    assert alone['carry'][2]!=alone['a plain run'][2]


@pytest.mark.parametrize('wrapper', wrappers)
def test_rows_restart_inside(wrapper, one_process):
    found = []
    for wrap in (lambda o: o,wrappers[wrapper]):
        seed_everything(0)
        docs = Documents(Document(name, bytes(text(40, i).tolist())) for i,name in enumerate('abcd'))
        dls = documents_dls(docs[:2], docs[2:], 2, 8, device='cpu')
        model = BlockRecurrentLM(256, 16, 2, 2, window=4, recurrent=(0,))
        for p in list(model.parameters())[1:]: p.requires_grad_(False) # states after the last use have no gradient
        model = wrap(model)
        learn = lm_learner(dls, model, cbs=ResetRows())
        with learn.no_bar(), learn.no_logging(): learn.fit(1, 0.)
        with learn.no_bar(): found.append([*learn.validate()])
    assert found[0]==pytest.approx(found[1], abs=1e-5)


def test_a_state_that_would_be_lost_is_refused():
    for wrap in (Hiding,lambda o: nn.Linear(2, 2)):
        with pytest.raises(ValueError, match='has no `carry_state`, and no module inside it has'):
            trained(wrap, carry=True)
    copies = nn.DataParallel(LM(256, 16, 1, 2))
    copies.device_ids = [0,1]
    with pytest.raises(ValueError, match='DataParallel computes with copies'):
        trained(lambda _: copies, carry=True)


def test_data_of_other_words_is_refused_inside(one_process):
    for wrap in wrappers.values():
        with pytest.raises(ValueError, match='build the model with vocab_sz=256'):
            trained(wrap, model=LM(100, 16, 1, 2))


@pytest.mark.parametrize('attention', ['softmax','linear'])
def test_a_decoder_follows_the_choice_of_an_adapter(attention):
    torch.manual_seed(0)
    settings = peft.LoraConfig(r=2, target_modules=['to_q','to_v'], init_lora_weights=False)
    wrapped = peft.get_peft_model(LM(11, 12, 2, 3, attention, max_len=64), settings)
    wrapped.add_adapter('second', settings)
    wrapped.double().eval()
    decoder = wrapped.decoder(2)
    ids = torch.randint(0, 11, (2,30))

    def check():
        found = torch.stack([decoder.read(ids[:,:9]),*(decoder(ids[:,t]) for t in range(9, 30))], 1)
        torch.testing.assert_close(found, wrapped(ids)[:,8:], atol=1e-9, rtol=0)
    for _ in range(2):
        for name in ('default','second'):
            wrapped.set_adapter(name)
            check()
            with wrapped.disable_adapter(): check()
            check()
            wrapped.merge_adapter()
            check()
            wrapped.unmerge_adapter()
            check()


class Leave(Callback):
    "Leave in the middle of an epoch"
    order = 90
    def after_step(self):
        if self.train_iter==4: raise KeyboardInterrupt


@pytest.mark.parametrize('wrapper', ['peft','own'])
def test_a_run_goes_on_with_its_state(wrapper, tmp_path):
    def make(*cbs):
        seed_everything(0)
        model = wrappers[wrapper](LM(256, 16, 1, 2, 'linear', positions=None))
        return lm_learner(text_dls(text(300), text(100, 1), bs=2, seq_len=16, device='cpu'), model,
                          carry=True, cbs=list(cbs))

    def fit(learn):
        with learn.no_bar(), learn.no_logging(): learn.fit(2, 1e-2)
        return [o.detach() for o in learn.model.parameters()]
    whole = fit(make())
    with pytest.raises(KeyboardInterrupt): fit(make(Checkpoint(tmp_path, every_steps=3), Leave()))
    for a,b in zip(whole, fit(make(Checkpoint(tmp_path)))): assert torch.equal(a, b)

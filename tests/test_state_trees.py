"""Random trees of calls: a text is read on, forked, taken back, saved, loaded, and its rows are selected; after each
call the logits equal those of the same pieces read from the beginning. `python tests/test_state_trees.py 1000` grows
as many trees, over all layers and models, and prints what was called and the largest difference."""
import random, sys, time
from collections import Counter

import pytest
import torch

from reformer_rnn.all import (
    LM, BlockRecurrentLM, EncoderDecoder, RecurrentGPT2, ReformerLM, TransformerXL, attention_layers, byte_gpt2,
    load_state, save_state, select_state)

VOCAB = 13
SIZES = dict(d_model=8, n_heads=2, max_len=400)
OPTIONS = dict(local=dict(window=6), sliding=dict(window=6), rsa_sliding=dict(window=6),
               block_recurrent=dict(window=4), memorizing=dict(window=4, size=8, k_neighbours=2),
               relative=dict(mem_len=5), rsa_relative=dict(mem_len=5), lsh=dict(bucket_size=4))
RECURRENT = [name for name, layer in attention_layers.items() if layer.recurrent]
TURNED = [name for name in RECURRENT if attention_layers[name].projects_keys and name != 'convolved']

def lm(name, **more):
    return LM(VOCAB, n_layers=1, attention=name, **SIZES, **OPTIONS.get(name, {}), **more)

def gpt2(kind):
    return RecurrentGPT2(byte_gpt2(16, 1, 2, 32), kind, window=7, **(dict(m=2) if kind in ('kv', 'rmt') else {}))

MODELS = {f'LM {name}': lambda name=name: lm(name) for name in RECURRENT}
MODELS |= {f'LM {name}, rotary': lambda name=name: lm(name, rotary=100., positions=None) for name in TURNED}
MODELS |= {f'GPT-2 {kind}': lambda kind=kind: gpt2(kind) for kind in ('kv', 'rmt', 'glr', 'lora', 'none')}
MODELS |= {
    'LM mixed': lambda: LM(VOCAB, n_layers=3, attention='gated_delta', at={1: 'softmax', 2: 'lsh'}, **SIZES),
    'LM shared heads': lambda: lm('softmax', kv_heads=1, rotary=100., positions=None, norm_kind='rms'),
    'Transformer-XL': lambda: TransformerXL(VOCAB, 8, 2, 2, 5),
    'Block-Recurrent': lambda: BlockRecurrentLM(VOCAB, 8, 3, 2, 4, recurrent=(-2,)),
    'Reformer': lambda: ReformerLM(VOCAB, 16, 2, 2, max_len=256)}
SEQ2SEQ = {f'encoder-decoder {name}': lambda name=name: EncoderDecoder(
    VOCAB, n_layers=1, attention='softmax', decoder_attention=(name, OPTIONS.get(name, {})), **SIZES)
    for name in RECURRENT}

class Growing:
    "A branch of a tree; `pieces` are what was read, as far as it was not taken back"
    def __init__(self, model, file, how): self.model, self.file, self.how = model, file, how

    def token(self, rows): return torch.randint(VOCAB, (rows, 1))

class DecoderBranch(Growing):
    "A decoder"
    def start(self):
        self.pieces = []
        self.decoder = self.new(2)
        self.read(random.randint(1, 9))
        return self

    def new(self, batch):
        capacity = dict(capacity=300) if self.how == 'fixed' else {}
        decoder = self.model.decoder(batch, keep=9, **capacity)
        if self.how == 'fixed': decoder.recorded_on = 'cpu', 'cuda'
        return decoder

    def read(self, n):
        ids = torch.randint(VOCAB, (self.decoder.batch, n))
        state = self.decoder.state if self.pieces else None
        self.logits = self.decoder.read(ids, state=state)
        self.pieces = [*self.pieces, ids]

    def tokens(self, n):
        for _ in range(n):
            ids = self.token(self.decoder.batch)
            self.logits = self.decoder(ids)
            self.pieces = [*self.pieces, ids]

    def fork(self):
        new = type(self)(self.model, self.file, self.how)
        new.decoder, new.pieces = self.decoder.fork(), self.pieces
        new.tokens(1)
        return new

    def back(self):
        past = self.decoder.past
        single = next((i for i, o in enumerate(self.pieces[::-1]) if o.shape[1] > 1), len(self.pieces))
        most = min(single, past.n-past.oldest) if past else single
        if not most or sum(o.shape[1] for o in self.pieces) <= most: return self.tokens(2)
        n = random.randint(1, most)
        self.decoder.roll_back(n)
        self.pieces = self.pieces[:-n]
        self.tokens(1)

    def save(self):
        save_state(self.model, self.decoder.state, self.file)
        state = load_state(self.model, self.file)
        self.decoder = self.new(self.decoder.batch)
        self.decoder.go_on(state)
        self.tokens(1)

    def batch(self):
        rows = random.choices(range(self.decoder.batch), k=random.randint(1, 3))
        state = select_state(self.decoder.state, rows)
        self.decoder = self.new(len(rows))
        self.decoder.go_on(state)
        self.pieces = [o[rows] for o in self.pieces]
        self.tokens(1)

    @torch.no_grad()
    def again(self):
        state = None
        for o in self.pieces: logits, state = self.model.next_logits(o, state)
        return logits

class StateBranch(Growing):
    "States as values, of `step`, from one piece to the next"
    def start(self):
        self.source = torch.randint(VOCAB, (2, 7))
        self.past = [self.begin()]
        self.pieces = []
        self.read(3)
        return self

    @torch.no_grad()
    def begin(self): return self.model.encode(self.source) if hasattr(self.model, 'encode') else None

    @torch.no_grad()
    def read(self, n):
        n = min(n, getattr(self.model, 'window', n)) if self.how == 'step' else n
        ids = torch.randint(VOCAB, (self.source.shape[0], n))
        logits, state = self.model.step(ids, self.past[-1])
        self.logits = logits[:, -1]
        self.past, self.pieces = [*self.past, state], [*self.pieces, ids]

    def tokens(self, n):
        for _ in range(n): self.read(1)

    def fork(self):
        new = type(self)(self.model, self.file, self.how)
        new.__dict__ |= self.__dict__
        new.tokens(1)
        return new

    def back(self):
        n = random.randint(0, len(self.pieces)-1)
        self.past, self.pieces = self.past[:n+1], self.pieces[:n]
        self.tokens(1)

    def save(self):
        save_state(self.model, self.past[-1], self.file)
        self.past = [*self.past[:-1], load_state(self.model, self.file)]
        self.tokens(1)

    def batch(self):
        rows = random.choices(range(self.source.shape[0]), k=random.randint(1, 3))
        self.past = [select_state(o, rows) for o in self.past]
        self.pieces, self.source = [o[rows] for o in self.pieces], self.source[rows]
        self.tokens(1)

    @torch.no_grad()
    def again(self):
        state = self.begin()
        for o in self.pieces: logits, state = self.model.step(o, state)
        return logits[:, -1]

KINDS = [(name, how) for name in MODELS for how in ('tape', 'fixed', 'step')
         if not (how == 'fixed' and name.startswith('GPT-2'))]
KINDS += [(name, 'step') for name in SEQ2SEQ]

def grow(name, how, seed, file, calls):
    "Grow a tree of so many calls; returns their names and the largest difference"
    random.seed(seed)
    torch.manual_seed(seed)
    model = (MODELS | SEQ2SEQ)[name]().double().eval()
    with torch.no_grad():  # of memories that are added, some begin at zero
        for o in model.parameters(): o.add_(.2*torch.randn_like(o))
    branches = [(StateBranch if how == 'step' else DecoderBranch)(model, file, how).start()]
    done, worst = Counter(), 0.
    for _ in range(calls):
        call = random.choice(('read', 'tokens', 'fork', 'back', 'save', 'batch'))
        branch = random.choice(branches)
        if call == 'fork':
            branch = branch.fork()
            branches.append(branch)
        else: getattr(branch, call)(*([random.randint(1, 4)] if call in ('read', 'tokens') else []))
        done[call] += 1
        worst = max(worst, (branch.logits-branch.again()).abs().max().item())
    return done, worst

@pytest.mark.parametrize('how', ['tape', 'fixed', 'step'])
def test_some_trees(how, tmp_path):
    "A few calls of every layer and every model, each in one of the three ways"
    for i, name in enumerate([*MODELS, *SEQ2SEQ]):
        ways = [o for o in ('tape', 'fixed', 'step') if (name, o) in KINDS]
        if ways[i % len(ways)] != how: continue
        done, worst = grow(name, how, i, tmp_path/'state', 6)
        assert worst < 1e-10, (name, how, done, worst)

if __name__ == '__main__':
    import tempfile
    trees = int(sys.argv[1])
    folder, start, all_done, worst = tempfile.mkdtemp(), time.time(), Counter(), Counter()
    for i in range(trees):
        name, how = KINDS[i % len(KINDS)]
        try: done, difference = grow(name, how, i, f'{folder}/state', 8)
        except Exception as e:
            print('FAILED', name, how, i, type(e).__name__, e, flush=True)
            if '-x' in sys.argv: raise
            continue
        all_done += done
        worst[name, how] = max(worst[name, how], difference)
        if difference > 1e-10: print('FAILED', name, how, i, difference, flush=True)
        if i % 100 == 99: print(i+1, 'trees', sum(all_done.values()), 'calls', max(worst.values()), flush=True)
    print(trees, 'trees', len(KINDS), 'kinds', dict(all_done), sum(all_done.values()), 'calls')
    print('largest difference', worst.most_common(3), f'{time.time()-start:.0f} s')

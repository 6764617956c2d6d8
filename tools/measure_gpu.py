"""What the attention functions and models cost on a GPU, beside what is asked of them: whoever has one for ten minutes
runs this.

    python tools/measure_gpu.py --out results/gpu.json

First come errors, then times of the plain forms, of training and of tokens, and last what flash-linear-attention and
FlexAttention compute, one rule after the other, since they take up to two minutes to tune themselves for each. Every
row is printed and stored as soon as it is there, with its target. After eight minutes no row begins any more; the same
command then measures what is missing. The end is a table of all targets."""
import argparse, json, os, time
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Callable, NamedTuple

os.environ.setdefault('TRITON_CACHE_AUTOTUNING', '1')  # a second run has not to tune again

import torch
import torch.nn.functional as F

from reformer_rnn.core import record_choices, repeat_choices
from reformer_rnn.files import read_json, write_json
from reformer_rnn.attention.backend import attention_kernels, kernels_used
from reformer_rnn.attention.decay import decay_attention
from reformer_rnn.attention.delta import delta_attention
from reformer_rnn.attention.forms import Traffic
from reformer_rnn.attention.linear import linear_attention
from reformer_rnn.attention.local import local_attention
from reformer_rnn.attention.lsh import lsh_attention
from reformer_rnn.attention.rem import rem_mix
from reformer_rnn.models.lm import LM
from reformer_rnn.papers.speed import byte_model, recurrent_layers
from reformer_rnn.runs.measure import in_turns, peak_bytes
from reformer_rnn.runs.record import environment

# Milliseconds of both passes, of 4 sequences, 16 heads, 4,096 positions and width 64 in bfloat16, on an H100 or H200
BOTH_PASSES = {('linear', 'plain'): 3., ('delta', 'plain'): 8., ('local, 512', 'plain'): 1.5,
               ('local, 512', 'flex'): 1.5, ('hashed, 4 rounds', 'plain'): 9.,
               ('linear', 'fla'): 1.8, ('delta', 'fla'): 3.3, ('gated delta', 'fla'): 5.}
TIMES_SOFTMAX = dict.fromkeys(('linear', 'delta', 'gated_delta', 'retention', 'gated_linear'), .8)  # of its tokens/s
TOKEN = (dict.fromkeys(('softmax', 'linear', 'local', 'gated_delta'), .5)
         | dict.fromkeys(('lsh', 'rsa', 'block_recurrent'), 1.))  # milliseconds at batch 1
# Models by the rule of flash-linear-attention that computes them there
TUNED = {'linear': ['linear', 'convolved'], 'delta': ['delta', 'delta_product'], 'gated delta': ['gated_delta'],
         'decay for each head': ['retention'], 'decay for each channel': ['gated_linear']}

def fused(q, k, v): return F.scaled_dot_product_attention(q, k, v, is_causal=True)

def functions(backend):
    "Name -> (rule, function, letters of its arguments)"
    how = dict(backend=backend)
    return {
        'linear': ('linear', lambda q, k, v: linear_attention(q, k, v, causal=True, **how)[0], 'q k v'),
        'decay for each head': ('decay', lambda q, k, v, a: decay_attention(q, k, v, decay=a, **how)[0], 'q k v a'),
        'decay for each channel': ('decay', lambda q, k, v, A: decay_attention(q, k, v, decay=A, **how)[0], 'q k v A'),
        'delta': ('delta', lambda q, u, v, b: delta_attention(q, u, v, b, **how)[0], 'q u v b'),
        'gated delta': ('delta', lambda q, u, v, b, a: delta_attention(q, u, v, b, decay=a, **how)[0], 'q u v b a'),
        'local, 512': ('local', lambda q, k, v: local_attention(q, k, v, window=512, **how)[0], 'q k v'),
        'hashed, 4 rounds': ('lsh', lambda q, v: lsh_attention(q, v, n_hashes=4, causal=True, **how)[0], 'q v'),
        'hashed, 1 round': ('lsh', lambda q, v: lsh_attention(q, v, n_hashes=1, causal=True, **how)[0], 'q v')}

def inputs(device, dtype, b, h, n, d):
    "Random tensors by letter; decays and rates are float32, as layers compute them"
    make = partial(torch.randn, device=device)
    rates = partial(torch.rand, device=device)
    xs = dict(q=make(b, h, n, d), k=make(b, h, n, d), v=make(b, h, n, d), u=F.normalize(make(b, h, n, d), dim=-1))
    xs = {name: x.to(dtype) for name, x in xs.items()}
    xs |= dict(b=rates(b, h, n), a=.8+.2*rates(b, h, n), A=.8+.2*rates(b, h, n, d))
    return {name: x.requires_grad_() for name, x in xs.items()}

def milliseconds(calls, rounds, device):
    "Name -> median, of calls that take turns"
    found = in_turns(calls, rounds, warmup=3, device=device)
    return {name: 1e3*seconds.record['median'] for name, seconds in found.items()}

def peak_mib(call, device):
    "By PyTorch's account of a GPU"
    return None if device == 'cpu' else peak_bytes(lambda: call, device=device)/2**20

def measure_function(f, xs, rounds, device):
    "The forward pass and both passes of a function, with launches and memory"
    g = torch.randn_like(f(*xs))
    def both(): torch.autograd.grad(f(*xs), xs, g)
    forward = torch.no_grad()(lambda: f(*xs))
    with kernels_used() as used: both()
    with Traffic() as there: out = f(*xs)
    with Traffic() as back: torch.autograd.grad(out, xs, g)
    return dict(kernels=used, ms=milliseconds(dict(forward=forward, both=both), rounds, device),
                launches=dict(forward=there.calls, backward=back.calls), peak_mib=peak_mib(both, device))

def errors_of(name, kernels, args):
    """Kernel -> errors of output and gradients on a short sequence, relative to the largest value in float64 on a CPU.
    Heads and widths are those of the times, for which kernels tune themselves."""
    torch.manual_seed(0)
    dtype = getattr(torch, args.dtype)
    given = {letter: x.detach() for letter, x in inputs('cpu', dtype, 1, args.heads, 300, args.width).items()}
    def results(backend, place, xs):
        _, f, letters = functions(backend)[name]
        own = [xs[o].to(place).requires_grad_() for o in letters.split()]
        out = f(*own)
        return [o.detach().cpu().double() for o in (out, *torch.autograd.grad(out.float().square().sum(), own))]
    with record_choices() as made: wanted = results('plain', 'cpu', {o: x.double() for o, x in given.items()})
    def errors(kernel):
        with repeat_choices([o.to(args.device) for o in made]): found = results(kernel, args.device, given)
        return [((a-b).abs().max()/b.abs().max()).item() for a, b in zip(found, wanted)]
    return {kernel: errors(kernel) for kernel in kernels}

def beside_plain(name, kernel, args):
    "Errors of a kernel, and how many times those of the plain form they are, where these are not below rounding"
    found = errors_of(name, ('plain', kernel), args)
    least = torch.finfo(getattr(torch, args.dtype)).eps/4
    return found | dict(ratio=max(a/max(b, least) for a, b in zip(found[kernel], found['plain'])))

def gradient_error(layer, device):
    "Difference of all gradients of a model in bfloat16 to those in float64 on a CPU, relative to their norm"
    torch.manual_seed(0)
    model = LM(60, 64, 2, 4, layer, max_len=150)
    ids = torch.randint(60, (2, 150))
    def gradients(dtype, place):
        own = model.to(place, dtype)
        logits = own(ids.to(place)).double().flatten(0, 1)
        found = torch.autograd.grad(F.cross_entropy(logits, ids.to(place).flatten()), [*own.parameters()])
        return torch.cat([o.flatten().double().cpu() for o in found])
    model.to(torch.bfloat16)  # both begin with the same weights
    with record_choices() as made: wanted = gradients(torch.float64, 'cpu')
    with repeat_choices([o.to(device) for o in made]): found = gradients(torch.bfloat16, device)
    return dict(error=((found-wanted).norm()/wanted.norm()).item())

def model_of(name, size, room=0):
    "A model of bytes whose blocks all have a layer"
    sizes = SimpleNamespace(d_model=size['width'], n_heads=8, window=min(128, size['length']//2))
    return byte_model(sizes, name, size['length']+room, n_layers=size['blocks'])

def train_speed(name, device, rounds, size):
    "Tokens per second of training, in bfloat16 by autocast"
    b, n = size['batch'], size['length']
    model = model_of(name, size).train().to(device)
    optimiser = torch.optim.AdamW(model.parameters(), fused=device == 'cuda')
    ids = torch.randint(0, 256, (b, n), device=device)
    def step():
        optimiser.zero_grad()
        with torch.autocast(device, torch.bfloat16): logits = model(ids)
        F.cross_entropy(logits.float().flatten(0, 1), ids.flatten()).backward()
        optimiser.step()
    with kernels_used() as used: step()
    ms = milliseconds(dict(step=step), rounds, device)['step']
    return dict(kernels=used, tokens_per_second=round(1e3*b*n/ms), peak_mib=peak_mib(step, device))

def token_speed(name, device, rounds, size):
    "Milliseconds of one more token, at batch 1, in bfloat16"
    room = 4*rounds+100
    model = model_of(name, size, room).to(device, torch.bfloat16)
    # a layer that works in blocks would record a graph in every call here
    decoder = model.decoder(1, capacity=None if model.one_length else size['length']+room)
    ids = torch.zeros(1, size['length'], dtype=torch.long, device=device)
    decoder.read(ids)
    return dict(ms=milliseconds(dict(token=lambda: decoder(ids[:, 0])), 4*rounds, device)['token'])

# Models: six blocks of the size of a small language model, or what a processor tries in seconds
SIZES = {False: dict(batch=16, length=1024, width=512, blocks=6), True: dict(batch=1, length=32, width=16, blocks=1)}

class Row(NamedTuple):
    "A measurement, and what is asked of it"
    name: str
    kernel: str
    measure: Callable  # () -> dict
    value: Callable = None  # Of that dict and the rows before: the number to judge
    unit: str = ''
    most: float = None  # Target: at most
    least: float = None  # Target: at least

    def judge(self, found, rows):
        "The number beside its target; nothing where nothing is asked"
        if self.most is None and self.least is None: return {}
        value = self.value(found, rows)
        if value is None: return {}
        if self.least is None: target, met = f'at most {self.most}', value <= self.most
        else: target, met = f'at least {self.least}', value >= self.least
        return dict(value=value, target=f'{target} {self.unit}', met=met)

def of_softmax(found, rows):
    "Tokens per second, beside those of the model of softmax attention"
    known = [o['tokens_per_second'] for o in rows if o['name'] == 'training softmax' and 'tokens_per_second' in o]
    return found['tokens_per_second']/known[0] if known else None

def function_row(args, name, kernel, xs):
    "Times of a function"
    _, f, letters = functions(kernel)[name]
    measure = lambda: measure_function(f, [xs[o] for o in letters.split()], args.rounds, args.device)
    return Row(name, kernel, measure, lambda found, _: found['ms']['both'], 'ms',
               BOTH_PASSES.get((name, kernel)))

def model_rows(args, names, speeds):
    "Times of training and of a token"
    size = SIZES[args.try_it]
    for name in names:
        if args.layers and name not in args.layers: continue
        if 'training' in speeds:
            yield Row(f'training {name}', 'auto', lambda: train_speed(name, args.device, args.rounds, size), of_softmax,
                      "of softmax's tokens", least=TIMES_SOFTMAX.get(name))
        if 'token' in speeds:
            yield Row(f'token {name}', 'auto', lambda: token_speed(name, args.device, args.rounds, size),
                      lambda found, _: found['ms'], 'ms', TOKEN.get(name))

def rows(args):
    "All measurements, in the order in which they are made"
    xs = inputs(args.device, getattr(torch, args.dtype), args.batch, args.heads, args.length, args.width)
    plain = functions('plain')
    tuned = [o for names in TUNED.values() for o in names]
    untuned = [o for o in recurrent_layers() if o not in tuned]
    untuned.sort(key=lambda o: o not in TOKEN)  # first what something is asked of
    yield Row('gradients of rsa', 'auto', lambda: gradient_error('rsa', args.device), lambda found, _: found['error'],
              'of their norm', .05)
    for name in plain:
        yield Row(f'error of {name}', 'plain', lambda: errors_of(name, ('plain',), args))
    yield Row('fused attention', 'torch',
              lambda: measure_function(fused, [xs[o] for o in 'qkv'], args.rounds, args.device))
    for name in plain: yield function_row(args, name, 'plain', xs)
    yield Row('matrices of recurrences', 'plain', lambda: measure_function(
        lambda v: rem_mix(v, 'regular', decay=.9)[0], [xs['v']], args.rounds, args.device))
    asked = [o for o in untuned if o in TOKEN]
    yield from model_rows(args, asked, ('training', 'token'))
    for name in ('local, 512', *TUNED):
        rule = plain[name][0]
        for kernel in [o for o in attention_kernels(rule) if o not in ('plain', 'tiles')]:
            yield Row(f'error of {name}', kernel, lambda: beside_plain(name, kernel, args),
                      lambda found, _: found['ratio'], "times the plain form's", 2.)
            yield function_row(args, name, kernel, xs)
        yield from model_rows(args, TUNED.get(name, ()), ('training', 'token'))
    yield from model_rows(args, [o for o in untuned if o not in TOKEN], ('training', 'token'))

def summary(rows):
    "All targets, with what was measured"
    for row in rows:
        if 'target' in row:
            met = 'met' if row['met'] else 'MISSED'
            print(f"{row['name']:32}{row['kernel']:8}{row['value']:10.3g}  {row['target']:36}{met}")
    for what in ('refused', 'left'):
        names = [f"{row['name']} ({row['kernel']}): {row[what]}" for row in rows if what in row]
        if names: print(f'{what}:', *names, sep='\n  ')

def main(given=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--out', type=Path, default=Path('results/gpu.json'), help='JSON file')
    parser.add_argument('--batch', type=int, default=4)
    parser.add_argument('--heads', type=int, default=16)
    parser.add_argument('--length', type=int, default=4096)
    parser.add_argument('--width', type=int, default=64)
    parser.add_argument('--dtype', default='bfloat16')
    parser.add_argument('--rounds', type=int, default=10)
    parser.add_argument('--minutes', type=float, default=8, help='after which no row begins')
    parser.add_argument('--layers', nargs='*', help='of the models; all recurrent ones by default')
    parser.add_argument('--device', choices=('cuda', 'cpu'), default='cuda', help='cpu only to try it')
    parser.add_argument('--try', dest='try_it', action='store_true', help='everything once, in the smallest size')
    args = parser.parse_args(given)
    if args.try_it: args.batch, args.heads, args.length, args.width, args.rounds = 1, 2, 64, 16, 1
    if args.device == 'cuda' and not torch.cuda.is_available():
        parser.error('there is no CUDA device here; try the script with --device cpu --try')
    record = go_on(args)
    known = {(row['name'], row['kernel']): row for row in record['rows'] if not {'refused', 'left'} & row.keys()}
    record['rows'] = []
    began = time.perf_counter()
    for row in rows(args):
        record['rows'].append(known.get((row.name, row.kernel)) or measure_row(row, record['rows'], began, args))
        write_json(args.out, record)
    summary(record['rows'])

def go_on(args):
    "The record of an earlier run with the same code, device and settings, or a new one"
    config = {key: value for key, value in vars(args).items() if key != 'minutes'} | dict(out=str(args.out))
    new = dict(environment=environment(args.device), config=config, rows=[])
    old = read_json(args.out) if args.out.exists() else new
    same = [(o['config'], *(o['environment'][k] for k in ('commit', 'device', 'torch'))) for o in (old, new)]
    return old if same[0] == same[1] else new

def measure_row(row, before, began, args):
    "Measure and print a row, unless the time is over"
    start = time.perf_counter()
    try: found = dict(left='no time') if start-began > 60*args.minutes else row.measure()
    except Exception as e: found = dict(refused=str(e).split('\n')[0][:300])
    judged = {} if {'refused', 'left'} & found.keys() else row.judge(found, before)
    shown = dict(name=row.name, kernel=row.kernel, seconds=round(time.perf_counter()-start, 2)) | found | judged
    print(json.dumps(shown), flush=True)
    return shown

if __name__ == '__main__': main()

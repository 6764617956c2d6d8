"""What the attention functions cost on a GPU: by every kernel that can compute them, beside PyTorch's fused attention.

    python tools/measure_gpu.py --out results/gpu.json

It uses flash-linear-attention where it is installed. Every row is printed and stored as soon as it is there, so that a
run which is cut short loses nothing. First come the plain forms and models, then the kernels that have to be compiled,
which takes up to a minute each."""
import argparse, json, time
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import torch
import torch.nn.functional as F

from reformer_rnn.core import record_choices, repeat_choices
from reformer_rnn.files import write_json
from reformer_rnn.attention.backend import attention_kernels, kernels_used
from reformer_rnn.attention.decay import decay_attention
from reformer_rnn.attention.delta import delta_attention
from reformer_rnn.attention.forms import Traffic
from reformer_rnn.attention.linear import linear_attention
from reformer_rnn.attention.local import local_attention
from reformer_rnn.attention.lsh import lsh_attention
from reformer_rnn.attention.rem import rem_mix
from reformer_rnn.papers.speed import byte_model, recurrent_layers
from reformer_rnn.runs.measure import in_turns, peak_bytes
from reformer_rnn.runs.record import environment

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

def error_of(name, backend, device, dtype):
    "Largest error of output and gradients on a small case, relative to the largest value in float64 on a CPU"
    torch.manual_seed(0)
    exact = {letter: x.detach().double() for letter, x in inputs('cpu', dtype, 1, 2, 300, 64).items()}
    def results(backend, place, xs):
        _, f, letters = functions(backend)[name]
        own = [xs[o].to(place).requires_grad_() for o in letters.split()]
        out = f(*own)
        return [o.detach().cpu().double() for o in (out, *torch.autograd.grad(out.float().square().sum(), own))]
    given = {letter: x if letter in 'aAb' else x.to(dtype) for letter, x in exact.items()}
    with record_choices() as made: wanted = results('plain', 'cpu', exact)
    with repeat_choices([o.to(device) for o in made]):
        found = results(backend, device, {o: x.float() if o in 'aAb' else x for o, x in given.items()})
    return [((a-b).abs().max()/b.abs().max()).item() for a, b in zip(found, wanted)]

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
    ms = milliseconds(dict(step=step), rounds, device)['step']
    return dict(tokens_per_second=round(1e3*b*n/ms), peak_mib=peak_mib(step, device))

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

def rows(args, device):
    "All measurements, in the order in which they are made"
    dtype = getattr(torch, args.dtype)
    xs = inputs(device, dtype, args.batch, args.heads, args.length, args.width)
    def function(name, kernel):
        rule, f, letters = functions(kernel)[name]
        return lambda: measure_function(f, [xs[o] for o in letters.split()], args.rounds, device)
    yield 'fused attention', 'torch', lambda: measure_function(fused, [xs[o] for o in 'qkv'], args.rounds, device)
    plain = functions('plain')
    for name in plain: yield name, 'plain', function(name, 'plain')
    yield 'matrices of recurrences', 'plain', lambda: measure_function(
        lambda v: rem_mix(v, 'regular', decay=.9)[0], [xs['v']], args.rounds, device)
    for name in plain: yield f'error of {name}', 'plain', lambda: dict(errors=error_of(name, 'plain', device, dtype))
    for what, speed in dict(training=train_speed, token=token_speed).items():
        for name in args.layers or recurrent_layers():
            yield f'{what} {name}', 'auto', lambda: speed(name, device, args.rounds, SIZES[args.try_it])
    for name, (rule, _, _) in sorted(plain.items(), key=lambda o: o[0] not in ('local, 512', 'linear', 'delta')):
        for kernel in [o for o in attention_kernels(rule) if o not in ('plain', 'tiles')]:
            yield name, kernel, function(name, kernel)
            yield f'error of {name}', kernel, lambda: dict(errors=error_of(name, kernel, device, dtype))

def main(given=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--out', type=Path, default=Path('results/gpu.json'), help='JSON file')
    parser.add_argument('--batch', type=int, default=4)
    parser.add_argument('--heads', type=int, default=16)
    parser.add_argument('--length', type=int, default=4096)
    parser.add_argument('--width', type=int, default=64)
    parser.add_argument('--dtype', default='bfloat16')
    parser.add_argument('--rounds', type=int, default=10)
    parser.add_argument('--layers', nargs='*', help='of the models; all recurrent ones by default')
    parser.add_argument('--device', choices=('cuda', 'cpu'), default='cuda', help='cpu only to try it')
    parser.add_argument('--try', dest='try_it', action='store_true', help='everything once, in the smallest size')
    args = parser.parse_args(given)
    if args.try_it: args.batch, args.heads, args.length, args.width, args.rounds = 1, 2, 64, 16, 1
    device = args.device
    if device == 'cuda' and not torch.cuda.is_available():
        parser.error('there is no CUDA device here; try the script with --device cpu --try')
    record = dict(environment=environment(device), config=vars(args), rows=[])
    for name, kernel, measure in rows(args, device):
        start = time.perf_counter()
        try: found = measure()
        except (ValueError, RuntimeError) as e: found = dict(refused=str(e).split('\n')[0][:300])
        row = dict(name=name, kernel=kernel, seconds=round(time.perf_counter()-start, 2)) | found
        print(json.dumps(row), flush=True)
        record['rows'].append(row)
        write_json(args.out, record)

if __name__ == '__main__': main()

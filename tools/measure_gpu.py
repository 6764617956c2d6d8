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

def train_speed(name, device, rounds, b=16, n=1024):
    "Tokens per second of training a model of six blocks, width 512, in bfloat16 by autocast"
    sizes = SimpleNamespace(d_model=512, n_heads=8, window=128)
    model = byte_model(sizes, name, n, n_layers=6).train().to(device)
    optimiser = torch.optim.AdamW(model.parameters(), fused=device == 'cuda')
    ids = torch.randint(0, 256, (b, n), device=device)
    def step():
        optimiser.zero_grad()
        with torch.autocast(device, torch.bfloat16): logits = model(ids)
        F.cross_entropy(logits.float().flatten(0, 1), ids.flatten()).backward()
        optimiser.step()
    ms = milliseconds(dict(step=step), rounds, device)['step']
    return dict(tokens_per_second=round(1e3*b*n/ms), peak_mib=peak_mib(step, device))

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
    for name in recurrent_layers(): yield f'training {name}', 'auto', lambda: train_speed(name, device, args.rounds)
    for name, (rule, _, _) in sorted(plain.items(), key=lambda o: o[0] not in ('local, 512', 'linear', 'delta')):
        for kernel in [o for o in attention_kernels(rule) if o not in ('plain', 'tiles')]:
            yield name, kernel, function(name, kernel)
            yield f'error of {name}', kernel, lambda: dict(errors=error_of(name, kernel, device, dtype))

def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--out', type=Path, default=Path('results/gpu.json'), help='JSON file')
    parser.add_argument('--batch', type=int, default=4)
    parser.add_argument('--heads', type=int, default=16)
    parser.add_argument('--length', type=int, default=4096)
    parser.add_argument('--width', type=int, default=64)
    parser.add_argument('--dtype', default='bfloat16')
    parser.add_argument('--rounds', type=int, default=10)
    parser.add_argument('--device', choices=('cuda', 'cpu'), default='cuda', help='cpu only to try it, in small sizes')
    args = parser.parse_args()
    device = args.device
    if device == 'cuda' and not torch.cuda.is_available():
        parser.error('there is no CUDA device here; try the script with --device cpu and small sizes')
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

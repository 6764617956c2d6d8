"""What the kernels for a CPU earn beside the plain forms, and how long a compiler takes for a model of each layer.

    python tools/measure_kernels.py pairs --out nbs/15_kernels/results/pairs.json
    python tools/measure_kernels.py compile --out nbs/15_kernels/results/compile.json

Kernel and plain form take turns in one process; peak memory is that of a fresh process for each. Times are those of
the processor. A compiler works in a fresh process with an empty cache, and what it starts counts. Every row is printed
and stored as soon as it is there; rows that a file has already are not measured again."""
import argparse, json, os, resource, subprocess, sys, tempfile
from functools import partial
from pathlib import Path

import torch
import torch.nn.functional as F

from reformer_rnn.attention.layer import attention_layers, register_layers
from reformer_rnn.attention.decay import decay_attention
from reformer_rnn.attention.delta import delta_attention
from reformer_rnn.attention.linear import linear_attention
from reformer_rnn.attention.lsh import lsh_attention
from reformer_rnn.files import read_json, write_json
from reformer_rnn.models.lm import LM
from reformer_rnn.runs.measure import both_passes, in_turns, peak_bytes
from reformer_rnn.runs.record import environment

BATCH, HEADS, WIDTH = 1, 8, 64
LENGTHS = 256, 1024, 4096

def decays(*shape): return (.8+.2*torch.rand(shape)).requires_grad_()

def decaying(name, a, q, k, v): return decay_attention(q, k, v, decay=a, backend=name)[0]

def functions(n):
    "Name -> (function of a kernel's name and tensors, these tensors; the last has the shape of the output)"
    torch.manual_seed(0)
    shape = BATCH, HEADS, n, WIDTH
    q, k, v = (torch.randn(shape, requires_grad=True) for _ in range(3))
    unit = F.normalize(k.detach(), dim=-1).requires_grad_()
    beta = torch.rand(shape[:3], requires_grad=True)
    head, channel = decays(*shape[:3]), decays(*shape)
    return {
        'linear': (lambda name, q, k, v: linear_attention(q, k, v, causal=True, backend=name)[0], (q, k, v)),
        'a decay for each head': (decaying, (head, q, k, v)),
        'a decay for each channel': (decaying, (channel, q, k, v)),
        'delta': (lambda name, b, q, k, v: delta_attention(q, k, v, b, backend=name)[0], (beta, q, unit, v)),
        'gated delta': (lambda name, a, b, q, k, v: delta_attention(q, k, v, b, decay=a, backend=name)[0],
                        (head, beta, q, unit, v)),
        **{f'hashed, {R} rounds': (partial(lambda R, name, q, v: lsh_attention(
            q, v, n_hashes=R, causal=True, backend=name)[0], R), (q, v)) for R in (1, 4)}}

def training_call(n, rule, name):
    "Both passes of one kernel"
    f, xs = functions(n)[rule]
    return both_passes(partial(f, name), *xs)

def pairs(args):
    "Key -> measurement"
    for n in LENGTHS:
        for rule in functions(16): yield dict(rule=rule, n=n), partial(measure_pair, args, n, rule)

def measure_pair(args, n, rule):
    "Seconds of both kernels in turns, and their peak memory"
    calls = {name: training_call(n, rule, name) for name in ('plain', 'tiles')}
    f, xs = functions(n)[rule]
    forward = {name: torch.no_grad()(partial(f, name, *xs)) for name in calls}
    found = {}
    for what, own in dict(both=calls, forward=forward).items():
        for name, seconds in in_turns(own, args.rounds).items(): found[f'{what}_{name}'] = seconds.record['median']
    for name in calls: found[f'mib_{name}'] = round(peak_bytes(training_call, n, rule, name)/2**20, 1)
    return found

def compiling(args):
    "Key -> measurement"
    register_layers()
    for name in sorted(attention_layers):
        yield dict(layer=name, n=args.length), partial(in_fresh_process, name, args.length)

def in_fresh_process(name, n):
    "What `compile_once` prints"
    with tempfile.TemporaryDirectory() as cache:
        env = os.environ | dict(TORCHINDUCTOR_CACHE_DIR=cache, TORCHINDUCTOR_COMPILE_THREADS='1', OMP_NUM_THREADS='1')
        command = [sys.executable, __file__, 'once', '--layer', name, '--length', str(n)]
        done = subprocess.run(command, env=env, capture_output=True, text=True)
    if done.returncode: return dict(failed=done.stderr.strip().split('\n')[-1][:300])
    return json.loads(done.stdout.strip().split('\n')[-1])

def used():
    "Seconds of the processor: own ones, and those of processes that have ended"
    found = [resource.getrusage(o) for o in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return [o.ru_utime+o.ru_stime for o in found]

def compile_once(args):
    "One training step of a compiled model, traced whole"
    torch.manual_seed(0)
    model = LM(60, 64, 2, 4, args.layer, max_len=args.length)
    ids = torch.randint(60, (2, args.length))
    def step(f): F.cross_entropy(f(ids).flatten(0, 1), ids.flatten()).backward()
    step(model)
    before = used()
    step(torch.compile(model, fullgraph=True))
    own, others = (b-a for a, b in zip(before, used()))
    print(json.dumps(dict(seconds=round(own+others, 1), of_the_c_compiler=round(others, 1))))

def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('what', choices=('pairs', 'compile', 'once'))
    parser.add_argument('--out', type=Path, help='JSON file')
    parser.add_argument('--rounds', type=int, default=5)
    parser.add_argument('--length', type=int, default=256, help='tokens of a sequence, for compile')
    parser.add_argument('--layer', help='for once')
    parser.add_argument('--only', nargs='*', help='layers or rules; all by default')
    args = parser.parse_args()
    torch.set_num_threads(1)
    if args.what == 'once': return compile_once(args)
    record = read_json(args.out) if args.out.exists() else dict(environment=environment('cpu'), rows=[])
    for key, measure in dict(pairs=pairs, compile=compiling)[args.what](args):
        known = any(key.items() <= row.items() for row in record['rows'])
        if known or args.only and not set(args.only) & set(map(str, key.values())): continue
        row = key | measure()
        print(json.dumps(row), flush=True)
        record['rows'].append(row)
        args.out.parent.mkdir(parents=True, exist_ok=True)
        write_json(args.out, record)

if __name__ == '__main__': main()

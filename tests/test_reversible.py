"Reversible stacks in processes of their own: peak memory, and distributed training."
from pathlib import Path

import pytest
from conftest import forked_script

PEAK = """
import ctypes,sys,torch
from pathlib import Path
from reformer_rnn.attention.lsh import LSHAttention
from reformer_rnn.blocks.reversible import ReversibleStack
from reformer_rnn.blocks.transformer import Block
# By default glibc keeps freed blocks of up to 32 MB, and the gaps between them count as memory in use.
M_MMAP_THRESHOLD = -3
ctypes.CDLL(None).mallopt(M_MMAP_THRESHOLD, 65536)
torch.set_num_threads(1)
depth,reversible = int(sys.argv[1]),sys.argv[2]=='True'
def block(): return Block(LSHAttention(256, 4, max_len=1024), dropout=.1, ff_chunks=4)
stack = ReversibleStack((block() for _ in range(depth)), reversible)
for p in stack.parameters(): p.grad = torch.zeros_like(p) # weights and their gradients are no activations
def mark(name):
    lines = Path('/proc/self/status').read_text().splitlines()
    return next(int(l.split()[1]) for l in lines if l.startswith(name+':'))
def step(n): stack(torch.randn(1, n, 256), keep_states=False)[0].square().mean().backward()
step(64) # what is allocated once
Path('/proc/self/clear_refs').write_text('5') # forget the peak
before = mark('VmRSS')
step(1024)
print(mark('VmHWM')-before-sum(p.nbytes for p in stack.parameters() if reversible)/1024)
"""

def printed(code, folder, *args):
    "What a script prints in a process of its own."
    script = folder/'script.py'
    script.write_text(code)
    ran = forked_script(script, folder, *args)
    assert not ran.returncode, ran.stderr
    return ran.stdout

@pytest.mark.skipif(not Path('/proc/self/clear_refs').exists(), reason='peak memory is read from Linux')
def test_peak_memory_does_not_grow_with_depth(tmp_path):
    measure = lambda n, r: float(printed(PEAK, tmp_path, n, r))
    peak = {(n, r): measure(n, r) for n, r in ((2, True), (12, True), (2, False))}
    assert peak[12, True] < 1.15*peak[2, True], peak
    assert peak[12, True] < peak[2, False], peak

DISTRIBUTED = """
import sys,torch
import torch.distributed as dist,torch.multiprocessing as mp
from torch.nn.parallel import DistributedDataParallel
from reformer_rnn.models.reformer import ReformerLM

def make(): # no rotations drawn in training: all processes and the reference compute the same function
    torch.manual_seed(0)
    return ReformerLM(11, 12, 4, 3, window=4, bucket_size=4, max_len=64).double().eval()

def loss(model, ids): return torch.nn.functional.cross_entropy(model(ids[:,:-1]).flatten(0, 1), ids[:,1:].flatten())

def work(rank, path):
    dist.init_process_group('gloo', init_method='file://'+path, rank=rank, world_size=2)
    ids,plain = torch.randint(0, 11, (4,20), generator=torch.Generator().manual_seed(1)),make()
    wrapped = DistributedDataParallel(make())
    for _ in range(2): # twice, to see that nothing of the first pass is left
        plain.zero_grad(); wrapped.zero_grad()
        loss(plain, ids).backward()
        loss(wrapped, ids[2*rank:2*rank+2]).backward()
        for p,q in zip(plain.parameters(), wrapped.module.parameters()): assert (p.grad-q.grad).abs().max()<1e-12
    # what holds the group last must not be the reducer in `wrapped`: it waits for threads, with a lock that they want
    del wrapped
    dist.destroy_process_group()
    if rank==0: print('same gradients')

if __name__=='__main__': mp.start_processes(work, (sys.argv[1],), nprocs=2, start_method='fork')
"""

def test_distributed_training(tmp_path):
    assert 'same gradients' in printed(DISTRIBUTED, tmp_path, tmp_path/'meeting')

"""Models that PyTorch compiles for training have the gradients that they have without it. A layer takes a quarter of a
minute, so `make test-newest` asks, and not `make test`."""
import pytest
import torch
import torch._inductor.config
import torch.nn.functional as F

from reformer_rnn.attention.layer import attention_layers, register_layers
from reformer_rnn.models.lm import LM

pytestmark = pytest.mark.slow
register_layers()

def gradients(model, weights, ids):
    "The gradients of a loss on tokens, with the same random numbers each time."
    torch.manual_seed(1)
    loss = F.cross_entropy(model(ids).flatten(0, 1), ids.flatten())
    return torch.autograd.grad(loss, weights, allow_unused=True)

@torch._inductor.config.patch(fallback_random=True)  # the numbers that are drawn without a compiler
@pytest.mark.parametrize('name', attention_layers)
def test_gradients(name):
    torch.manual_seed(0)
    torch._dynamo.reset()
    model = LM(60, 64, 1, 4, name, max_len=128)
    ids = torch.randint(60, (2, 128))
    weights = [*model.parameters()]
    plain = gradients(model, weights, ids)
    compiled = gradients(torch.compile(model, fullgraph=True), weights, ids)
    for (part, _), a, b in zip(model.named_parameters(), compiled, plain, strict=True):
        if b is None: assert a is None, part
        else: assert (a - b).norm() <= 1e-4*b.norm() + 1e-7, f'{part}: {(a - b).norm()/b.norm():.1e}'

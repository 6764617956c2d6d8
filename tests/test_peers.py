"Models and functions against those of other packages: `pip install peft flash-linear-attention`."
import copy, sys
from functools import partial
from importlib.metadata import PackageNotFoundError, distribution
from importlib.util import module_from_spec, spec_from_file_location
from types import SimpleNamespace

import pytest
import torch

from reformer_rnn.attention.backend import attention_kernels
from reformer_rnn.attention.decay import decay_attention
from reformer_rnn.attention.delta import delta_attention
from reformer_rnn.attention.linear import elu1, linear_attention

def test_low_rank_adaptation_is_that_of_peft():
    peft = pytest.importorskip('peft')
    from reformer_rnn.models.gpt2 import RecurrentGPT2, byte_gpt2
    torch.manual_seed(0)
    base = byte_gpt2(32, 2, 2, 24).double()
    ours = RecurrentGPT2(base, 'lora', window=24, r=4).double()
    for o in ours.rec.parameters(): torch.nn.init.normal_(o, std=.3)
    settings = peft.LoraConfig(r=4, lora_alpha=4, target_modules=['c_attn'], fan_in_fan_out=True, task_type='CAUSAL_LM')
    theirs = peft.get_peft_model(copy.deepcopy(base), settings).double()
    new = {name: o for name, o in theirs.named_parameters() if 'lora' in name}
    assert sum(o.numel() for o in new.values()) == sum(o.numel() for o in ours.rec.parameters())
    mine = dict(ours.rec.named_parameters())
    with torch.no_grad():
        for name, o in new.items():
            block = name.split('.h.')[1].split('.')[0]
            o.copy_(mine[f'{"down" if "lora_A" in name else "up"}.{block}.weight'])
    ids = torch.randint(256, (2,24))
    torch.testing.assert_close(theirs(ids).logits, ours(ids), atol=1e-12, rtol=0)

def readable(room):
    "The plain PyTorch beside the kernels of flash-linear-attention. Those need Triton, so the file is read alone."
    pytest.importorskip('einops', reason='needs einops: pip install flash-linear-attention')
    try: found = distribution('fla-core')
    except PackageNotFoundError: pytest.skip('needs its formulas: pip install flash-linear-attention')
    spec = spec_from_file_location(f'readable_{room}', found.locate_file(f'fla/ops/{room}/naive.py'))
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module

def turned(*xs): return [x.transpose(1, 2) for x in xs] # (b, h, n, ...) and (b, n, h, ...)

def linear(q, k, v, beta, head, channel, S):
    out, (new, z) = readable('linear_attn').naive_recurrent_linear_attn(
        *turned(elu1(q), elu1(k), v), scale=1., output_final_state=True, normalize=True)
    ours, state = linear_attention(q, k, v, causal=True)
    return (ours, *state), (*turned(out), new, z.squeeze(1))

def retention(q, k, v, beta, head, channel, S):
    fixed = 1 - 2.**(-5 - torch.arange(float(q.shape[1])))
    out = readable('retention').naive_retention(q*q.shape[-1]**.5, k, v)
    return decay_attention(q, k, v, decay=fixed)[:1], (out,)

def gated_linear(q, k, v, beta, head, channel, S):
    out, new = readable('gla').naive_recurrent_gla(
        *turned(q*q.shape[-1]**.5, k, v, channel.log()), initial_state=S, output_final_state=True)
    return decay_attention(q, k, v, decay=channel, state=S), (*turned(out), new)

def delta(q, k, v, beta, head, channel, S):
    theirs = readable('delta_rule').delta_rule_recurrence(q*q.shape[-1]**.5, k, v, beta, initial_state=S)
    return delta_attention(q, k, v, beta, state=S), theirs

def gated_delta(q, k, v, beta, head, channel, S):
    out, new = readable('gated_delta_rule').naive_recurrent_gated_delta_rule(
        *turned(q, k, v, beta, head.log()), scale=1., initial_state=S, output_final_state=True)
    return delta_attention(q, k, v, beta, decay=head, state=S), (*turned(out), new)

@pytest.mark.parametrize('least', [.9, .2, 1e-4])
@pytest.mark.parametrize('both', [linear, retention, gated_linear, delta, gated_delta], ids=lambda f: f.__name__)
def test_linear_attention_is_that_of_flash_linear_attention(both, least):
    "Outputs, last states and gradients, in float32, in which the peer computes."
    torch.manual_seed(0)
    b, h, n, d, dv = 2, 3, 70, 8, 5
    k = torch.nn.functional.normalize(torch.randn(b, h, n, d), dim=-1)
    decays = [least + (1-least)*torch.rand(b, h, n, *more) for more in ((), (d,))]
    q, v, S = torch.randn(b, h, n, d), torch.randn(b, h, n, dv), torch.randn(b, h, d, dv)
    xs = [q, k, v, 2*torch.rand(b, h, n), *decays, S]
    for x in xs: x.requires_grad_()
    ours, theirs = both(*xs)
    for a, b in zip(ours, theirs, strict=True): torch.testing.assert_close(a, b, atol=1e-4, rtol=1e-4)
    grads = [torch.autograd.grad(sum(x.square().sum() for x in out), xs, allow_unused=True) for out in (ours, theirs)]
    for a, b in zip(*grads):
        assert (a is None) == (b is None)
        if a is not None: assert (a-b).norm() <= 1e-4*b.norm()

def in_our_layout(rule, q, *xs, initial_state, scale, **rest):
    "A formula of the package for tensors (b, h, n, ...), which scales queries itself, in the layout of its kernels"
    out, S = rule(*turned(q*scale*q.shape[-1]**.5, *xs), initial_state=initial_state)
    return out.transpose(1, 2), S

def scaled(rule, q, *xs, scale, **rest): return rule(q*scale*q.shape[-1]**.5, *xs, **rest)

def test_the_kernels_of_flash_linear_attention_by_its_own_formulas(monkeypatch):
    "Layout, scale, decays and states of the translation, with the readable formulas in the place of the kernels."
    formulas = {'linear_attn': ('chunk_linear_attn', readable('linear_attn').naive_recurrent_linear_attn),
                'simple_gla': ('chunk_simple_gla', readable('simple_gla').naive_recurrent_simple_gla),
                'gla': ('chunk_gla', partial(scaled, readable('gla').naive_recurrent_gla)),
                'gated_delta_rule': ('chunk_gated_delta_rule', lambda q, k, v, g, beta, **rest: readable(
                    'gated_delta_rule').naive_recurrent_gated_delta_rule(q, k, v, beta, g, **rest)),
                'delta_rule': ('chunk_delta_rule', lambda q, k, v, beta, **rest: in_our_layout(
                    readable('delta_rule').delta_rule_recurrence, q, k, v, beta, **rest))}
    for name, (function, formula) in formulas.items():
        monkeypatch.setitem(sys.modules, f'fla.ops.{name}', SimpleNamespace(**{function: formula}))
    torch.manual_seed(0)
    b, h, n, d, dv = 2, 3, 70, 8, 5
    q, v, S = torch.randn(b, h, n, d), torch.randn(b, h, n, dv), torch.randn(b, h, d, dv)
    k = torch.nn.functional.normalize(torch.randn(b, h, n, d), dim=-1)
    beta, a = 2*torch.rand(b, h, n, 1), torch.rand(b, h, n, d)
    calls = [('linear', (elu1(q), elu1(k), v)), ('decay', (q, k, v, a[..., :1])), ('decay', (q, k, v, a)),
             ('delta', (q, k, v, beta, None)), ('delta', (q, k, v, beta, a[..., :1]))]
    for rule, xs in calls:
        kernels = attention_kernels(rule)
        for state in (None, torch.cat([S, S[..., :1]], -1).abs() if rule == 'linear' else S):
            ours, theirs = (kernels[name].run(*xs, state) for name in ('plain', 'fla'))
            for x, y in zip(ours, theirs, strict=True): torch.testing.assert_close(x, y, atol=1e-4, rtol=1e-4)

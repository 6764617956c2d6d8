"Models of this library against those of other packages, where these are installed: `pip install peft`."
import copy

import pytest
import torch

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

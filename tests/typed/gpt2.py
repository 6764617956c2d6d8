"Give a GPT-2 a memory, and read a text window by window."
import torch

from reformer_rnn.models.gpt2 import RecurrentGPT2, byte_gpt2, gpt2_shape

base = byte_gpt2(d_model=16, n_layers=1, n_heads=2, n_positions=32)
print(gpt2_shape(base))
model = RecurrentGPT2(base, 'kv', window=8).eval()
ids = torch.randint(256, (1, 20))
with torch.no_grad():
    logits, state = model.read(ids[:, :16])
    logits, state = model.step(ids[:, 16:], state)
print(logits.shape)
print(model.generate(ids, 5).shape)

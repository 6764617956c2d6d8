"Write with a model that was trained before, in all the ways there are."
import torch

from reformer_rnn.models.lm import LM

model = LM.from_pretrained('small').eval()
text = model.generate('The ', 20, temperature=.7, top_k=10, generator=torch.Generator().manual_seed(0))
print(text)
tokens = torch.randint(256, (2, 8))
for new in model.stream(tokens, 3): print(new.tolist())
longer = model.generate(tokens, 4, temperature=0)
print(longer.shape[1])
logits, state = model.step(tokens)
logits, state = model.step(tokens[:, :1], state)
print(logits.softmax(-1).max().item())
found, scores = model.beam_search(tokens, 3, 2)
print(found.shape, scores.tolist())

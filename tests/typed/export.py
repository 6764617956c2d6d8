"Write down the graph of a model, for other programs."
import torch

from reformer_rnn.models.export import export_model
from reformer_rnn.models.lm import LM

model = LM(11, 8, 1, 2, attention='linear', max_len=64).eval()
program = export_model(model)
x = torch.randint(11, (3, 9))
with torch.no_grad():
    print((program.module()(x)-model(x)).abs().max().item())

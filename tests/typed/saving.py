"Keep a model in a folder, and read it again."
import tempfile
from pathlib import Path

import torch

from reformer_rnn.models.lm import LM
from reformer_rnn.pretrained import load_pretrained

model = LM(11, d_model=16, n_layers=2, n_heads=2, attention='linear', max_len=32)
with tempfile.TemporaryDirectory() as name:
    folder = Path(name)/'model'
    model.save_pretrained(folder, about='Not trained.')
    print(sorted(path.name for path in folder.iterdir()))
    again = LM.from_pretrained(folder)
    other = load_pretrained(folder)
x = torch.arange(8)[None]
with torch.no_grad():
    assert torch.equal(model.eval()(x), again.eval()(x))
    assert torch.equal(again(x), other.eval()(x))

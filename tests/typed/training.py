"Train a small language model on the text that comes along."
from reformer_rnn.core import count_parameters, seed_everything
from reformer_rnn.data.text import read_bytes, split_bytes, text_dls
from reformer_rnn.models.lm import LM
from reformer_rnn.training.callbacks import CarryState
from reformer_rnn.training.learner import evaluate_bits, lm_learner

seed_everything(0)
text = split_bytes(read_bytes(n_bytes=6000), valid=.2)
dls = text_dls(text.train, text.valid, bs=4, seq_len=32, device='cpu')
model = LM(256, d_model=16, n_layers=1, n_heads=2, attention='gated_linear', positions=None)
learn = lm_learner(dls, model, lr=1e-2, cbs=[CarryState()])
with learn.no_bar(), learn.no_logging():
    learn.fit_one_cycle(1, 1e-2)
valid_loss = learn.recorder.values[-1][1]
bits: float = evaluate_bits(learn.model, text.valid, carry=True)
print(f'{count_parameters(model):,} parameters, loss {valid_loss:.2f}, {bits:.2f} bits per byte')

"A layer of one's own, by name in a model."
import torch
from torch import Tensor, nn

from reformer_rnn.attention.layer import AttentionLayer, attention_layers
from reformer_rnn.models.lm import LM


class Decaying(nn.Module):
    "Position t gets a sum in which recent positions count more."
    def __init__(self, d_model: int):
        super().__init__()
        self.out = nn.Linear(d_model, d_model)

    def forward(self, x: Tensor) -> Tensor:
        "Mix a sequence, (b, n, d)."
        age = torch.arange(x.shape[1])[:, None]-torch.arange(x.shape[1])
        weights = torch.where(age >= 0, .9**age.clamp(min=0), 0.)
        return self.out(torch.einsum('ts,bsd->btd', weights, x))


layer = Decaying(8)
print(layer(torch.randn(2, 5, 8)).shape)
cls = attention_layers['linear']
attend: AttentionLayer = cls(8, 2)
y, state = attend(torch.randn(2, 5, 8))
y, state = attend(torch.randn(2, 1, 8), state)
print(y.shape)
model = LM(11, 8, 1, 2, attention='linear')
print(model(torch.arange(5)[None]).shape)

"Test a layer for all that it promises."
from torch import Tensor, nn

from reformer_rnn.attention.check import check_layer


class Shift(nn.Module):
    "A position gets the one before it."
    def __init__(self, d_model: int):
        super().__init__()
        self.out = nn.Linear(d_model, d_model)

    def forward(self, x: Tensor) -> Tensor:
        "Mix a sequence, (b, n, d)."
        return self.out(nn.functional.pad(x, (0, 0, 1, 0))[:, :x.shape[1]])


report = check_layer(Shift, 8, skip=('time', 'memory', 'compile', 'export'))
for name in report.having('failed'): print(name, report[name].line())
print(report.verdict(), report.passed)

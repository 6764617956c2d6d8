"Language models run in onnxruntime as they do here, for batches and lengths that the exporter has not seen."
import pytest
import torch

from reformer_rnn.all import *
from reformer_rnn.models.export import export_onnx

pytest.importorskip('onnxruntime')
WINDOW = dict(window=4, qk_norm=False, distances=False, include_self=True, empty='masked')
KINDS = {'softmax': ('softmax', {}), 'linear': ('linear', {}), 'sliding': ('sliding', dict(window=4)),
         'window of a converted model': ('sliding', WINDOW)}

@pytest.mark.parametrize('name', KINDS)
def test_onnx(name, tmp_path):
    torch.manual_seed(0)
    attention, options = KINDS[name]
    model = LM(11, 12, 1, 3, attention, max_len=64, **options)
    export_onnx(model, tmp_path/'model.onnx')  # compares
    assert (tmp_path/'model.onnx').stat().st_size > 1000

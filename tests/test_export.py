"Language models run in onnxruntime as they do here, for batches and lengths that the exporter has not seen."
import pytest
import torch

from reformer_rnn.all import *
from reformer_rnn.models.export import export_onnx

pytest.importorskip('onnxruntime')

@pytest.mark.parametrize('attention', ['softmax', 'linear'])
def test_onnx(attention, tmp_path):
    torch.manual_seed(0)
    model = LM(11, 12, 1, 3, attention, max_len=64)
    export_onnx(model, tmp_path/'model.onnx')  # compares
    assert (tmp_path/'model.onnx').stat().st_size > 1000

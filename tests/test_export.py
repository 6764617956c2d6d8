"Graphs of models, and files for onnxruntime, compute what the models do for sizes that the exporter has not seen."
import pytest
import torch

from reformer_rnn.all import *
from reformer_rnn.attention.layer import attention_layers
from reformer_rnn.models.export import as_onnx, export_model, export_onnx

# ONNX has no sorted search and solves no triangular systems.
BEYOND_ONNX = 'lsh', 'delta', 'gated_delta', 'delta_product'

@pytest.mark.parametrize('name', attention_layers)
def test_layer(name, tmp_path):
    torch.manual_seed(0)
    model = LM(11, 12, 1, 3, name, max_len=700)
    if attention_layers[name].fixed_length is not None:
        with pytest.raises(ValueError, match='length=512'): export_model(model)
        export_model(model, length=150)  # longer than a window
        return
    if name in BEYOND_ONNX:
        with pytest.raises(ValueError, match='ONNX cannot express'): as_onnx(export_model(model))
        return
    pytest.importorskip('onnxruntime')
    export_onnx(model, tmp_path/'model.onnx')  # compares both
    assert (tmp_path/'model.onnx').stat().st_size > 1000

def gpt2(**options):
    transformers = pytest.importorskip('transformers')
    sizes = dict(vocab_size=32, n_positions=64, n_embd=16, n_layer=2, n_head=2, bos_token_id=0, eos_token_id=0)
    return RecurrentGPT2(transformers.GPT2LMHeadModel(transformers.GPT2Config(**sizes)), window=16, **options)

SERIES = dict(d_model=12, n_heads=3, d_ff=16)
HEADS = [('cos', 1, 0), ('sin', 1, 0)]

@pytest.mark.parametrize('build, length', [
    (lambda: ReformerLM(11, 12, 4, 3), None),
    (lambda: TransformerXL(11, 12, 2, 3, mem_len=32), None),
    (lambda: TransformerXL(11, 12, 2, 3, mem_len=32, same_length=True, clamp_len=20), None),
    (lambda: EncoderDecoder(11, 13, 12, 2, 3, pad=0), None),
    # one layer: two take four times as long
    (lambda: EncoderDecoder(11, 13, 12, 1, 3, attention='lsh', max_len=256), None),
    (lambda: EncoderDecoder(11, 13, 12, 2, 3, attention='linear'), None),
    (lambda: Informer(3, 2, 24, 12, 6, **SERIES), None),
    (lambda: Informer(3, 2, 24, 12, 6, distil=False, heads=HEADS, **SERIES), None),
    (lambda: BlockRecurrentLM(11, 12, 3, 3, window=8, recurrent=()), None),
    (lambda: BlockRecurrentLM(11, 12, 4, 3, window=8), 24),
    (lambda: BlockRecurrentLM(11, 12, 4, 3, window=8, feedback=True), 24),
    (lambda: SequenceClassifier(LM(11, 12, 2, 3, 'linear'), 2, pad=0), None),
    (lambda: gpt2(), 40),
    (lambda: gpt2(kind='rmt', m=2), 40),
    (lambda: gpt2(kind='glr'), 40),
])
def test_model(build, length):
    torch.manual_seed(0)
    model = build()
    if length is not None:
        with pytest.raises(ValueError, match='length=512'): export_model(model)
    export_model(model, length=length)  # compares both

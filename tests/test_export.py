"Graphs of models, and files for onnxruntime, compute what the models do for sizes that the exporter has not seen."
import pytest
import torch

from reformer_rnn.all import *
from reformer_rnn.attention.layer import attention_layers
from reformer_rnn.models.export import as_onnx, export_model, export_onnx

# ONNX has no sorted search and solves no triangular systems.
BEYOND_ONNX = ('lsh',), ('delta', 'gated_delta', 'delta_product')
ANY_LENGTH = [name for name, o in attention_layers.items() if o.fixed_length is None]
ONE_LENGTH = [name for name in attention_layers if name not in ANY_LENGTH]

def with_layers(names):
    "A language model with a block of each of these layers: one graph of all takes a fraction of what many would."
    torch.manual_seed(0)
    return LM(11, 12, len(names), 3, at=dict(enumerate(names)), max_len=700)

def test_layers_in_onnx(tmp_path):
    pytest.importorskip('onnxruntime')
    model = with_layers([o for o in ANY_LENGTH if o not in sum(BEYOND_ONNX, ())])
    export_onnx(model, tmp_path/'model.onnx')  # compares both
    assert (tmp_path/'model.onnx').stat().st_size > 1000

@pytest.mark.parametrize('names', BEYOND_ONNX)
def test_layers_beyond_onnx(names):
    graph = export_model(with_layers(names))
    with pytest.raises(ValueError, match='ONNX cannot express'): as_onnx(graph)

def test_layers_of_one_length():
    for name in ONE_LENGTH:
        with pytest.raises(ValueError, match='length=512'): export_model(with_layers([name]))
    export_model(with_layers(ONE_LENGTH), length=150)  # longer than a window

def gpt2(**options):
    transformers = pytest.importorskip('transformers')
    sizes = dict(vocab_size=32, n_positions=64, n_embd=16, n_layer=2, n_head=2, bos_token_id=0, eos_token_id=0)
    return RecurrentGPT2(transformers.GPT2LMHeadModel(transformers.GPT2Config(**sizes)), window=16, **options)

SERIES = dict(d_model=12, n_heads=3, d_ff=16)
HEADS = [('cos', 1, 0), ('sin', 1, 0)]

@pytest.mark.parametrize('build, length', [
    (lambda: ReformerLM(11, 12, 2, 3), None),
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

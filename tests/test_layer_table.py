"The table of what each layer can do outside PyTorch says of every layer what its class says."
import json, re

import pytest
from conftest import ROOT

from reformer_rnn.all import LM, attention_layers, export_model

def table():
    "Layer -> cells of its line in the stored table"
    cells = json.loads((ROOT/'nbs/80_howto/05_outside.ipynb').read_text())['cells']
    outputs = [o.get('data', {}) for c in cells for o in c.get('outputs', ())]
    stored = [line for o in outputs for line in o.get('text/markdown', ()) if line.startswith('| `')]
    lines = [[o.strip() for o in line.strip('| \n').split('|')] for line in stored]
    return {name.strip('`'): cells for name, *cells in lines}

def test_has_every_layer():
    ours = {name: layer for name, layer in attention_layers.items() if layer.__module__.startswith('reformer_rnn')}
    assert list(table()) == [name for name, layer in ours.items() if layer.recurrent]

@pytest.mark.parametrize('name', table())
def test_says_what_the_layer_says(name):
    layer = attention_layers[name]
    size, graph, operations, *_ = table()[name]
    assert size == ('fixed' if LM(11, 8, 1, 2, name).blocks[0].attention.bounded else 'may grow')
    assert (graph == 'no') == (layer.fixed_length is not None)
    if graph == 'yes': return
    assert operations == f'no: {layer.fixed_length}'
    with pytest.raises(ValueError, match=re.escape(f'{name} has no graph with a state: {layer.fixed_length}')):
        export_model(LM(11, 8, 1, 2, name), states=True)

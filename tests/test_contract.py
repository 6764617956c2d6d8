"The layer that the architecture page shows keeps every promise: its card, and the pages over all layers and models."
import json, sys
from types import ModuleType

import pytest
from conftest import ROOT

from reformer_rnn.all import SoftmaxAttention, attention_layers, check_layer

def cells(notebook):
    "The code of a notebook, cell by cell; pictures, and what needs the whole registry for them, are left out."
    for cell in json.loads((ROOT/notebook).read_text())['cells']:
        source = ''.join(cell['source'])
        if cell['cell_type'] == 'code' and 'fig-alt' not in source: yield source

@pytest.fixture
def shown(monkeypatch):
    "The layer of the page, alone in the registry."
    source = next(o for o in cells('nbs/03_architecture.ipynb') if '@register_attention(' in o)
    code = [line for line in source.splitlines() if line.strip()]
    assert len(code) <= 15, 'a layer of at most 15 lines, imports included'
    before = dict(attention_layers)
    attention_layers.clear()
    page = ModuleType('page')  # where a compiler finds what the class uses
    monkeypatch.setitem(sys.modules, 'page', page)
    exec(source, vars(page))
    name, = attention_layers
    yield name
    attention_layers.clear()
    attention_layers.update(before)

def test_it_passes_the_whole_card(shown):
    report = check_layer(shown, 12)
    assert report.having('failed') == [] and report.having('skipped') == ['padding after, then more'], report

def test_it_passes_what_is_asked_of_all_layers(shown):
    space = {'__name__': 'layers'}
    for source in cells('nbs/10_attention/90_recurrent.ipynb'): exec(source, space)
    assert [*space['every']] == [shown]

def test_it_passes_what_is_asked_of_all_models(shown):
    attention_layers['softmax'] = SoftmaxAttention  # whose name is the default
    space = {'__name__': 'models'}
    for source in cells('nbs/30_models/90_promises.ipynb'):
        if 'defined-parts' in source: continue  # all models are there
        exec(source, space)
        if 'models' in space: space['models'] = {name: o for name, o in space['models'].items() if name == 'LM'}
    assert [*space['models']] == ['LM'] and shown in space['at'].values()

def test_an_error_names_the_layer(shown, monkeypatch):
    monkeypatch.setattr(attention_layers[shown], 'gaps_take_room', False)
    assert 'write `gaps_take_room = True`' in check_layer(shown, 12, skip=('compile', 'export', 'time'))['gaps'].text
    space = {'__name__': 'layers'}
    with pytest.raises(AssertionError, match=f'^{shown}: '):
        for source in cells('nbs/10_attention/90_recurrent.ipynb'): exec(source, space)

"fastai's verbs work with every loader of the package, or say what to do instead."
import ast

import fastai.callback.all
import pytest
from fastai.callback.core import Callback
from fastai.data.load import DataLoader
from verbs import BESIDE, FOR_ALL, LEARNERS, VERBS, try_verb

from conftest import ROOT
from reformer_rnn.core import import_modules
from reformer_rnn.data.loaders import Loaders
from reformer_rnn.data.reading import Portions

@pytest.mark.parametrize('verb', VERBS)
@pytest.mark.parametrize('name', LEARNERS)
def test_verb(name, verb): try_verb(name, verb)

@pytest.mark.parametrize('verb', FOR_ALL)
@pytest.mark.parametrize('name', [*LEARNERS, *BESIDE])
def test_verb_of_all(name, verb): try_verb(name, verb)

@pytest.mark.parametrize('name', BESIDE)
def test_beside(name): try_verb(name, 'beside')

CALLBACKS = {name: o for name, o in vars(fastai.callback.all).items() if isinstance(o, type) and issubclass(o, Callback)
             and name not in ('Callback', 'GatherPredsCallback',  # a base, and a part of `get_preds`
                              'ParamScheduler', 'SkipToEpoch', 'ProgressCallback')}  # with arguments, or a bar
# What no model here can be trained with, without a progress bar and on a CPU
REFUSED = {'MixHandler', 'MixUp', 'CutMix', 'RNNCallback', 'ShowGraphCallback', 'ModelToHalf',
           'NonNativeMixedPrecision'}
STATELESS = 'classifier', 'forecast'  # what `ModelResetter` cannot reset

@pytest.mark.parametrize('name', ['text carried', 'copy', 'classifier', 'words', 'forecast'])
def test_callbacks(name, tmp_path, capsys):
    "Every callback of fastai works with every kind of learner, or says why not before the first step."
    learn = (LEARNERS | BESIDE)[name]()
    learn.path = tmp_path
    assert REFUSED < CALLBACKS.keys()
    for cb in CALLBACKS:
        refused = cb in REFUSED or cb == 'ModelResetter' and name in STATELESS
        with learn.no_bar(), learn.no_logging():
            if not refused: learn.fit(1, 1e-4, cbs=CALLBACKS[cb]())
            else:
                with pytest.raises(ValueError, match=f'{cb} cannot be used here: '): learn.fit(1, cbs=CALLBACKS[cb]())

def subclasses(cls): return {cls}.union(*map(subclasses, cls.__subclasses__()))

def test_no_loader_escapes():
    "Every class of loaders of the package is among the examples, and every one is put into `Loaders`."
    for room in 'data', 'training', 'papers': import_modules(f'reformer_rnn.{room}')
    ours = {o for o in subclasses(DataLoader) | {Portions} if o.__module__.startswith('reformer_rnn.')}
    tried = {type(dl) for build in LEARNERS.values() for dl in build().dls.loaders}
    bases = {base for o in tried for base in o.__mro__[1:]}
    assert {o.__name__ for o in ours-tried-bases} == set()

def test_all_loaders_can_be_left_behind():
    "Nobody builds fastai's own `DataLoaders`, whose learner could not be exported."
    found = []
    for path in sorted((ROOT/'reformer_rnn').rglob('*.py')):
        for node in ast.walk(ast.parse(path.read_text())):
            called = isinstance(node, ast.Call) and getattr(node.func, 'id', '')
            if called == 'DataLoaders': found.append((path.name, node.lineno))
    assert found == [], f'use {Loaders.__name__}'

"fastai's verbs work with every loader of the package, or say what to do instead."
import ast

import pytest
from fastai.data.load import DataLoader
from verbs import LEARNERS, VERBS, try_verb

from conftest import ROOT
from reformer_rnn.core import import_modules
from reformer_rnn.data.loaders import Loaders
from reformer_rnn.data.reading import Portions

@pytest.mark.parametrize('verb', VERBS)
@pytest.mark.parametrize('name', LEARNERS)
def test_verb(name, verb): try_verb(name, verb)

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

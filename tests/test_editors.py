"""What an editor offers for the classes that people meet first: all of their public methods.

A class joins by its name. `@patch` hides a method from editors and type checkers, so it is for what another notebook
defines."""
import inspect

import pytest
from conftest import ROOT

jedi = pytest.importorskip('jedi')
package = pytest.importorskip('reformer_rnn.all')

CLASSES = 'LM', 'EncoderDecoder', 'Informer', 'Decoder', 'Documents', 'DocumentDL', 'AttentionLayer'

def public_methods(cls):
    "Names of the methods and properties that the package gives a class."
    ours = [o for o in cls.__mro__ if o.__module__.startswith('reformer_rnn.')]
    kinds = property, classmethod, staticmethod
    return {name for o in ours for name, member in vars(o).items()
            if not name.startswith('_') and (callable(member) or isinstance(member, kinds))}

@pytest.mark.parametrize('name', CLASSES)
def test_editors_complete_all_public_methods(name):
    cls = getattr(package, name)
    wanted = public_methods(cls)
    assert wanted, f'{name} has no method of its own'
    code = f'from {inspect.getmodule(cls).__name__} import {name}\n{name}.'
    missing = wanted - {o.name for o in jedi.Script(code, project=jedi.Project(ROOT)).complete()}
    assert not missing, f'editors do not see {", ".join(sorted(missing))} of {name}: write methods inside of the class'

"constraints.txt pins everything that the project needs, for every Python that the Makefile accepts."
import re
from importlib.metadata import PackageNotFoundError, distribution

import pytest
from conftest import pins
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name
from packaging.version import Version

# What comes with builds of torch for GPUs, and only there
NOT_PINNED = re.compile('nvidia-.*|cuda-.*|triton')

@pytest.fixture(scope='module')
def needed():
    "The installed packages that the project with its tools needs, directly or not, by name."
    seen = set()
    found = {}
    todo = [Requirement('reformer_rnn[dev]')]
    while todo:
        asked = todo.pop()
        name = canonicalize_name(asked.name)
        if (name, *asked.extras) in seen: continue
        seen.add((name, *asked.extras))
        try: found[name] = distribution(name)
        except PackageNotFoundError: continue  # torchvision, where check_env.py removed it
        for line in found[name].requires or []:
            below = Requirement(line)
            if below.marker is None or any(below.marker.evaluate({'extra': o}) for o in ('', *asked.extras)):
                todo.append(below)
    del found['reformer-rnn']
    return found

def test_installed_is_pinned(needed):
    expected = pins()
    wrong = {name: d.version for name, d in needed.items()
             if not NOT_PINNED.fullmatch(name) and expected.get(name) != Version(d.version).public}
    assert not wrong, f'installed, but not what constraints.txt pins: {wrong}'

def test_pins_work_on_the_oldest_python(needed):
    too_new = {name: d.metadata['Requires-Python'] for name, d in needed.items()
               if '3.11.0' not in SpecifierSet(d.metadata.get('Requires-Python', ''))}
    assert not too_new, f'the Makefile accepts Python 3.11.0, these do not: {too_new}'

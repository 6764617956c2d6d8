"Layers and models bring PyTorch and NumPy alone; what only readers, trainers and pages need is imported by those."
import json, subprocess, sys

from conftest import ROOT

HEAVY = 'fastai', 'pandas', 'matplotlib', 'sklearn', 'scipy', 'IPython', 'transformers', 'torch._dynamo'
LIGHT = 'core', 'files', 'pretrained', 'attention', 'kernels', 'blocks', 'models'

# In turn, so that what appears belongs to the module that was imported last
SCRIPT = '''
import json, sys
from importlib import import_module
heavy, modules = json.loads(sys.argv[1])
found = {}
for name in modules:
    import_module(name)
    new = [o for o in heavy if o in sys.modules]
    heavy = [o for o in heavy if o not in new]
    if new: found[name] = new
print(json.dumps(found))
'''

def brought(modules, heavy):
    "`{module: what it was the first to bring}` of modules that are imported in turn by a fresh process."
    done = subprocess.run([sys.executable, '-c', SCRIPT, json.dumps([heavy, modules])], cwd=ROOT, text=True,
                          capture_output=True, timeout=120)
    assert not done.returncode, done.stderr
    return json.loads(done.stdout)

def test_layers_and_models_are_light():
    files = (o.relative_to(ROOT).with_suffix('') for o in (ROOT/'reformer_rnn').rglob('*.py') if o.stem[0] != '_')
    modules = sorted('.'.join(o.parts) for o in files if o.parts[1] in LIGHT)
    assert {'reformer_rnn.attention.check', 'reformer_rnn.models.gpt2'} <= {*modules}
    assert not brought(modules, HEAVY)

def test_what_checks_layers_is_not_loaded_with_them():
    names = 'check', 'check_states', 'check_uses', 'guard', 'report'
    checks = [f'reformer_rnn.attention.{o}' for o in names]
    assert not brought(['reformer_rnn.models.lm', 'reformer_rnn.attention.multihead'], checks)

def test_the_module_that_brings_something_is_named():
    assert brought(['colorsys', 'wave'], ['wave', 'zipapp']) == {'wave': ['wave']}

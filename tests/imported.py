"What takes seconds to import, imported once for all processes that the tests fork."
import importlib

HEAVY = ('torch', 'torch._dynamo', 'torch.distributed.fsdp', 'fastai.callback.all', 'fastai.text.all', 'scipy.signal',
         'sklearn.linear_model', 'pandas', 'matplotlib.pyplot', 'nbdev.test', 'execnb.shell', 'tokenizers',
         'transformers', 'safetensors.torch')

for name in HEAVY:
    try: importlib.import_module(name)
    except ImportError: pass  # optional

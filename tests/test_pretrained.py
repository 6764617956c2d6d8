"Every model and every layer comes back from its folder as it was, in another process; a damaged folder never does."
import random, shutil, sys

import pytest
import torch
from conftest import run
from safetensors.torch import load_file, save_file

from reformer_rnn.all import *
from reformer_rnn.core import import_modules
from reformer_rnn.papers.linear.copy import LinearCopyConfig, linear_copy_model
from reformer_rnn.papers.charlm import CharLMConfig
from reformer_rnn.pretrained import kept_classes
from reformer_rnn.runs.experiment import find_experiment
from reformer_rnn.runs.keep import load_run

# These are built on; the last two stand in a model only while it is timed or examined
BASES = {'WithMemory', 'HeadedLayer', 'AttentionLayer', 'QKVAttention', 'DeltaLayer', 'ForgettingAttention',
         'TwoWayAttention', 'LearnedMap', 'InPlaceSoftmax', 'ForeignLayer', 'CosineScores', 'RelativeScores'}
FILES = ['config.json', 'model.safetensors', 'checksums.json']

def ids(n=11): return (torch.randint(0, n, (2, 13)),)
def pairs(): return ids()[0], ids()[0][:, :7]
def series():
    x, times, later = torch.randn(2, 12, 3), torch.randn(2, 12, 4), torch.randn(2, 10, 4)
    return x, times, decoder_input(x, 6, 4), later
def vectors(): return (torch.randn(2, 9, 12),)

small = dict(d_model=12, n_layers=2, n_heads=3, max_len=32)
forecaster = dict(d_model=12, n_heads=3, d_ff=24)
heads = [('cos', 1, 0), ('sin', 1, 0)]

def converted(): return convert_model(LM(11, **small), 'linear', feature_map='t2r')
def gpt2(dtype=torch.float32):
    return RecurrentGPT2(byte_gpt2(12, 2, 3, 16, 11).to(dtype), 'kv', window=8, layers=range(1))
def classifier(labels=('bad', 'good')):
    model = SequenceClassifier(LM(11, **small), 2, pad=1, labels=list(labels))
    model.vocab = WordVocab(['xxunk', 'xxpad', 'xxbos', *'abcdefgh'], 'split', ' ', ['lowercase'])
    return model
def informer(): return Informer(3, 3, 12, 6, 4, **forecaster)
def of_an_experiment():
    return linear_copy_model(LinearCopyConfig(length=16, vocab_sz=11, d_model=12, n_heads=3), 'linear-swapped')

MODELS = {  # Name: what builds it, and the arguments of a call
    'LM': (lambda: LM(11, at={0: 'lsh', 1: ('local', dict(window=4))}, **small), ids),
    'LM tied': (lambda: LM(11, 12, 2, 3, 'lsh-4', tie_weights=True, reversible=True), ids),
    'LM with functions': (lambda: LM(11, attention='linear', feature_map=torch.nn.functional.relu, **small), ids),
    'LM converted': (converted, ids),
    'ReformerLM': (lambda: ReformerLM(11, window=4, bucket_size=4, **small), ids),
    'LM of an experiment': (of_an_experiment, ids),
    'TransformerXL': (lambda: TransformerXL(11, mem_len=6, **small), ids),
    'TransformerXL converted': (lambda: convert_model(TransformerXL(11, mem_len=6, **small), 'rsa_relative'), ids),
    'BlockRecurrentLM': (lambda: BlockRecurrentLM(11, window=6, n_states=4, recurrent=(-1,), **small), ids),
    'BlockRecurrentLM with a memory': (
        lambda: BlockRecurrentLM(11, window=6, memory={-1: dict(size=8, k_neighbours=2)}, recurrent=(), **small), ids),
    'BlockRecurrentLM with feedback': (
        lambda: BlockRecurrentLM(11, window=6, n_states=4, recurrent=(-1,), feedback=True, **small), ids),
    'WindowLM': (lambda: WindowLM(11, window=6, recurrent=(), **small), ids),
    'EncoderDecoder': (lambda: EncoderDecoder(12, pad=0, attention='linear', decoder_attention='rsa', **small), pairs),
    'Informer': (informer, series),
    'Informer RSA': (lambda: Informer(3, 2, 12, 6, 4, distil=False, heads=heads, **forecaster), series),
    'SequenceClassifier': (lambda: SequenceClassifier(LM(11, **small), 3, pad=1, dropout=.1), ids),
    'SequenceClassifier of words': (classifier, ids),
    'LinearMap': (lambda: LinearMap(12, 4), series),
    'SubtractLast': (lambda: SubtractLast(informer()), series),
    'Ensemble': (lambda: Ensemble(Corrected(LinearMap(12, 4), informer()), LinearMap(12, 4)), series),
    'Corrected': (lambda: Corrected(LinearMap(12, 4), informer()), series),
    'RecurrentGPT2': (gpt2, ids),
    'RecurrentLM': (lambda: RecurrentLM(LM(11, **small), 'kv', window=8), ids),
    'RecurrentGPT2 in two types': (lambda: gpt2(torch.bfloat16), ids)}
OPTIONS = {'linear favor': ('linear', dict(feature_map='favor')),
           'linear hedgehog': ('linear', dict(feature_map='hedgehog')),
           'linear built': ('linear', dict(feature_map=Favor(4, 3, generator=torch.Generator().manual_seed(3))))}
OPTIONS |= {name: (name, {}) for name in attention_layers}  # a new layer is tested with the others

def layer(name, options):
    cls = attention_layers[name]
    return lambda: cls(12, 3, causal=cls.recurrent, max_len=32, **options)

ALL = MODELS | {f'layer {k}': (layer(*o), vectors) for k, o in OPTIONS.items()}

def examples():
    "Name, model and inputs of all."
    for name, (build, inputs) in ALL.items():
        torch.manual_seed(0)
        model = build().eval()
        for p in model.parameters(): p.data += .01*torch.randn_like(p)
        yield name, model, inputs()

def output(model, inputs):
    with torch.no_grad(): found = model(*inputs)
    return found[0] if isinstance(found, tuple) else found

OTHER_PROCESS = '''
import sys
from pathlib import Path
import torch
from safetensors.torch import load_file
from reformer_rnn.pretrained import load_pretrained
for folder in sorted(Path(sys.argv[1]).glob('*/model')):
    tensors = load_file(folder.parent/'call.safetensors')
    inputs = [tensors[f'input {i}'] for i in range(len(tensors)-1)]
    with torch.no_grad(): found = load_pretrained(folder)(*inputs)
    found = found[0] if isinstance(found, tuple) else found
    print(folder.parent.name, torch.equal(found, tensors['output']), sep=': ')
'''

@pytest.fixture(scope='module')
def elsewhere(tmp_path_factory):
    "What another process says about every model."
    root = tmp_path_factory.mktemp('kept')
    for name, model, inputs in examples():
        model.save_pretrained(root/name/'model')
        tensors = {f'input {i}': o.contiguous() for i, o in enumerate(inputs)}
        save_file(tensors | dict(output=output(model, inputs).contiguous()), root/name/'call.safetensors')
    lines = run(sys.executable, '-c', OTHER_PROCESS, root).splitlines()
    return dict(line.split(': ') for line in lines if ': ' in line)

def test_all_come_back_to_the_bit(elsewhere): assert {name for name in ALL if elsewhere[name] != 'True'} == set()

def test_no_class_escapes():
    "Every class of the package that can be kept is among the examples, or a part of one."
    import_modules('reformer_rnn')
    seen = {type(o).__name__ for _, model, _ in examples() for o in model.modules()}
    ours = {name for module, name in kept_classes if module.startswith('reformer_rnn.')}
    assert ours-BASES-seen == set()

def test_weights_from_a_file_lie_as_new_ones_do(tmp_path):
    "At other addresses some kernels round differently, and the last bit of an output changes."
    model = LM(11, **small)
    model.save_pretrained(tmp_path)
    for name, p in LM.from_pretrained(tmp_path).named_parameters():
        assert p.data_ptr() % 64 == dict(model.named_parameters())[name].data_ptr() % 64 == 0, name

def test_keeping_draws_no_random_numbers(tmp_path):
    model = LM(11, **small)
    state = torch.get_rng_state()
    model.save_pretrained(tmp_path/'model')
    LM.from_pretrained(tmp_path/'model')
    assert torch.equal(torch.get_rng_state(), state)

def damage(folder, other, rng, files):
    "Do something to one file, or to two; what was done."
    how = rng.choice(['missing', 'truncated', 'swapped', 'edited', 'longer', 'empty', 'a folder', 'both swapped'])
    path = folder/rng.choice(files)
    if how == 'both swapped':
        for name in rng.sample(files, 2): shutil.copy(other/name, folder/name)
        return how
    data = path.read_bytes()
    path.unlink()
    if how == 'truncated': path.write_bytes(data[:rng.randrange(1, len(data))])
    if how == 'swapped': shutil.copy(other/path.name, path)
    if how == 'longer': path.write_bytes(data+rng.choice([b'\n', b' ', b'\0', data]))
    if how == 'empty': path.write_bytes(b'')
    if how == 'a folder': path.mkdir()
    if how == 'edited':
        # the checksum of the card, which stands first, only tells whether that was edited
        at = rng.randrange(max(0, data.find(b'config.json')) if path.name == 'checksums.json' else 0, len(data))
        path.write_bytes(data[:at]+bytes([(data[at]+rng.randrange(1, 256)) % 256])+data[at+1:])
    return f'{path.name} {how}'

@pytest.mark.parametrize('build', [
    lambda i: LM(11, attention=('linear', 'relative')[i], **small),
    lambda i: classifier((f'bad {i}', 'good'))], ids=['language model', 'classifier'])
def test_damaged_folders(tmp_path, build):
    "Two hundred folders with something wrong: each is refused, with an error that names a file."
    for i, name in enumerate(('good', 'other')):
        torch.manual_seed(i)
        model = build(i)
        if model.vocab is not None:
            model.vocab = None  # a model that knows words takes no others
            model.vocab = WordVocab([*'abcdefghijk'][:10+i], 'split', ' ')
        model.save_pretrained(tmp_path/name)
    files = FILES+(['vocab.json'] if model.vocab is not None else [])
    rng = random.Random(0)
    for i in range(200):
        folder = tmp_path/'damaged'
        shutil.copytree(tmp_path/'good', folder)
        what = damage(folder, tmp_path/'other', rng, files)
        with pytest.raises((ValueError, FileNotFoundError)) as e: load_pretrained(folder)
        assert any(name in str(e.value) for name in files), f'{what}: {e.value}'
        shutil.rmtree(folder)

def test_classifier_reads_texts(tmp_path):
    model = classifier()
    folder = model.save_pretrained(tmp_path/'model')
    script = ('from reformer_rnn.pretrained import load_pretrained; '
              f'print(load_pretrained({str(folder)!r}).predict("A b c"))')
    found = eval(run(sys.executable, '-c', script).splitlines()[-1])
    assert found == pytest.approx(model.predict('A b c'))
    assert set(found) == {'bad', 'good'}

def rewritten(folder, **changes):
    "A folder whose checksums are right, and whose description is not."
    config = read_json(folder/'config.json')
    weights = load_file(folder/'model.safetensors')
    with write_together(folder) as new:
        tensors = changes.pop('tensors', lambda o: o)(weights)
        save_file(tensors, new/'model.safetensors', metadata=dict(format='pt'))
        write_json(new/'config.json', config | changes)
    return folder

def lose_one(o): return {k: v for k, v in o.items() if k != 'norm.weight'}
def one_more(o): return o | {'extra': torch.zeros(1)}
def misshape(o): return o | {'norm.weight': torch.zeros(5)}

WRONG = {  # What is wrong: what the message says
    'a later format': (dict(format=2, version='9.9'), '9.9'),
    'a missing tensor': (dict(tensors=lose_one), 'missing: norm.weight'),
    'an additional tensor': (dict(tensors=one_more), 'additional: extra'),
    'a misshapen tensor': (dict(tensors=misshape), 'misshapen: norm.weight'),
    'another width': (dict(arguments=dict(vocab_sz=11, d_model=24)), 'does not fit a LM'),
    'an unknown argument': (dict(arguments=dict(vocab_sz=11, wide=2)), 'wide'),
    'an unknown class': ({'class': 'GM'}, 'GM'),
    'a foreign module': (dict(module='os'), 'os'),
    'a module that is not there': (dict(module='reformer_rnn.nowhere.lm'), 'nowhere'),
    'an unknown tag': (dict(arguments={'vocab_sz': {'$pickle': 'x'}}), '$pickle'),
    'an unknown companion': (dict(companions=['friend']), 'friend'),
    'no list': (dict(companions='vocab'), 'companions'),
    'a wrong type': (dict(dtype='float12'), 'config.json')}

@pytest.mark.parametrize('what', WRONG)
def test_wrong_descriptions(tmp_path, what):
    changes, said = WRONG[what]
    LM(11, **small).save_pretrained(tmp_path/'model')
    with pytest.raises(ValueError) as e: load_pretrained(rewritten(tmp_path/'model', **changes))
    assert said in str(e.value) and ('config.json' in str(e.value) or 'model.safetensors' in str(e.value))

def test_hub(tmp_path, monkeypatch):
    "Pushed to a hub that is a folder, and loaded by name from the hub's cache, without a network."
    import huggingface_hub
    cache = tmp_path/'models--me--tiny'
    class Api:
        def __init__(self, token=None): pass
        def create_repo(self, repo_id, private, exist_ok): assert repo_id == 'me/tiny'
        def upload_folder(self, repo_id, folder_path, commit_message):
            shutil.copytree(folder_path, cache/'snapshots'/('0'*40))
            (cache/'refs').mkdir()
            (cache/'refs'/'main').write_text('0'*40)
    monkeypatch.setattr(huggingface_hub, 'HfApi', Api)
    torch.manual_seed(0)
    model = LM(11, **small).eval()
    model.push_to_hub('me/tiny', about='Nothing but a test.')
    again = LM.from_pretrained('me/tiny', cache_dir=tmp_path, local_files_only=True)
    call = ids()
    assert torch.equal(output(again, call), output(model, call))
    snapshot = cache/'snapshots'/('0'*40)
    assert 'Nothing but a test.' in (snapshot/'README.md').read_text()
    (snapshot/'model.safetensors').write_bytes(b'')
    with pytest.raises(ValueError, match='model.safetensors'):
        LM.from_pretrained('me/tiny', cache_dir=tmp_path, local_files_only=True)
    with pytest.raises(FileNotFoundError, match='me/other'):
        LM.from_pretrained('me/other', cache_dir=tmp_path, local_files_only=True)

def test_without_the_hub(monkeypatch):
    import reformer_rnn.hub as module
    monkeypatch.setattr(module, 'find_spec', lambda name: None)
    with pytest.raises(FileNotFoundError, match='pip install huggingface_hub'): LM.from_pretrained('me/tiny')

def test_without_a_model(tmp_path):
    cfg = CharLMConfig(n_bytes=4000, d_model=16, n_heads=2, n_layers=1, seq_len=32, bs=4, sample=0, save_model=False,
                       results=str(tmp_path))
    find_experiment('charlm').run(cfg)
    assert [p.name for p in tmp_path.glob('*.model')] == []
    with pytest.raises(FileNotFoundError, match='--no-save-model'): load_run(tmp_path/'linear-seed0.json')

def bpe():
    return train_bpe(Documents([Document('a', 'the cat sat on the mat, and the dog on the cat. '*20)]), 270)

def test_trained_vocabulary_travels_along(tmp_path):
    torch.manual_seed(0)
    model = LM(270, **small).eval()
    model.vocab = bpe()
    model.save_pretrained(tmp_path/'model')
    again = LM.from_pretrained(tmp_path/'model')
    def text(m): return m.generate('the cat', 9, generator=torch.Generator().manual_seed(0))
    assert text(again) == text(model)
    (tmp_path/'model'/'tokenizer.json').write_text('{}')
    with pytest.raises(ValueError, match='tokenizer.json'): LM.from_pretrained(tmp_path/'model')

def test_tokenizer_larger_than_the_model():
    model = LM(256, **small)
    model.vocab = bpe()
    with pytest.raises(ValueError, match='vocab_sz=270'): model.generate('the cat', 3)

def test_foreign_vocabulary():
    "A GPT-2 is not trained on tokens that are not its own, and is trained on those of its tokenizer."
    from transformers import PreTrainedTokenizerFast
    docs = Documents([Document(name, 'the cat sat on the mat '*8) for name in 'ab'])
    held = Documents([Document('c', 'and the dog on the cat '*8)])
    model = RecurrentGPT2(byte_gpt2(12, 1, 3, 16, 270), window=8)
    def learner(vocab): return gpt2_learner(documents_dls(docs, held, 1, 16, vocab=vocab), model, 1e-3)
    with pytest.raises(ValueError, match='load_tokenizer'): learner(None)
    learner(PreTrainedTokenizerFast(tokenizer_object=bpe().tokenizer))
    assert model.vocab.vocab_sz == 270
    with pytest.raises(ValueError, match='vocab=model.vocab'): learner(None)

def test_scaler_travels_along(tmp_path):
    values = torch.randn(50, 3, dtype=torch.float64)*torch.tensor([1., 1e3, .1])+5
    model = informer()
    model.scaler = Scaler(values, ('a', 'b', 'c'))
    model.save_pretrained(tmp_path/'model')
    again = load_pretrained(tmp_path/'model').scaler
    assert torch.equal(again.transform(values), model.scaler.transform(values)) and again.columns == ('a', 'b', 'c')

def test_former_names_of_classes():
    "A configuration that names a class as it was called when it was written means that of today."
    from reformer_rnn.pretrained import from_json, load_model
    from reformer_rnn.training.verbs import former_names
    assert from_json({'$class': 'reformer_rnn.blocks.positions.Embed'}) is TokenEmbedding
    assert former_names['Embed'] == TokenEmbedding.__name__ and load_model is load_pretrained

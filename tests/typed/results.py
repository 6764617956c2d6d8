"List stored runs, and compare them."
import json
import tempfile
from pathlib import Path

from reformer_rnn.runs.read import Runs

with tempfile.TemporaryDirectory() as name:
    for kind in ('linear', 'lsh'):
        for seed in range(2):
            run = dict(experiment='copy', attention=kind, seed=seed, config=dict(lr=.01), bits=1.+seed)
            (Path(name)/f'{kind}-seed{seed}.json').write_text(json.dumps(run))
    runs = Runs(name)
    print(len(runs), 'runs of', sorted(set(runs.values('attention'))))
    linear = runs.where(attention='linear')
    for run in linear: print(run['seed'], run['bits'])
    for kind, own in runs.by('attention').items(): print(kind, sum(own.values('bits'))/len(own))
    print(runs.table({'bits': ('bits', '.2f'), 'runs': len}))
    first = runs[0]
    print(first['config']['lr'])

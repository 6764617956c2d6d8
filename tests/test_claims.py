"The ledger is what the stored results say, on disk and on its page."
import json
import shlex
from functools import cache

from conftest import ROOT

from reformer_rnn.runs.claim import Results
from reformer_rnn.ledger.command import experiment_parser
from reformer_rnn.ledger.ledger import (
    STORED,UPDATE,claims,commands_fold,counts_markdown,ledger,ledger_changes,source_markdown)

RESULTS = Results(ROOT/'nbs')

@cache
def rows():
    "The ledger, measured once: where a test asks for it, not in every process that collects the tests."
    return ledger(RESULTS)

def test_ledger():
    path = ROOT/'nbs'/STORED
    stored = json.loads(path.read_text()) if path.exists() else []
    changes = ledger_changes(stored, rows())
    assert not changes, '\n'.join([*changes, f'if this is right, run: {UPDATE}'])

def test_records_name_no_folder_of_a_machine():
    "Folders of results are written as seen from the notebook, so that their commands can be repeated anywhere."
    for path in (ROOT/'nbs').rglob('results/**/*.json'):
        record = json.loads(path.read_text())
        folder = record.get('config', {}).get('results', '') if isinstance(record, dict) else ''
        assert not folder.startswith(('/', '~')), f'{path.relative_to(ROOT)} names {folder}'

def shown(name):
    "The Markdown that a notebook shows."
    cells = json.loads((ROOT/'nbs'/name).read_text())['cells']
    return [''.join(o['data']['text/markdown']) for c in cells
            for o in c.get('outputs', []) if 'text/markdown' in o.get('data', {})]

def check(name, text):
    differing = sorted(set(text.splitlines()) - set('\n'.join(shown(name)).splitlines()))
    assert text in shown(name), '\n'.join([f'nbs/{name} does not show:', *differing,
                                           f'run: python tools/run_nbs.py nbs/{name}'])

def test_page():
    "Tables and commands of the page, and the table of the front page."
    for source in dict.fromkeys(o.source for o in claims):
        check('claims.ipynb', source_markdown(source, rows(), RESULTS))
        check('claims.ipynb', commands_fold(source, RESULTS))
    for name in ('claims.ipynb', 'index.ipynb'): check(name, counts_markdown(rows()))

def test_commands():
    "A claim that was not run names a command that exists, with its options."
    for claim in claims:
        if not claim.command: continue
        program, name, *options = shlex.split(claim.command)
        assert program == 'reformer_rnn', claim.name
        try: experiment_parser(name).parse_args(options)
        except SystemExit: raise AssertionError(f'{claim.name}: {claim.command}') from None

"The ledger is what the stored results say, on disk and on its page."
import json
import re
import shlex
from functools import cache

from conftest import ROOT

from reformer_rnn.runs.claim import Results
from reformer_rnn.ledger.command import experiment_parser
from reformer_rnn.ledger.ledger import (
    STORED,UPDATE,claims,commands_fold,counts_markdown,ledger,ledger_changes,printed_numbers,
    source_markdown)

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
    "Tables and commands of the page."
    for source in dict.fromkeys(o.source for o in claims):
        check('claims.ipynb', source_markdown(source, rows(), RESULTS))
        check('claims.ipynb', commands_fold(source, RESULTS))
    check('claims.ipynb', counts_markdown(rows()))

def documents():
    "Source -> text of the five documents, where they are at hand."
    begins = {'000': 'RSA reproduction', '001': 'GPT-2 thesis', '002': 'linear replication',
              '003': 'Block-Recurrent paper', '004': 'Reformer report'}
    files = sorted((ROOT.parent/'shared'/'seeds').glob('*.txt'))
    return {begins[path.name[:3]]: path.read_text() for path in files}

def test_every_printed_number_has_a_row_or_a_reason():
    "The list of printed numbers names rows that exist, and holds every cell of the documents' tables."
    numbers = printed_numbers(ROOT/'nbs')['number']
    known = {(o.source, o.name) for o in claims}
    for o in numbers: assert 'because' in o or (o['source'], o['row']) in known, o
    for source, text in documents().items():
        listed = {x for o in numbers if o['source'] == source for x in o['printed']}
        for x in listed: assert x in text, f'{source} does not print {x}'
        if source == 'GPT-2 thesis': continue # its only table is that of contents
        cells = re.findall(r'(?<=\t)[\d,.]*\d(?=[\t\n])', text)
        settings = {'8', '16', '32', '64', '24', '48', '96', '168', '288', '336', '512', '1024', '2048', '4096', '256'}
        missing = {*cells} - listed - settings
        assert not missing, f'{source}: {sorted(missing)} have neither row nor reason'

def test_comparisons_have_controls():
    "Forecasts are compared only where something can be gained in the same error."
    for claim in claims:
        if claim.family not in ('squared errors of table 1', 'absolute errors of table 1') or claim.hours: continue
        assert claim.control and claim.control.name.endswith(claim.family.split()[0] + ' error'), claim.name

def test_commands():
    "A claim that was not run names a command that exists, with its options."
    for claim in claims:
        if not claim.command: continue
        program, name, *options = shlex.split(claim.command)
        assert program == 'reformer_rnn', claim.name
        try: experiment_parser(name).parse_args(options)
        except SystemExit: raise AssertionError(f'{claim.name}: {claim.command}') from None

"What is generated is in step with what it is generated from, and a release needs no secret."
import configparser, sys, tomllib

import yaml
from conftest import ROOT, run

def test_package_and_notebooks(): run(sys.executable, 'tools/check_clean.py')

def test_readme(): run(sys.executable, 'tools/make_readme.py', '--check')

def test_pyproject():
    "Written only when it changes: the environment is set up again when it is newer."
    run(sys.executable, 'tools/make_pyproject.py', '--check')
    date = (ROOT/'pyproject.toml').stat().st_mtime_ns
    run(sys.executable, 'tools/make_pyproject.py')
    assert (ROOT/'pyproject.toml').stat().st_mtime_ns == date

def test_nbdev_3_reads_what_nbdev_2_reads():
    "Each setting of the two that has the same name has the same value."
    config = configparser.ConfigParser(delimiters=['='])
    config.read(ROOT/'settings.ini')
    old, new = config['DEFAULT'], tomllib.loads((ROOT/'pyproject.toml').read_text())
    common = old.keys() & new['tool']['nbdev'].keys()
    common.remove('update_pyproject')  # nbdev 3 would write it in a form of its own
    assert {'nbs_path', 'tst_flags', 'clean_ids'} <= common
    assert {o: str(new['tool']['nbdev'][o]) for o in common} == {o: old[o] for o in common}
    assert new['project']['version'] == old['version']

def workflow(name): return yaml.safe_load((ROOT/'.github'/'workflows'/name).read_text())

def test_a_release_is_tested_and_needs_no_secret():
    text = (ROOT/'.github'/'workflows'/'release.yml').read_text()
    release = yaml.safe_load(text)
    assert release[True] == {'push': {'tags': ['v*']}}  # YAML reads the key `on` as a truth value
    build, upload = release['jobs']['build'], release['jobs']['upload']
    assert 'bash .ci/run' in [o.get('run') for o in build['steps']], 'what is uploaded was not tested'
    assert upload['needs'] == 'build' and upload['environment'] == 'pypi'
    assert upload['permissions'] == {'id-token': 'write'} and 'permissions' not in build
    assert any(o['uses'].startswith('pypa/gh-action-pypi-publish@') for o in upload['steps'])
    assert 'secrets.' not in text and 'password' not in text
    for job in (build, upload):  # what one stores, the other takes
        assert [o['with']['name'] for o in job['steps'] if 'artifact' in o.get('uses', '')] == ['dist']

def test_every_python_is_tested():
    "The oldest that settings.ini allows is among them."
    versions = workflow('test.yml')['jobs']['test']['strategy']['matrix']['python']
    oldest = tomllib.loads((ROOT/'pyproject.toml').read_text())['project']['requires-python'].removeprefix('>=')
    assert versions[0] == oldest and len(versions) >= 3

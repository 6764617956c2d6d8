"""Write pyproject.toml from settings.ini, or say with `--check` whether the two are in step.

settings.ini is what nbdev 2 reads. nbdev 3 and other tools of today read pyproject.toml. What setuptools reads
differently from version to version (the license) or from files (packages, README.md) is left to setup.py.
"""
import argparse, json, shlex, sys
from configparser import ConfigParser
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
HEAD = '# Written from settings.ini by tools/make_pyproject.py (`make export`): an edit made here is lost.\n'
REQUIRES = '_requirements'
STATUS = {'3': '3 - Alpha', '4': '4 - Beta'}

def settings(root):
    "What settings.ini says, in its order."
    config = ConfigParser(delimiters=['='])
    config.read(root/'settings.ini', encoding='utf-8')
    return config['DEFAULT']

def value(o):
    "A string, truth value, list or dict as TOML writes it."
    if isinstance(o, list): return '[' + ', '.join(map(value, o)) + ']'
    if isinstance(o, dict): return '{' + ', '.join(f'{k} = {value(v)}' for k, v in o.items()) + '}'
    return json.dumps(o, ensure_ascii=False)

def table(name, content):
    "A table of TOML. nbdev 2 writes name and Python itself, without spaces."
    lines = [f'{k}={value(v)}' if k in ('name', 'requires-python') else f'{k} = {value(v)}' for k, v in content.items()]
    return '\n'.join([f'[{name}]', *lines, ''])

def project(cfg):
    "What the package is."
    return {'name': cfg['lib_name'], 'requires-python': f'>={cfg["min_python"]}', 'version': cfg['version'],
            'description': cfg['description'], 'authors': [{'name': cfg['author']}],
            'keywords': cfg['keywords'].split(),
            'classifiers': [f'Development Status :: {STATUS[cfg["status"]]}', f'Intended Audience :: {cfg["audience"]}',
                            f'Natural Language :: {cfg["language"]}',
                            *(f'Programming Language :: Python :: {o}' for o in ('3', '3.11', '3.12', '3.13')),
                            'Topic :: Scientific/Engineering :: Artificial Intelligence', 'Typing :: Typed'],
            'dependencies': shlex.split(cfg['requirements']), 'dynamic': ['license', 'readme']}

def nbdev(cfg):
    "What nbdev 3 needs to know besides."
    truths = ('recursive', 'put_version_in_init', 'jupyter_hooks', 'clean_ids', 'clear_all', 'custom_sidebar')
    texts = ('nbs_path', 'doc_path', 'tst_flags', 'readme_nb', 'branch', 'title')
    return {'lib_path': cfg['lib_path'], **{o: cfg[o] for o in texts}, **{o: cfg.getboolean(o) for o in truths},
            'allowed_out_metadata_keys': ['image/png', 'image/svg+xml'],  # sizes of figures, which nbdev 2 leaves
            'update_pyproject': False}

def pyproject(root):
    "The content of pyproject.toml."
    cfg = settings(root)
    extras = {k.removesuffix(REQUIRES): shlex.split(cfg[k]) for k in cfg if k.endswith(REQUIRES)}
    # Under the name Documentation nbdev 3 would write an address into every module
    urls = {'Repository': cfg['git_url'], 'Docs': cfg['doc_host'] + cfg['doc_baseurl'],
            'Changelog': f'{cfg["git_url"]}/blob/{cfg["branch"]}/CHANGELOG.md', 'Issues': f'{cfg["git_url"]}/issues'}
    command, _, main = cfg['console_scripts'].partition('=')
    tables = {'build-system': {'requires': ['setuptools>=64.0'], 'build-backend': 'setuptools.build_meta'},
              'project': project(cfg), 'project.optional-dependencies': extras, 'project.scripts': {command: main},
              'project.entry-points.nbdev': {cfg['lib_name']: f'{cfg["lib_path"]}._modidx:d'},
              'project.urls': urls, 'tool.nbdev': nbdev(cfg),
              'tool.uv': {'cache-keys': [{'file': f'{o}'} for o in ('pyproject.toml', 'settings.ini', 'setup.py')]}}
    return '\n'.join([HEAD, *(table(name, content) for name, content in tables.items())])

if __name__ == '__main__':
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--check', action='store_true', help='only say whether the file is in step')
    path = ROOT/'pyproject.toml'
    content = pyproject(ROOT)
    in_step = path.exists() and path.read_text(encoding='utf-8') == content
    if parser.parse_args().check:
        if not in_step: sys.exit(f'{path.name} is not in step: run `make export`')
    elif not in_step: path.write_text(content, encoding='utf-8')  # a new date would set .venv up again
    print('pyproject.toml is in step with settings.ini')

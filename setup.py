"Packaging: every value is read from settings.ini, edit it there."
import shlex
from configparser import ConfigParser
from pathlib import Path
from setuptools import find_packages, setup

config = ConfigParser(delimiters=['='])
config.read('settings.ini', encoding='utf-8')
cfg = config['DEFAULT']
lib = cfg['lib_name']

suffix = '_requirements'
extras = {key.removesuffix(suffix): shlex.split(cfg[key]) for key in cfg if key.endswith(suffix)}

setup(
    name=lib,
    version=cfg['version'],
    description=cfg['description'],
    long_description=Path('README.md').read_text(encoding='utf-8'),
    long_description_content_type='text/markdown',
    author=cfg['author'],
    url=cfg['git_url'],
    keywords=cfg['keywords'],
    license={'apache2': 'Apache-2.0'}[cfg['license']],
    classifiers=['Development Status :: ' + {'3': '3 - Alpha', '4': '4 - Beta'}[cfg['status']],
                 'Intended Audience :: ' + cfg['audience'],
                 'Natural Language :: ' + cfg['language'],
                 'Programming Language :: Python :: 3'],
    python_requires='>=' + cfg['min_python'],
    install_requires=shlex.split(cfg['requirements']),
    extras_require=extras,
    packages=find_packages(include=[lib, lib + '.*']),
    package_data={lib: ['samples/*', 'samples/*/*', 'py.typed']},
    include_package_data=False,  # package_data is all; else setuptools takes samples/ for a package
    entry_points={'console_scripts': [cfg['console_scripts']],
                  'nbdev': [f'{lib}={lib}._modidx:d']},  # lets other projects' docs link to ours
)

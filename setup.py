"Packaging: pyproject.toml, which is written from settings.ini, says the rest."
from configparser import ConfigParser
from pathlib import Path
from setuptools import find_packages, setup

config = ConfigParser(delimiters=['='])
config.read('settings.ini', encoding='utf-8')
lib = config['DEFAULT']['lib_name']

setup(
    long_description=Path('README.md').read_text(encoding='utf-8'),
    long_description_content_type='text/markdown',
    license={'apache2': 'Apache-2.0'}[config['DEFAULT']['license']],
    packages=find_packages(include=[lib, lib + '.*']),
    package_data={lib: ['samples/*', 'samples/*/*', 'py.typed']},
    include_package_data=False,  # package_data is all; else setuptools takes samples/ for a package
)

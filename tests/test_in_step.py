"What is generated is in step with the notebooks it is generated from."
import sys

from conftest import run

def test_package_and_notebooks(): run(sys.executable, 'tools/check_clean.py')

def test_readme(): run(sys.executable, 'tools/make_readme.py', '--check')

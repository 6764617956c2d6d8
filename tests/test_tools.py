"The tools report what they are there to report, on a small project of their own."
import base64, hashlib, importlib, io, json, os, re, shutil, subprocess, sys, types, venv, zipfile
from importlib.metadata import distribution
from pathlib import Path

import nbformat
import pip
import pytest
from PIL import Image, ImageColor
from conftest import LONG, ROOT, forked_script, run

# one blue pixel
PICTURE = ('iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==')

def cell(kind, source, *outputs):
    "A notebook cell with `outputs` as stored outputs."
    code = dict(execution_count=None, outputs=list(outputs)) if kind == 'code' else {}
    return dict(cell_type=kind, id=f'c{abs(hash(source)) % 10**7}', metadata={}, source=source, **code)

def stream(text): return dict(output_type='stream', name='stdout', text=[text])

def write_notebook(path, *cells):
    kernel = dict(display_name='python3', language='python', name='python3')
    notebook = dict(cells=list(cells), metadata=dict(kernelspec=kernel), nbformat=4, nbformat_minor=5)
    path.write_text(json.dumps(notebook, indent=1))

def tool(name, folder, *args):
    "Run a tool in `folder`; the finished process."
    return forked_script(ROOT/'tools'/name, folder, *args)

def nbdev(command, folder):
    "Run a command of nbdev in `folder`."
    ran = forked_script(Path(sys.executable).with_name(f'nbdev_{command}'), folder)
    assert ran.returncode == 0, ran.stdout + ran.stderr

@pytest.fixture
def project(tmp_path):
    "An nbdev project with one module, exported and clean."
    shutil.copy(ROOT/'settings.ini', tmp_path)
    (tmp_path/'nbs').mkdir()
    write_notebook(tmp_path/'nbs'/'00_one.ipynb', cell('markdown', '# One\n\n> A module.'),
                   cell('code', '#| default_exp one'), cell('code', '#| export\ndef one(): return 1'))
    for command in 'export', 'clean': nbdev(command, tmp_path)
    return tmp_path

def contents(folder): return {p: p.read_bytes() for p in folder.rglob('*') if p.is_file()}

def test_check_clean_accepts(project):
    before = contents(project)
    checked = tool('check_clean.py', project)
    assert checked.returncode == 0, checked.stderr
    assert contents(project) == before

def edit_module(project): (project/'reformer_rnn'/'one.py').write_text('def one(): return 2\n')
def add_module(project): (project/'reformer_rnn'/'two.py').write_text('')
def remove_module(project): (project/'reformer_rnn'/'one.py').unlink()
def unclean_notebook(project):
    path = project/'nbs'/'00_one.ipynb'
    path.write_text(path.read_text().replace('"execution_count": null', '"execution_count": 7', 1))

@pytest.mark.parametrize('change, named', [
    (edit_module, 'reformer_rnn/one.py: not in step'), (remove_module, 'reformer_rnn/one.py: not in step'),
    (add_module, 'reformer_rnn/two.py: no notebook'), (unclean_notebook, 'nbs/00_one.ipynb: not clean')])
def test_check_clean_names(project, change, named):
    change(project)
    before = contents(project)
    checked = tool('check_clean.py', project)
    assert checked.returncode == 1 and named in checked.stderr
    assert contents(project) == before

def test_run_nbs_keeps_outputs_of_skipped_cells(project):
    path = project/'nbs'/'01_run.ipynb'
    write_notebook(path, cell('code', 'print(6 * 7)', stream('stale')),
                   cell('code', '#| eval: false\nraise ValueError', stream('kept')),
                   cell('code', '#| slow\nprint("from a slow cell")', stream('kept')))
    outputs = lambda: [''.join(o['text']) for c in json.loads(path.read_text())['cells'] for o in c['outputs']]
    assert tool('run_nbs.py', project, path).returncode == 0
    assert outputs() == ['42\n', 'kept', 'kept']
    assert tool('run_nbs.py', project, path, '--flags', 'slow').returncode == 0
    assert outputs() == ['42\n', 'kept', 'from a slow cell\n']

def test_run_nbs_stores_light_pictures(project):
    (project/'nbs'/'_site').mkdir()
    shutil.copy(ROOT/'nbs'/'_site'/'matplotlibrc', project/'nbs'/'_site')
    path = project/'nbs'/'01_run.ipynb'
    write_notebook(path, cell('code', 'from PIL import Image\nImage.linear_gradient("L").convert("RGB")'),
                   cell('code', 'Image.new("RGBA", (9,9))'),
                   cell('code', 'import matplotlib.pyplot as plt\nplt.plot([1,3,2]);'),
                   cell('code', 'import random\nplt.plot([random.Random(i).random() for i in range(9000)]);'))
    stored = lambda: [cell['outputs'][-1] for cell in json.loads(path.read_text())['cells']]
    picture = lambda output: Image.open(io.BytesIO(base64.b64decode(output['data']['image/png'])))
    assert tool('run_nbs.py', project, path).returncode == 0
    gradient, transparent, drawing, heavy = stored()
    assert picture(gradient).mode == 'P' and picture(transparent).convert('RGBA').getextrema()[3] == (0, 0)
    difference = max(abs(a - b) for a,
                     b in zip(picture(gradient).convert('L').tobytes(), Image.linear_gradient('L').tobytes()))
    assert difference <= 4, 'a picture has other colours'
    svg = ''.join(drawing['data']['image/svg+xml'])
    assert 'image/png' not in drawing['data'] and len(svg) < 20_000 and '#6b7280' in svg and 'metadata' not in svg
    sizes = set(re.findall(r'transform="scale\((.*?)\)', svg))
    assert sizes == {str(1/64)}, f'letters have another size than their places: {sizes}'
    assert 'image/svg+xml' not in heavy['data'], 'a drawing of very many points weighs more than its pixels'
    assert picture(heavy).width in (2*heavy['metadata']['image/png']['width'],
                                    2*heavy['metadata']['image/png']['width'] + 1)
    assert picture(heavy).convert('RGBA').getpixel((0, 0))[3] == 0, 'the figure has a paper of its own'
    before = path.read_bytes()
    assert tool('run_nbs.py', project, path).returncode == 0
    assert path.read_bytes() == before, 'running twice changes pictures'

def test_packed_drawings():
    sys.path.insert(0, str(ROOT/'tools'))
    from sitebuild.figures import packed, packed_inside, relative
    assert relative('M 10 10 \nL 20 10.5 \nL -1 .25 \nz\nM 1 1 \nQ 2 2 3 3') == 'm10 10l10 .5l-21-10.25zm-9-9q1 1 2 2'
    svg = ('<svg><!-- a --><g id="used">\n <path id="glyph" d="M 80 16 \nL 96 0 \nz\n" transform="scale(0.015625)"/>\n'
           '</g><use xlink:href="#used" transform="translate(63.6 0)"/><path fill="#abc" d="M 0 0 \nL 9 9 \n"/>'
           '<path d="M 0 0 \nL 9 9 \n" style="fill: none"/></svg>')
    assert packed(svg) == ('<svg><g id="g0"><path d="m10 2l2-2z" transform="scale(.125)"/></g>'
                           '<use href="#g0" x="63.6"/><path fill="#abc" d="m0 0l9 9"/></svg>')
    assert packed(packed(svg)) == packed(svg)
    inside = '<img src="data:image/svg+xml;base64,{}">'.format
    coded = lambda text: base64.b64encode(text.encode()).decode()
    assert packed_inside(inside(coded(svg))) == inside(coded(packed(svg)))

def styled(site):
    "A folder with the two files of styles that every site has."
    (site/'_static').mkdir()
    (site/'_static'/'site.css').write_text('p { color: red; }')
    (site/'_static'/'pygments.css').write_text('')

def test_pictures_of_runs(tmp_path):
    "Runs, interval, region and claimed number stand on one scale; what was not run has no picture."
    sys.path.insert(0, str(ROOT/'tools'))
    from sitebuild import html, runs
    row = dict(name='a claim', value=.5, low=.25, high=.75, runs=[.25, .75], claimed=1., region=[0., None])
    svg = runs.picture(row)
    assert '<rect x="8.0" width="152.0"' in svg and 'd="M44.0 9H116.0"' in svg
    assert 'd="M44.0 9h0M116.0 9h0"' in svg and 'd="M152.0 1v16"' in svg
    assert runs.picture({**row, 'value': None}) == ''
    assert 'interval' not in runs.picture({**row, 'low': None, 'high': None})
    path = tmp_path/'claims.json'
    path.write_text(json.dumps([row]))
    table = ('<table class="x"><thead><tr><th>claim and place</th><th>here</th><th>verdict</th></tr></thead><tbody>'
             '<tr><td><strong>a claim</strong>: b</td><td>5</td><td><strong>undecided</strong></td></tr>'
             '</tbody></table>')
    page = tmp_path/'a.html'
    page.write_text(table)
    styled(tmp_path)
    html.finish(tmp_path, runs.read_rows(path))
    assert page.read_text().count('<svg class=runs ') == 1 and 'data-verdict="undecided"' in page.read_text()
    path.write_text(json.dumps([row, row]))
    with pytest.raises(ValueError, match="two claims are called 'a claim'"): runs.read_rows(path)

def test_finished_pages(tmp_path):
    "Colours of the theme stand once, for all pages; printed columns are marked, so that their lines do not wrap."
    sys.path.insert(0, str(ROOT/'tools'))
    from sitebuild import html
    styled(tmp_path)
    style = tmp_path/'_static'/'site.css'
    printed = '<div class="output stream highlight-myst-ansi"><div class="highlight"><pre>%s</pre></div></div>'
    for name in 'ab':
        page = '<style>\nbody {\n--colour: red;\n}\n</style>\n' + printed % 'a   1\nbb  2' + printed % 'one  gap\nonly'
        (tmp_path/f'{name}.html').write_text(page)
    html.finish(tmp_path)
    page = (tmp_path/'b.html').read_text()
    assert page.count('class="output stream highlight-myst-ansi columns"') == 1 and '<style>' not in page
    assert style.read_text().count('--colour: red') == 1 and style.read_text().startswith('p { color: red; }')

def test_pictures_have_short_names_and_weights(tmp_path):
    """Twelve digits of a checksum tell pictures apart; what a page says of checksums stays whole. Pixels are stored as
    WebP, on paper and in ink."""
    sys.path.insert(0, str(ROOT/'tools'))
    from sitebuild import html
    from sitebuild.figures import GREY, INK
    styled(tmp_path)
    name = '0123456789abcdef'*4
    (tmp_path/'_images').mkdir()
    pixels = Image.new('RGBA', (9, 9), GREY)
    pixels.putpixel((0, 0), (0, 0, 0, 0))
    pixels.putpixel((1, 0), (1, 2, 3, 255))
    pixels.save(tmp_path/'_images'/f'{name}.png')
    (tmp_path/'a.html').write_text(f'<img src="_images/{name}.png"> has the checksum {name}')
    html.finish(tmp_path)
    stored, = (tmp_path/'_images').iterdir()
    shown = Image.open(stored).convert('RGB')
    assert stored.name == f'{name[:12]}.webp' and shown.getpixel((8, 8)) == ImageColor.getrgb(INK)
    assert shown.getpixel((0, 0)) == (255, 255, 255) and shown.getpixel((1, 0)) == (1, 2, 3)
    assert (tmp_path/'a.html').read_text() == f'<img src="_images/{stored.name}"> has the checksum {name}'

def test_formulas():
    "What the converter of formulas would set as single letters, or with a gap."
    sys.path.insert(0, str(ROOT/'tools'))
    from sitebuild.maths import mathml
    assert '<mo>arg</mo>' in mathml(r'$\arg\max_i\,x$') and '<msub><mo>max</mo>' in mathml(r'$\arg\max_i\,x$')
    assert '<mo>&#x0002B;&#x0003D;</mo>' in mathml(r'$a \mathrel{+}= b$')
    assert mathml(r'$$\begin{aligned}a &= b \\ c &= d\end{aligned}$$').count('<mtr>') == 2
    assert mathml(r'$$a = {b \qquad c}, \qquad d$$').count('<math ') == 2
    assert mathml(r'$a \qquad b$').count('<math ') == 1
    # the exponent of all, not of the last bracket
    assert '</mrow><mi>T</mi></msup>' in mathml(r'$S \bigl(v - k\bigr)^T$')
    assert mathml(r'$a & b$') is None

def test_run_nbs_leaves_a_failing_notebook(project):
    path = project/'nbs'/'01_run.ipynb'
    write_notebook(path, cell('code', 'print(1)', stream('stale')), cell('code', 'raise ValueError("no luck")'))
    before = path.read_bytes()
    ran = tool('run_nbs.py', project, path)
    assert ran.returncode == 1 and 'no luck' in ran.stdout
    assert path.read_bytes() == before

def test_readme(project):
    write_notebook(project/'nbs'/'index.ipynb', cell('markdown', '# T\n\n[one](00_one.ipynb) [far](https://far.away)'),
                   cell('code', '#| hide\nsecret'), cell('code', 'print(1)', stream('printed')),
                   cell('code', '#| echo: false\nplot()', dict(output_type='display_data', metadata={},
                                                             data={'image/png': PICTURE, 'text/plain': ['<Figure>']})))
    missing = tool('make_readme.py', project, '--check')
    assert missing.returncode == 1 and 'README.md, images/readme_1.png' in missing.stderr
    assert tool('make_readme.py', project).returncode == 0
    assert tool('make_readme.py', project, '--check').returncode == 0
    readme = (project/'README.md').read_text()
    assert readme.split('\n\n', 1)[1] == '''# T

[one](nbs/00_one.ipynb) [far](https://far.away)

```python
print(1)
```

```
printed
```

![](images/readme_1.png)
'''
    (project/'images'/'readme_2.svg').write_text('')
    assert 'images/readme_2.svg' in tool('make_readme.py', project, '--check').stderr, 'a picture of yesterday stays'

def empty_venv(folder):
    "A virtual environment in which nothing is installed; its folder of packages, and its Python."
    venv.create(folder, symlinks=True)
    python = folder/'bin'/'python'
    return Path(run(python, '-c', 'import sysconfig; print(sysconfig.get_path("purelib"))').strip()), python

def install_by_hand(site, name, **files):
    "Lay modules and what pip knows of them into a folder of packages; the folder of the latter."
    info = site/f'{name}-1.0.dist-info'
    info.mkdir()
    for module, text in files.items(): (site/f'{module}.py').write_text(text)
    (info/'METADATA').write_text(f'Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n')
    compiled = [f'__pycache__/{o}.cpython-311.pyc,,' for o in files]
    listed = [f'{o}.py,sha256=x,8' for o in files] + [f'{info.name}/METADATA,,', *compiled, f'{info.name}/RECORD,,']
    (info/'RECORD').write_text(''.join(line + '\n' for line in listed))
    return info

def test_check_env_removes_a_torchvision_that_does_not_load(tmp_path):
    site, python = empty_venv(tmp_path/'venv')
    (site/'pip').symlink_to(Path(pip.__file__).parent)
    install_by_hand(site, 'torchvision',
                    torchvision='raise RuntimeError("operator torchvision::nms does not exist")')
    check = lambda *args: subprocess.run([python, ROOT/'tools'/'check_env.py', 'json', *args], capture_output=True,
                                         text=True)
    assert 'torchvision does not load' in check().stderr
    assert 'Removed it' in check('--repair').stdout
    assert check().returncode == 0
    missing = check('no_such_module')
    assert missing.returncode == 1 and 'no_such_module cannot be imported' in missing.stderr

@pytest.fixture
def site(tmp_path):
    "The folder of packages of a virtual environment with one small package, installed by hand."
    site, _ = empty_venv(tmp_path/'venv')
    install_by_hand(site, 'small', small='one = 1\n')
    return site

def mend(site):
    "What `check_env.py --mend` says in the environment of `site`, and its exit code."
    ran = subprocess.run([site.parents[2]/'bin'/'python', ROOT/'tools'/'check_env.py', '--mend'], capture_output=True,
                         text=True)
    assert not ran.stderr, ran.stderr
    return ran.stdout, ran.returncode

DAMAGE = {  # What a killed pip leaves: (file, new content or None for none, what is said)
    'no list of files': ('small-1.0.dist-info/RECORD', None, 'No such file'),
    'empty list': ('small-1.0.dist-info/RECORD', '', 'RECORD is cut off'),
    'half a list': ('small-1.0.dist-info/RECORD', 'small.py,sha', 'RECORD is cut off'),
    'no metadata': ('small-1.0.dist-info/METADATA', None, 'No such file'),
    'half the metadata': ('small-1.0.dist-info/METADATA', 'Metadata-Version: 2.1\nNam', 'METADATA is cut off'),
    'a file is missing': ('small.py', None, 'small.py is missing'),
    'half a file': ('small.py', 'one', 'small.py is cut off')}

@pytest.mark.parametrize('kind', DAMAGE)
def test_check_env_mends_what_a_killed_pip_leaves(site, kind):
    assert mend(site) == ('', 0)
    name, content, said = DAMAGE[kind]
    if content is None: (site/name).unlink()
    else: (site/name).write_text(content)
    told, code = mend(site)
    assert code == 1 and 'small-1.0 is damaged and will be installed again' in told and said in told
    assert not (site/'small-1.0.dist-info').exists()
    assert mend(site) == ('', 0)

def small_wheel(folder, name, n_files=150):
    "A wheel of many small modules."
    info = f'{name}-1.0.dist-info'
    files = {f'{name}/m{i}.py': f'value = {i}\n' for i in range(n_files)}
    files |= {f'{info}/METADATA': f'Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n',
              f'{info}/WHEEL': 'Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n'}
    sha = lambda text: base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).rstrip(b'=').decode()
    rows = [f'{file},sha256={sha(text)},{len(text)}' for file, text in files.items()]
    files[f'{info}/RECORD'] = '\n'.join([*rows, f'{info}/RECORD,,', ''])
    with zipfile.ZipFile(folder/f'{name}-1.0-py3-none-any.whl', 'w') as wheel:
        for file, text in files.items(): wheel.writestr(file, text)

def wrong_files(site, names):
    "Files of these packages that are missing, or other than their wheels had them."
    wanted = {f'{name}/m{i}.py': f'value = {i}\n' for name in names for i in range(150)}
    found = {file: site/file for file in wanted}
    return [file for file, path in found.items() if not path.is_file() or path.read_text() != wanted[file]]

# Python imports this when it starts: it kills its own process as soon as it has opened so many modules for writing.
KILLED = '''
import os, signal, sys
written = 0
def watch(event, args):
    global written
    if event != 'open' or not str(args[0]).endswith('.py') or 'w' not in str(args[1]): return
    written += 1
    if written > {n}: os.kill(os.getpid(), signal.SIGKILL)
sys.addaudithook(watch)
'''

@pytest.mark.skipif(os.name == 'nt', reason='signals')
@pytest.mark.parametrize('share', (.07, .38, .64, .93))
def test_check_env_mends_a_pip_killed_while_it_installs(site, tmp_path, share):
    names = [f'small{i}' for i in range(8)]
    for name in names: small_wheel(tmp_path, name)
    python = site.parents[2]/'bin'/'python'
    install = [sys.executable, '-m', 'pip', '--python', str(python), 'install', '-q', '--no-index', '--no-deps',
               '--no-compile', '--find-links', str(tmp_path), *names]
    shutil.rmtree(site/'small-1.0.dist-info')
    (tmp_path/'sitecustomize.py').write_text(KILLED.format(n=int(share*8*150)))
    killed = subprocess.run(install, env=os.environ | dict(PYTHONPATH=str(tmp_path)))
    assert killed.returncode != 0
    left = wrong_files(site, names)
    assert len(left) == 8*150-int(share*8*150)
    mend(site)
    run(*install)
    assert not wrong_files(site, names)
    assert mend(site) == ('', 0)

def test_check_env_names_the_place_to_which_an_environment_was_moved(site):
    script = site.parents[2]/'bin'/'tool'
    script.write_text('#!/the/old/place/bin/python\nprint(1)\n')
    script.chmod(0o755)
    check = lambda *args: subprocess.run([script.with_name('python'), ROOT/'tools'/'check_env.py', 'json', *args],
                                         capture_output=True, text=True).stderr
    assert '.venv was made in /the/old/place and moved' in check()
    assert 'was made in /the/old/place' in mend(site)[0]
    assert run(script) == '1\n' and not check()

    assert 'reformer_rnn is imported from nowhere' in check('--checkout')
    other = site.parents[2]/'other'
    (other/'reformer_rnn').mkdir(parents=True)
    (other/'reformer_rnn'/'__init__.py').touch()
    (site/'editable.pth').write_text(str(other))
    assert f'imported from {other}, not from {ROOT}; `make install`' in check('--checkout')
    (site/'editable.pth').write_text(str(ROOT))
    assert not check('--checkout')

@pytest.fixture
def set_up(monkeypatch, tmp_path):
    "`tools/set_up.py` with a pip that looks nowhere, on Linux without an NVIDIA GPU."
    empty = tmp_path/'empty'
    empty.mkdir()
    for name in 'PIP_FIND_LINKS', 'PIP_EXTRA_INDEX_URL', 'PIP_CONSTRAINT': monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv('PIP_CONFIG_FILE', os.devnull)
    monkeypatch.setenv('PIP_INDEX_URL', empty.as_uri())
    monkeypatch.setenv('PATH', str(empty))
    monkeypatch.syspath_prepend(ROOT/'tools')
    found = importlib.import_module('set_up')
    monkeypatch.setattr(found, 'VENV', Path(sys.prefix))
    monkeypatch.setattr(found, 'installed_build', lambda: None)
    monkeypatch.setattr(found.platform, 'system', lambda: 'Linux')
    return found

def test_set_up_takes_the_build_of_torch_that_fits_the_machine(set_up, monkeypatch, tmp_path):
    version = set_up.pinned('torch')
    cpu, cuda = f'torch=={version}+cpu', f'torch==={version}'
    index, wheels = tmp_path/'index', tmp_path/'index'/'torch'
    wheels.mkdir(parents=True)
    name = f'torch-{version}+cpu-py3-none-any.whl'
    info = f'torch-{version}+cpu.dist-info'
    with zipfile.ZipFile(wheels/name, 'w') as wheel:
        wheel.writestr(f'{info}/METADATA', f'Metadata-Version: 2.1\nName: torch\nVersion: {version}+cpu\n')
        wheel.writestr(f'{info}/WHEEL', 'Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n')
        wheel.writestr(f'{info}/RECORD', '')
    (wheels/'index.html').write_text(f'<a href="{name}">{name}</a>')
    nowhere = (tmp_path/'nowhere').as_uri()

    taken, why = set_up.torch_build(None, index.as_uri())
    assert taken == [cpu, '--extra-index-url', index.as_uri()] and 'no NVIDIA GPU is seen' in why
    assert set_up.torch_build('cuda', index.as_uri()) == ([cuda], 'for CUDA, as asked for')
    monkeypatch.setenv('PIP_FIND_LINKS', str(wheels))  # where pip is set to look, no index is asked
    assert set_up.torch_build('cpu', nowhere) == ([cpu], 'for the CPU, as asked for')

    monkeypatch.setattr(set_up, 'cpu_build', lambda index: None)
    taken, why = set_up.torch_build(None, nowhere)
    assert taken == [cuda] and f'nor at {nowhere} (TORCH_INDEX=' in why
    with pytest.raises(SystemExit, match='Name an index with TORCH_INDEX=URL, or take TORCH=cuda'):
        set_up.torch_build('cpu', nowhere)
    monkeypatch.setattr(set_up, 'installed_build', lambda: 'cuda')
    assert set_up.torch_build(None, nowhere)[0] == [cuda], 'what is installed stays'

    monkeypatch.setattr(set_up, 'installed_build', lambda: None)
    tool = tmp_path/'empty'/'nvidia-smi'
    tool.write_text('#!/bin/sh\necho "GPU 0: NVIDIA H200"\n')
    tool.chmod(0o755)
    assert set_up.torch_build(None, index.as_uri()) == ([cuda], 'for CUDA, since this machine has a GPU (GPU 0: NVIDIA '
                                                                'H200)')
    monkeypatch.setattr(set_up.platform, 'system', lambda: 'Darwin')
    assert set_up.torch_build(None, index.as_uri())[0] == [f'torch=={version}']

def test_commands_of_nbdev_that_do_not_fit_say_what_does(set_up, monkeypatch, tmp_path):
    scripts = {o.name: o.module for o in distribution('nbdev').entry_points if o.group == 'console_scripts'}
    quarto = {name for name, module in scripts.items() if module in ('nbdev.quarto', 'nbdev.release')}
    assert {f'nbdev_{o}' for o in set_up.INSTEAD} == quarto-{'nbdev_requirements'}
    targets = re.findall('^([a-z-]+):', (ROOT/'Makefile').read_text(), re.M)
    named = re.findall('`make ([a-z ]+)`', ' '.join(set_up.INSTEAD.values()))
    assert named and {o for line in named for o in line.split()} <= {*targets}

    (tmp_path/'bin').mkdir()
    monkeypatch.setattr(set_up, 'VENV', tmp_path)
    set_up.settle()
    ran = subprocess.run([tmp_path/'bin'/'nbdev_docs'], capture_output=True, text=True)
    assert ran.returncode == 1
    assert ran.stderr == 'nbdev_docs does not fit this project: `make docs` renders the site\n'

def test_jupyter_saves_figures_as_they_are_stored(tmp_path):
    "Both pictures of a figure, drawn as Jupyter draws them, become the one that is stored."
    hook = {}
    config = types.SimpleNamespace(FileContentsManager=types.SimpleNamespace())
    exec((ROOT/'tools'/'jupyter'/'jupyter_server_config.py').read_text(), hook | dict(c=config))
    path = tmp_path/'nbs'/'a.ipynb'
    path.parent.mkdir()
    shutil.copy(ROOT/'settings.ini', tmp_path)
    content = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(execution_count=3, outputs=[
        nbformat.v4.new_output('display_data', {'image/png': PICTURE, 'image/svg+xml': '<svg><g d="1.23456"/></svg>'},
                               metadata={'image/png': dict(width=1), 'needs_background': 'light'})])])
    nbformat.write(content, path)
    config.FileContentsManager.pre_save_hook(model=dict(type='notebook', content=content), path=str(path))
    cell, = content.cells
    assert cell.execution_count is None
    assert cell.outputs[0].data == {'image/svg+xml': '<svg><g d="1.23"/></svg>'} and not cell.outputs[0].metadata

def test_check_env_removes_remains(site):
    (site/'~mall').mkdir()
    assert '~mall' in mend(site)[0] and not (site/'~mall').exists()

def test_check_env_mends_no_system(tmp_path):
    ran = subprocess.run([sys._base_executable, ROOT/'tools'/'check_env.py', '--mend'], capture_output=True, text=True)
    assert ran.returncode == 1 and 'is not the Python of a virtual environment' in ran.stderr

def test_what_takes_long_exists():
    "A test that was renamed would be begun late again."
    for name in LONG:
        file, _, rest = name.partition('::')
        test, _, notebook = rest.rstrip(']').partition('[')
        assert f'def {test}(' in (ROOT/file).read_text() and (ROOT/notebook).exists(), name

def test_container_and_conda_ask_for_what_there_is():
    "The container runs targets of the Makefile in the folder that its scripts name, and conda takes torch as pip does."
    lines = (ROOT/'Containerfile').read_text().splitlines()
    instructions = [line.split(' ', 1) for line in lines if line and line[0] != '#']
    assert {name for name, _ in instructions} <= {'FROM', 'RUN', 'WORKDIR', 'COPY', 'ENV', 'CMD'}
    targets = set(re.findall(r'^([a-z-]+):', (ROOT/'Makefile').read_text(), re.M))
    targets |= {f'.venv/.ready-{part}' for part in ('all', 'demo', 'lab')}
    said = dict(instructions)
    run = [text for name, text in instructions if name == 'RUN']
    assert re.search(r'make (\S+)', run[-1])[1] in targets
    assert json.loads(said['CMD'])[1] in targets
    assert said['ENV'] == f'PATH={said["WORKDIR"]}/.venv/bin:$PATH'
    assert (ROOT/'.containerignore').read_text().split()[0] == '.venv'
    bound = re.search(r'^requirements = (torch\S+)', (ROOT/'settings.ini').read_text(), re.M)[1]
    assert f'  - py{bound}\n' in (ROOT/'environment.yml').read_text()

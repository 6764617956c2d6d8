"The documentation site: in step with the notebooks, whole in a real browser, and refused when a notebook is at fault."
import ast, dataclasses, importlib, inspect, json, math, os, re, shutil, sys, threading, tomllib
from functools import cache, cached_property, partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
import torch
from conftest import ROOT, run
from test_tools import PICTURE, cell, contents, nbdev, stream, tool, write_notebook

sys.path.insert(0, str(ROOT/'tools'))
from find_browser import ADVICE, find
from sitebuild import agreement

DOCS = ROOT/'docs'
FORWARDS = {p.relative_to(DOCS).as_posix()
            for p in DOCS.rglob('*.html') if 'http-equiv="refresh"' in p.read_text()[:600]}
PAGES = sorted({p.relative_to(DOCS).as_posix() for p in DOCS.rglob('*.html')} - FORWARDS)
MB = 2**20

def test_docs_in_step(): run(sys.executable, 'tools/build_docs.py', '--check')

def test_size():
    assert PAGES, 'docs/ holds no pages; run `make docs`'
    assert sum(p.stat().st_size for p in DOCS.rglob('*') if p.is_file()) <= 16*MB
    assert (DOCS/'.nojekyll').exists()

# The reference, beside the package as Python imports it

KINDS = {inspect.Parameter.VAR_POSITIONAL: '*', inspect.Parameter.VAR_KEYWORD: '**',
         inspect.Parameter.KEYWORD_ONLY: 'by name'}

def imported(key):
    "The module and the object that an entry is about, and the class that holds it, if one does."
    module, _, name = key.partition(':')
    module = importlib.import_module(f'reformer_rnn.{module}')
    owner, _, member = name.rpartition('.')
    if not owner: return module, getattr(module, name), None
    holder = getattr(module, owner)
    found = inspect.getattr_static(holder, member)
    if isinstance(found, (property, cached_property)): return module, found, holder
    return module, getattr(holder, member), holder

def written(shown):
    "Name, kind and default of each parameter in a documented signature."
    inside = shown.partition('(')[2].rpartition(')')[0]
    args = ast.parse(f'def f({inside}): pass').body[0].args
    rows = [(a.arg, '', d) for a, d in zip(args.args, [None]*(len(args.args) - len(args.defaults)) + args.defaults)]
    if args.vararg: rows.append((args.vararg.arg, '*', None))
    rows += [(a.arg, 'by name', d) for a, d in zip(args.kwonlyargs, args.kw_defaults)]
    if args.kwarg: rows.append((args.kwarg.arg, '**', None))
    return [(name, kind, ast.unparse(default) if default else None) for name, kind, default in rows]

def taken(o):
    "Name, kind and default of each parameter that the object `o` takes."
    try: found = [p for p in inspect.signature(o).parameters.values() if p.name != 'self']
    except ValueError: return []  # some classes that are not written in Python
    return [(p.name, KINDS.get(p.kind, ''), p.default) for p in found]

def same_default(source, value, module):
    if source is None or value is inspect.Parameter.empty: return source is None and value is inspect.Parameter.empty
    made = eval(source, vars(module))
    if isinstance(made, dataclasses.Field): return repr(value) == '<factory>'  # as dataclasses show it
    if made is value or repr(made) == repr(value): return True
    return inspect.isfunction(made) and made.__code__.co_code == value.__code__.co_code

def wrong(key, shown):
    "What the signature that is `shown` for an entry gets wrong; empty if nothing."
    module, o, holder = imported(key)
    if isinstance(o, (property, cached_property)): return '' if '(' not in shown else 'is a property'
    rows, real = written(shown), taken(o)
    if inspect.isclass(o) and 'def __init__(' not in inspect.getsource(o):  # it shows what it adds to its bases
        inherited = {p[0] for base in o.__mro__[1:-1] for p in taken(base)}
        shown_names = {row[0] for row in rows}
        real = sorted((p for p in real if p[0] in shown_names or p[0] not in inherited), key=lambda p: p[0])
        rows = sorted(rows, key=lambda row: row[0])
    if [p[:2] for p in real] != [row[:2] for row in rows]: return f'takes {real}'
    return ', '.join(row[0] for row, p in zip(rows, real) if not same_default(row[2], p[2], module))

def test_reference_is_that_of_the_package():
    "Every documented signature is that of the imported object, and entries stand in the order of its source."
    faults, count = [], 0
    for name in PAGES:
        last = 0
        for key, shown in agreement.entries((DOCS/name).read_text()):
            count += 1
            if fault := wrong(key, shown): faults.append(f'{name}: {shown}: {fault}')
            _, o, holder = imported(key)
            line = inspect.getsourcelines(getattr(o, 'fget', None) or getattr(o, 'func', o))[1]  # of properties, too
            if line < last: faults.append(f'{name}: {key} is out of order')
            last = line
    assert not faults, '\n'.join(faults)
    assert count > 900

def test_every_page_has_two_layers():
    "A page that documents something has a lesson and then the reference, with a folded source in every entry."
    for name in PAGES:
        page = (DOCS/name).read_text()
        found, held = agreement.entries(page), agreement.sources(page)
        lesson, mark, _ = page.partition(agreement.REFERENCE)
        assert bool(found) <= bool(mark), f'{name} documents something outside of a reference'
        assert 'data-api=' not in lesson, f'{name} documents something in its lesson'
        for key, _ in found:
            top = key.partition(':')[2].partition('.')[0]
            assert key in held or f'{key.partition(":")[0]}:{top}' in held, f'{name} lacks the source of {key}'

@pytest.fixture(scope='module')
def browser():
    "A headless Chromium that knows no other machine."
    if not (path := find()): pytest.skip(ADVICE)
    from playwright.sync_api import sync_playwright
    args = ['--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1']
    if not os.geteuid(): args.append('--no-sandbox')
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=path, args=args)
        yield chromium
        chromium.close()

@pytest.fixture(scope='module')
def server():
    "The address at which docs/ is served."
    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, *args): pass
    with ThreadingHTTPServer(('127.0.0.1', 0), partial(Quiet, directory=DOCS)) as running:
        threading.Thread(target=running.serve_forever, daemon=True).start()
        yield f'http://127.0.0.1:{running.server_port}'
        running.shutdown()

def watched(page, complaints):
    "A page that notes in a list what goes wrong on it, and what it asks of another machine."
    def failed(request):
        if request.failure != 'net::ERR_ABORTED':  # which is what leaving a page does to its unfinished requests
            complaints.append(f'failed: {request.url} ({request.failure})')
    def asked(request):
        if urlsplit(request.url).hostname not in (None, '', '127.0.0.1'):
            complaints.append(f'left the machine: {request.url}')
    page.on('console', lambda message: complaints.append(message.text) if message.type in ('error', 'warning')
            else None)
    page.on('pageerror', lambda error: complaints.append(str(error)))
    page.on('request', asked)
    page.on('requestfailed', failed)
    page.on('response', lambda answer: complaints.append(f'{answer.status}: {answer.url}') if answer.status >= 400
            else None)
    return page

@pytest.fixture
def visit(browser):
    "A function that opens a page; after the test nothing may have gone wrong on it, and no request left the machine."
    complaints, contexts = [], []
    def visit(address, **options):
        contexts.append(browser.new_context(**options))
        page = watched(contexts[-1].new_page(), complaints)
        page.goto(address)
        return page
    yield visit
    for context in contexts: context.close()
    assert not complaints

@pytest.fixture(scope='module')
def tab(browser):
    "One page that goes from file to file, for a new one takes longer than its tests; and what is noted on it."
    complaints = []
    return watched(browser.new_page(), complaints), complaints

PROSE = '''() => { const copy = document.body.cloneNode(true);
    copy.querySelectorAll('pre, code, script, math').forEach(o => o.remove()); return copy.textContent }'''
# What reaches beyond the window although nothing around it scrolls. The theme clips, so the page's own width says
# nothing.
STICKING_OUT = '''() => {
    const may = o => /auto|scroll/.test(getComputedStyle(o).overflowX);
    const scrolls = o => o.matches('.content *') && (may(o) || scrolls(o.parentElement));
    return [...document.querySelectorAll('.content *')].filter(o =>
        o.getBoundingClientRect().right > innerWidth + 1 && o.getClientRects().length
        && !o.closest('.toc-drawer, math') && !scrolls(o.parentElement)).map(o => o.outerHTML.slice(0, 150)) }'''

SCREENS = 14  # of 800 pixels, with everything folded
# Blocks of code that scroll: those in sight, for what is folded has no size.
SCROLLING = '''() => { const wide = o => o.scrollWidth > o.clientWidth + 1;
    return [...document.querySelectorAll(
        '.cell_input pre, [class*=highlight-]:not(.highlight-myst-ansi, .highlight-none) pre')]
        .filter(o => o.offsetParent && (wide(o) || wide(o.parentElement))).map(o => o.innerText.slice(0, 150)) }'''
# Tables of results whose last columns are out of sight, at the width of a screen.
CUT_OFF = '''() => [...document.querySelectorAll('.text_html table')].filter(o => o.offsetParent
    && o.scrollWidth > o.closest('.text_html').clientWidth + 1).map(o => o.innerText.slice(0, 150))'''
CURRENT = '''() => { const place = document.querySelector('.menu .current-page > a').getBoundingClientRect();
    return document.querySelectorAll('.menu details[open]').length == 1 && place.height > 0
        && place.top >= 0 && place.bottom <= innerHeight }'''

# Where the verdict begins, and the first picture as a share of the page, or of four screens if the page is shorter.
VERDICT = '''() => { const found = [...document.querySelectorAll('h2')].find(o => o.textContent.startsWith('Verdict'));
    return found && found.getBoundingClientRect().top + scrollY }'''
PICTURE_AT = '''() => { const found = document.querySelector('article .cell_output img, article figure.mechanism');
    const length = Math.max(3200, document.documentElement.scrollHeight);
    return found && (found.getBoundingClientRect().top + scrollY)/length }'''

# Lists of checks, one after the other, and what is about engineering, not about a mechanism
LISTS = 'check_states', 'check_uses', 'guard', 'promises', 'fixed_steps', 'transfer', 'lm_memory'

def answers_first(page, name):
    "An experiment opens with its verdict, and a page about a mechanism with its picture."
    room, _, rest = name.removesuffix('.html').partition('/')
    if room == 'papers' and not rest.endswith('claims'):
        begins = page.evaluate(VERDICT)
        assert begins and begins <= 800, 'the verdict does not begin on the first screen'
    if room in ('attention', 'blocks', 'models') and rest not in LISTS:
        place = page.evaluate(PICTURE_AT)
        assert place and place <= .25, 'no picture within the first quarter of the page'

@cache
def places(file):
    "The ids on a page."
    return set(re.findall(r'id="([^"]*)"', file.read_text()))

@pytest.mark.parametrize('name', PAGES)
def test_page(tab, name):
    path = DOCS/name
    page, complaints = tab
    complaints.clear()
    page.set_viewport_size(dict(width=1300, height=800))
    page.goto(path.as_uri())
    answers_first(page, name)
    assert page.evaluate(SCROLLING) == [] and page.evaluate(CUT_OFF) == []
    screens = page.evaluate('document.documentElement.scrollHeight')/800
    assert screens <= SCREENS or name == 'contents.html', f'{screens:.1f} screens: fold, shorten or split'
    if name not in ('index.html', 'search.html', 'contents.html'):
        assert page.evaluate(CURRENT), 'the menu does not show where one is'
        assert page.evaluate('document.querySelector("meta[name=description]").content')

    assert not page.evaluate('document.querySelectorAll("merror").length')
    prose = page.evaluate(PROSE)
    assert not any(mark in prose for mark in ('$$', r'\(', r'\[')), 'a formula was left as it was written'

    images = page.evaluate('[...document.images].map(o => [o.src, o.alt, o.complete && o.naturalWidth > 0])')
    for source, alt, loaded in images:
        assert loaded, f'{source} did not load'
        assert alt, f'{source} has no alternative text'
    files = {o[0].rpartition('/')[2] for o in images if not o[0].startswith('data:')}
    weight = path.stat().st_size + sum((DOCS/'_images'/file).stat().st_size for file in files)
    assert weight <= (300_000 if name == 'index.html' else MB)

    for target in page.evaluate('[...document.querySelectorAll("a[href]")].map(o => o.href)'):
        url = urlsplit(target)
        if url.scheme != 'file': continue
        file = DOCS/unquote(url.path)
        assert file.is_file() and file.is_relative_to(DOCS), f'{target} leads nowhere'
        there = not url.fragment or unquote(url.fragment) in places(file)
        assert there, f'{target} leads to no place on that page'

    page.set_viewport_size(dict(width=390, height=800))
    assert page.evaluate('document.documentElement.scrollWidth') <= 390
    assert page.evaluate(STICKING_OUT) == []
    wide = '[...document.querySelectorAll("img.wide")].every(o => o.width > 600)'
    assert page.evaluate(wide), 'a wide figure has shrunk'
    assert not complaints

@pytest.mark.parametrize('served', [False, True])
def test_search(visit, server, served):
    page = visit((server if served else DOCS.as_uri()) + '/search.html?q=linear+attention')
    page.wait_for_selector('#search-results li a')
    assert 'attention/linear.html' in page.locator('#search-results li a').first.get_attribute('href')
    if served:
        page.wait_for_selector('#search-results p.context')  # excerpts need a server
    page.locator('#search-results li a').first.click()
    page.wait_for_url('**/attention/linear.html*')
    assert page.locator('h1').first.inner_text().startswith('Linear attention')

def test_menu_reaches_every_page(visit, browser):
    "The menu links what readers read, and the list of all pages the rest; without scripts the parts lead there."
    page = visit((DOCS/'attention'/'linear.html').as_uri())
    address = lambda links: {o.removeprefix(f'{DOCS.as_uri()}/') for o in links}
    hrefs = 'all => all.map(o => o.href.replace(/#$/, ""))'
    linked = address(page.locator('.menu li a').evaluate_all(hrefs))
    readers = linked - {'contents.html'}
    assert 50 <= len(readers) <= 60 and readers < set(PAGES)
    part = page.locator('.menu details').nth(1)
    part.locator('summary').click()
    part.locator('a').first.click()
    page.wait_for_function('!location.pathname.endsWith("linear.html")')

    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto((DOCS/'attention'/'linear.html').as_uri())
    assert page.locator('.menu .current-page').is_visible()
    part = page.locator('.menu details').nth(1)
    part.locator('summary').click()
    part.locator('a').click()
    listed = address(page.locator('article li > a, article li > p > a').evaluate_all(hrefs))
    assert listed >= set(PAGES) - {'index.html', 'search.html', 'contents.html'}
    context.close()

def test_details_lead_back(visit):
    "The details of a lesson stand below it in the menu while one of them is read, and lead back to it."
    page = visit((DOCS/'attention'/'forms.html').as_uri())
    assert page.locator('.menu li li.current-page').is_visible()
    page.locator('.origin a[href$="linear.html"]').click()
    page.wait_for_url('**/attention/linear.html')
    assert page.locator('.menu li li a[href$="forms.html"]').is_visible()

with open(ROOT/'nbs'/'_site'/'menu.toml', 'rb') as file: ASKED = tomllib.load(file)['search']

def test_search_as_you_type(visit):
    "Whatever readers look for, in the words of the menu or in part of them, leads to its page first, without a server."
    page = visit((DOCS/'attention'/'softmax.html').as_uri())
    box = page.locator('.sidebar-search')
    box.click()
    page.wait_for_function('typeof PAGES !== "undefined"')
    for words, wanted in ASKED.items():
        for said in words.split(', '):
            box.fill(said)
            found = page.locator('.found a').first.get_attribute('href')
            assert found.endswith(f'{wanted}.html'), f'{said} finds {found}'
    box.fill('delta')
    page.keyboard.press('ArrowDown')
    page.keyboard.press('Enter')
    page.wait_for_url('**/attention/delta.html')

@pytest.mark.parametrize('scheme', ['light', 'dark'])
def test_theme(visit, scheme):
    page = visit((DOCS/'attention'/'softmax.html').as_uri(), color_scheme=scheme)
    brightness = lambda what, key: page.evaluate(
        f'getComputedStyle(document.querySelector("{what}")).{key}.match(/[0-9.]+/g).slice(0, 3).reduce((a, b) => a + '
        f'+b, 0)')
    seen = {brightness('body', 'backgroundColor') > 382}
    assert seen == {scheme == 'light'}
    for _ in range(2):
        page.locator('.theme-toggle:visible').first.click()
        bright = brightness('body', 'backgroundColor') > 382
        seen.add(bright)
        assert (brightness('article p', 'color') > 382) != bright
        turned = page.evaluate('getComputedStyle(document.querySelector(".cell_output img")).filter') != 'none'
        assert turned != bright, 'figures have the colours of the other theme'
    assert seen == {True, False}

def test_copy_button(visit, server):
    page = visit(f'{server}/index.html', permissions=['clipboard-read', 'clipboard-write'])
    block = page.locator('div.highlight', has=page.locator('button.copy')).first
    shown = block.locator('pre').inner_text()
    block.hover()
    block.locator('button.copy').click()
    page.wait_for_function('document.querySelector("button.copy").textContent == "Copied"')
    assert page.evaluate('navigator.clipboard.readText()').strip() == shown.strip()

def test_next_leads_through_all_pages():
    "The front page leads to what to read, and from there the next links pass every page once."
    seen = ['index.html']
    while following := re.search('<a class=next-page href="([^"]+)"', (DOCS/seen[-1]).read_text()):
        seen.append(os.path.normpath(Path(seen[-1]).parent/following[1]))
        assert len(seen) <= len(PAGES), f'the next links go round: {seen}'
    assert seen[1] == 'reading.html'
    assert sorted([*seen, 'search.html']) == PAGES

def test_claims_are_chosen(visit):
    page = visit((DOCS/'claims.html').as_uri(), viewport=dict(width=390, height=800))
    rows = page.locator('table.ledger tbody tr')
    count, verdict = rows.count(), 'contradicted'
    assert count > 50 and not page.locator('table.ledger tbody tr:visible').count(), 'folded until one is looked for'
    page.locator('details.claims > summary').first.click()
    assert 10 < page.locator('table.ledger tbody tr:visible').count() < count
    page.get_by_label('All verdicts').select_option(verdict)
    seen = page.locator('table.ledger tbody tr:visible')
    assert 0 < seen.count() < count
    assert set(seen.evaluate_all('rows => rows.map(row => row.dataset.verdict)')) == {verdict}
    page.get_by_label('All verdicts').select_option('')
    page.get_by_label('Words in the claim').fill('full COPIES')
    assert 0 < seen.count() < count and 'claims' in page.locator('.claims-filter output').inner_text()
    name = rows.nth(count - 1).get_attribute('id')
    page.goto(f'{(DOCS/"claims.html").as_uri()}#{name}')
    shown = f'document.getElementById("{name}").getBoundingClientRect()'
    page.wait_for_function(f'{shown}.height > 0 && {shown}.top < innerHeight')

def test_claims_lead_to_their_records():
    "Every claim with a number leads to the folders of its raw records in this repository."
    rows = re.findall(r'<tr[^>]*id="claim-.*?</tr>', (DOCS/'claims.html').read_text(), re.S)
    stored = {row['name']: row for row in json.loads((ROOT/'nbs'/'results'/'claims.json').read_text())}
    assert len(rows) == len(stored)
    for row in rows:
        claim = stored[agreement.words(row.partition('<a class=headerlink')[0])]
        linked = [ROOT/path for path in re.findall(r'href="[^"]*/tree/[^/"]+/([^"]+)"', row)]
        assert all(list(path.glob('*.json')) for path in linked), claim['name']
        if claim['value'] is not None: assert len(linked) == len(claim['results']), claim['name']

def test_claims_without_scripts(browser):
    context = browser.new_context(java_script_enabled=False, viewport=dict(width=390, height=800))
    page = context.new_page()
    page.goto((DOCS/'claims.html').as_uri())
    assert page.locator('table.ledger tbody tr:visible').count() > 50 and not page.locator('.claims-filter').count()
    context.close()

def test_citations_show_their_paper(visit):
    page = visit((DOCS/'attention'/'linear.html').as_uri())
    citation = page.locator('a.cite').first
    citation.hover()
    assert 'Fleuret' in page.locator('[role=tooltip]').inner_text()
    page.keyboard.press('Escape')
    assert not page.locator('[role=tooltip]').count()
    citation.focus()
    assert citation.get_attribute('aria-describedby') == page.locator('[role=tooltip]').get_attribute('id')
    again = page.locator('a.cite:not([data-paper])').first # the page says each paper once
    again.hover()
    assert again.inner_text()[:6] in page.locator('[role=tooltip]').inner_text()

def test_code_opens_by_a_click(visit):
    page = visit((DOCS/'attention'/'linear.html').as_uri())
    card = page.locator('details.api:has(details.api-code)').first
    fold = card.locator('details.api-code')
    for folded in (card, fold):
        inner = folded.locator('pre').last
        assert not inner.is_visible()
        folded.locator('summary').first.click()
        assert inner.is_visible() == (folded is fold)
    assert page.locator('details.api-code pre b').count(), 'code without colours'

def test_one_button_opens_all_code(visit):
    page = visit((DOCS/'attention'/'linear.html').as_uri())
    opened = page.locator('article details[open]')
    page.get_by_role('button', name='Open all code').click()
    assert opened.count() == page.locator('article details').count() > 10
    page.get_by_role('button', name='Fold all code').click()
    assert not opened.count()

def test_links_open_what_is_folded(visit):
    page = visit((DOCS/'attention'/'layer.html').as_uri())
    method = page.locator('details.api .api-anchor[id]').first.get_attribute('id')
    page.goto(f'{page.url}#{method}')
    page.wait_for_function('name => document.getElementById(name).getClientRects().length', arg=method)

# Interactive mechanisms: they answer to the keyboard, and show the numbers of the library

@pytest.fixture
def touch(visit):
    "A function that opens a page with a mechanism: the figure, the numbers behind it, and a reader of what it shows."
    def touch(name):
        figure = visit((DOCS/f'{name}.html').as_uri()).locator('figure.mechanism').first
        read = lambda key: figure.locator(f'[data-key="{key}"] td').all_inner_texts()
        return figure, json.loads(figure.get_attribute('data-numbers')), read
    return touch

def press(figure, name, key, times=1):
    control = figure.get_by_label(name, exact=True)
    control.focus()
    for _ in range(times): control.press(key)

def test_mechanism_linear(touch):
    from reformer_rnn.attention.linear import linear_attention
    figure, numbers, read = touch('attention/linear')
    q, k, v = (torch.tensor(numbers[name], dtype=torch.float64)[None, None] for name in 'qkv')
    expected = linear_attention(q, k, v, causal=True, feature_map=lambda x: x)
    expected = (expected[0] if isinstance(expected, tuple) else expected)[0, 0]
    press(figure, 'Token', 'Home')
    press(figure, 'Chunk', 'ArrowLeft')
    for row in expected:
        for form in ('parallel', 'recurrent', 'chunked'):
            assert torch.allclose(torch.tensor([float(o) for o in read(form)]).double(), row, atol=6e-5)
        press(figure, 'Token', 'ArrowRight')

def test_mechanism_hash(touch):
    from reformer_rnn.attention.lsh import band_pairs, hash_buckets
    figure, numbers, read = touch('attention/lsh')
    query = int(figure.get_by_label('Query', exact=True).input_value()) - 1
    x, m, half = torch.tensor(numbers['x']), numbers['m'], numbers['buckets']//2
    press(figure, 'Turn the directions', 'ArrowRight', 30)
    angles = math.radians(30) + torch.arange(half)*math.pi/half
    rotations = torch.stack([angles.cos(), angles.sin()])[None, None]
    for turned in (False, True):
        if turned: x[-1] = -x[-1]; press(figure, 'turn the last point round', ' ')
        buckets = hash_buckets(x[None, None], rotations)[0, 0, 0]
        assert read('buckets') == [' '.join(map(str, buckets.tolist()))]
        same = (buckets[:, None] == buckets).tril(-1)
        seen = band_pairs(same, m)[query].nonzero()[:, 0] + 1
        assert read('band') == [', '.join(map(str, seen.tolist())) or 'nothing']
    assert read('moved-band') == ['0'] and int(read('moved-chunk')[0]) > 0

def test_mechanism_rem(touch):
    from reformer_rnn.attention.rem import rem_matrix
    figure, numbers, read = touch('attention/rem')
    figure.get_by_label('Kind').select_option('cos')
    press(figure, 'Dilation', 'ArrowRight')
    press(figure, 'Gate', 'ArrowLeft', 4)
    scores = torch.tensor(numbers['scores'], dtype=torch.float64)
    P = rem_matrix('cos', len(scores), decay=.8, theta=.8, dilation=2).double()
    A = scores.masked_fill(torch.ones_like(scores).triu(1).bool(), -torch.inf).softmax(-1)
    for key, matrix in (('recurrence', P), ('mixture', .7*A + .3*P)):
        shown = torch.tensor([float(o) for o in read(key)]).double()
        assert torch.allclose(shown, matrix[-1, :-1].flip(0)[:6], atol=6e-5)

def test_mechanism_blocks(touch):
    from reformer_rnn.attention.sliding import SlidingAttention
    figure, numbers, read = touch('attention/block_recurrent')
    t, W = 40, numbers['window']
    layer = SlidingAttention(8, 2, window=W, include_self=False).double()
    for name, depth in (('seen', 1), ('reach', numbers['layers'])):
        x = torch.randn(1, len(numbers['text']), 8, dtype=torch.float64, requires_grad=True)
        y = x
        for _ in range(depth): y = y + layer(y)[0]
        y[0, t].sum().backward()
        assert read(name) == [str(int(x.grad[0, :t].abs().sum(-1).count_nonzero()))]
    press(figure, 'Position', 'ArrowRight', W)
    assert f'written {(t + W)//W} times' in read('written')[0]
    assert read('cut') == [str((t + W)//numbers['segment']*numbers['segment'])]

def test_mechanism_cost(touch):
    figure, numbers, _ = touch('papers/layers')
    press(figure, 'Position', 'End')
    for name, rows in numbers['tokens'].items():
        assert f'{1e3*rows[-1][1]:.2f} ms' in figure.locator(f'[data-key="{name}"]').first.inner_text()

def test_mechanism_token(touch):
    "The front page moves by itself, stops, and ends at the numbers that were measured."
    figure, numbers, read = touch('index')
    start = read('softmax')
    moved = 'was => document.querySelector("[data-key=softmax] td").innerText != was'
    figure.page.wait_for_function(moved, arg=start[0])
    press(figure, 'Tokens read', 'End')
    for name, rows in numbers['tokens'].items(): assert read(name)[0] == f'{1e3*rows[-1][1]:.1f} ms'
    assert figure.get_by_role('button').inner_text() == 'Play'

def test_first_screen(visit, server):
    "A newcomer sees a sentence, something that moves and three doors, within 300 KB."
    page, size = visit('about:blank', viewport=dict(width=1300, height=900)), []
    page.on('response', lambda answer: size.append(len(answer.body())))
    page.goto(f'{server}/index.html', wait_until='networkidle')
    bottom = page.evaluate('document.querySelector(".doors").getBoundingClientRect().bottom')
    assert bottom <= 900 and page.locator('.doors li').count() == 3
    assert page.locator('figure.mechanism svg').first.is_visible()
    assert sum(size) <= 300_000
    shown = page.locator('.cards:not(.doors) li')
    assert shown.count() == 5
    assert all('minutes' in o for o in shown.evaluate_all('all => all.map(o => o.dataset.minutes)'))

def test_mechanism_memories(touch):
    "What the page's memories say is what the library's say, also of who is chosen by keyboard and written again."
    from reformer_rnn.exam.memories import FIVE, answers, load_readers
    figure, numbers, read = touch('exam/memories')
    readers = load_readers(ROOT/'nbs'/'80_exam'/'results'/'memories'/'memories.json')
    def same(story, asked):
        for kind in FIVE:
            shown = torch.tensor([float(o) for o in read(kind)])
            assert (shown - answers(readers[kind], *zip(*story), asked)).abs().max() < 1e-3, (kind, asked)
    story, facts = numbers['story'], figure.locator('.memory-text button')
    figure.locator('summary').press('Enter')
    press(figure, 'Words read', 'End')
    same(story, story[0][0])
    facts.first.focus()
    for key in ('ArrowRight', 'ArrowRight', 'Enter'): figure.page.keyboard.press(key)
    assert facts.nth(2).get_attribute('aria-pressed') == 'true'
    same(story, story[2][0])
    press(figure, 'Words read', 'ArrowLeft', 4)
    same(story[:-1], story[2][0])
    figure.get_by_role('button', name='likes something else').press('Enter')
    assert facts.count() == len(story) + 1
    name, thing = facts.last.locator('span').all_inner_texts()[0::2]
    assert name.strip() == numbers['names'][story[2][0]]
    same([*story, (story[2][0], numbers['things'].index(thing))], story[2][0])

def test_mechanism_exam(touch):
    from reformer_rnn.exam.results import asked_tasks, exam_cells
    from reformer_rnn.runs.read import Runs
    figure, numbers, _ = touch('exam/results')
    sat = exam_cells(Runs(ROOT/'nbs'/'80_exam'/'results'/'exam', ''))
    cells = {key: cell for key, cell in sat.items() if key[0] in asked_tasks(sat)}
    assert len(numbers['cells']) == len(cells) > 0
    for (task, name), cell in cells.items():
        square = figure.locator(f'[data-key="{name}/{task}"]')
        shares = cell.shares(cell.task.solved_at)
        text = 'cannot'
        if None not in shares: text = f'{math.floor(100*sum(shares)/len(shares)+.5)} %'  # a half goes up, as in scripts
        assert square.inner_text() == text
        assert square.get_attribute('data-grade') == cell.grade
    square.focus()
    assert figure.locator('polyline').count() == len(cell.runs)
    press(figure, task, ' ')
    assert figure.locator(f'[data-key$="/{task}"]').count() == 0

@pytest.mark.parametrize('name', ['attention/linear', 'papers/layers', 'exam/memories'])
def test_mechanisms_without_scripts(browser, name):
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto((DOCS/f'{name}.html').as_uri())
    assert page.locator('figure.mechanism img').first.is_visible()
    context.close()

# A small site, and what is reported when something is wrong with it

MODULE = '''#| export
def one(
    x:int, # A number
    *,
    y:str='a|b', # Shape (b, n), as `two` takes it
)->int: # Its sum
    "Add (Kitaev et al. 2020, section 2)"

class Two:
    "Hold"
    def three(self):
        "Give three"'''

MENU = '''[[part]]
name = "First"
text = "What to read."
lessons = ["reading", "part/*"]
[[part]]
name = "Last"
lessons = ["bibliography"]
'''

def figure(source):
    return cell('code', source, dict(output_type='display_data', metadata={},
                                     data={'image/png': PICTURE, 'text/plain': '<Figure>'}))

@pytest.fixture
def project(tmp_path):
    "A project whose notebooks make a site."
    shutil.copy(ROOT/'settings.ini', tmp_path)
    shutil.copytree(ROOT/'nbs'/'_site', tmp_path/'nbs'/'_site')
    nbs = tmp_path/'nbs'
    (nbs/'_site'/'menu.toml').write_text(MENU)
    (nbs/'_site'/'moved.toml').write_text('"old/place" = "part/one"')
    (nbs/'10_part').mkdir()
    title = lambda name: cell('markdown', f'# {name}\n\n> A page.')
    write_notebook(nbs/'index.ipynb', title('Front'),
                   cell('markdown', 'See [one](10_part/01_one.ipynb#a-heading) and `one`.'))
    write_notebook(nbs/'01_reading.ipynb', title('Reading'))
    write_notebook(nbs/'98_bibliography.ipynb', title('Papers'),
                   cell('markdown', '1. **Kitaev et al. 2020.** Nikita Kitaev. *Reformer.*'))
    write_notebook(nbs/'10_part'/'01_one.ipynb', title('One'), cell('code', '#| default_exp part.one'),
                   cell('code', MODULE),
                   cell('markdown', '## A heading\n\n$$x$$\n\nTold by Kitaev et al. (2020).'),
                   figure('#| fig-alt: "A: dot"\nprint()'),
                   cell('code', '#| hide\nsecret()'), cell('code', '#| echo: false\nunseen()', stream('seen')),
                   cell('code', '#| exports\ndef shown():\n    "Show"'))
    nbdev('export', tmp_path)
    return tmp_path

def test_small_site(project):
    built = tool('build_docs.py', project)
    assert built.returncode == 0, built.stderr
    first = contents(project/'docs')
    assert tool('build_docs.py', project, '--check').returncode == 0
    shutil.rmtree(project/'docs')
    assert tool('build_docs.py', project).returncode == 0
    assert contents(project/'docs') == first, 'two builds differ'

    page = (project/'docs'/'part'/'one.html').read_text()
    assert 'secret' not in page and 'unseen' not in page and 'seen' in page and 'alt="A: dot"' in page
    assert ('<b>def</b>' in page
            and '<span class="n">' not in page), 'marks without a colour of their own are taken out'
    for text in ('id="one"', 'id="two.three"', 'A number', 'Its sum', 'reformer_rnn/part/one.py#L',
                 'bibliography.html#kitaev-et-al-2020'):
        assert text in page, text
    assert 'href="part/one.html#one"' in (project/'docs'/'index.html').read_text()
    assert 'part/one.html#cite-kitaev-et-al-2020-2' in (project/'docs'/'bibliography.html').read_text()

    order = [page.index(text) for text in ('data-api="part.one:one"', 'data-api="part.one:Two"',
                                           'data-api="part.one:Two.three"', 'data-api="part.one:shown"')]
    assert order == sorted(order)
    assert page.count('<details class=api-code>') == 2, 'what the lesson does not show is there, folded'
    assert '<meta name="description" content="A page.">' in page and 'og:image' in page
    assert '/part/one.html): A page.' in (project/'docs'/'llms.txt').read_text()
    forward = (project/'docs'/'old'/'place.html').read_text()
    assert 'url=../part/one.html' in forward and 'location.hash' in forward
    assert '{kitaevetal2020,' in (project/'docs'/'bibliography.html').read_text()

    check_again = lambda: tool('build_docs.py', project, '--check')
    front = (project/'docs'/'index.html').read_text()
    (project/'docs'/'index.html').write_text('')
    checked = check_again()
    assert checked.returncode == 1 and 'not in step' in checked.stderr and 'index.html' in checked.stderr
    (project/'docs'/'index.html').write_text(front)
    edited = project/'nbs'/'10_part'/'01_one.ipynb'
    edited.write_text(edited.read_text().replace('Told by', 'Written by'))
    checked = check_again()
    assert checked.returncode == 1 and 'part/one.html' in checked.stderr, 'a notebook that has changed is seen'

def touched(name, numbers):
    html = f'<figure class="mechanism" data-mechanism="{name}" data-numbers="{numbers}"></figure>'
    return cell('code', 'print()', dict(output_type='display_data', metadata={}, data={'text/html': html}))

FAULTS = {
    'an error': (cell('code', 'print()', dict(output_type='error', ename='E', evalue='', traceback=[])),
                 'stores an error'),
    'a name out of sight': (cell('code', 'print(nowhere)'), 'uses `nowhere`, which no cell that is shown defines'),
    'a broken link': (cell('markdown', 'See [two](02_two.ipynb).'), '02_two.ipynb, which does not exist'),
    'a broken anchor': (cell('markdown', 'See [two](01_one.ipynb#nowhere).'), 'nowhere'),
    'a missing image': (cell('markdown', '![A dot](dot.png)'), 'dot.png, which does not exist'),
    'an image without text': (cell('markdown', '![](dot.png)'), 'no alternative text'),
    'an unknown paper': (cell('markdown', 'So said Nobody et al. 2019.'),
                         '"Nobody et al. 2019", which nbs/98_bibliography.ipynb does not list'),
    'a reference of its own': (cell('markdown', '## Reference'), 'has the heading Reference'),
    'no docstring': (cell('code', '#| export\ndef two(): pass'), '`two` is exported without a docstring'),
    'half a docstring': (cell('code', '#| export\ndef two(a, # A\n    b,\n):\n    "Two"'), 'not b'),
    'a figure without text': (figure('print()'), 'without alternative text'),
    'a text without figure': (cell('code', '#| fig-alt: A dot\nprint()'), 'stores none'),
    'no text': (figure('#| fig-alt:\nprint()'), 'an empty fig-alt'),
    'an empty text': (figure('#| fig-alt: ""\nprint()'), 'without alternative text'),
    'a text that is not YAML': (figure('#| fig-alt: left: right\nprint()'), 'double quotes'),
    'a name of two modules': (cell('markdown', 'Said by `twice`.'),
                              '`twice` is defined in part.three and part.two; say which'),
    'a name defined twice': (cell('code', '#| export\ndef one():\n    "Again"'),
                             '`one` is defined in nbs/10_part/01_one.ipynb, cell 2'),
    'a formula that stays TeX': (cell('markdown', r'So $\nosuchthing x$.'), 'cannot convert'),
    'an unknown mechanism': (touched('none', '[1]'), 'names no mechanism'),
    'a mechanism without numbers': (touched('rem', '{}'), 'without numbers behind it'),
    'raw HTML that leads nowhere': (cell('markdown', '<a href="nowhere.html">there</a>'), 'nowhere.html leads nowhere'),
}

def test_lesson_and_reference(project):
    "The lesson shows what it is about and names the rest; then come all definitions with sources, and helpers last."
    path = project/'nbs'/'10_part'/'01_one.ipynb'
    cells = json.loads(path.read_text())['cells']
    write_notebook(path, *cells, cell('code', '#| export\nLIMIT = 3\ndef later():\n    "Help"'),
                   cell('code', '#| exporti\ndef within():\n    "For this module"'),
                   cell('markdown', '## The end'))
    nbdev('export', project)
    built = tool('build_docs.py', project)
    assert built.returncode == 0, built.stderr
    page = (project/'docs'/'part'/'one.html').read_text()
    texts = ['id="a-heading"', 'id="shown-in-the-lesson"', '<i class=nf>shown</i>', 'id="the-end"', 'id="reference"',
             'part.one:one"', 'part.one:Two"', 'part.one:shown"', 'href="#shown-in-the-lesson"',
             'part.one:later"', 'id="helpers"', 'LIMIT', '<code>within</code>']
    places = [page.index(text) for text in texts]
    assert places == sorted(places)
    held = agreement.sources(page)
    assert {'part.one:one', 'part.one:shown', 'part.one:later'} <= set(held)
    assert held['part.one:later'] == 'def later():\n    "Help"'
    assert page.count('<u>"Show"</u>') == 1 and held['part.one:shown'] == 'def shown():\n    "Show"', 'in the lesson'

def test_source_of_another_is_named(project):
    module = project/'reformer_rnn'/'part'/'one.py'
    text = module.read_text()
    assert '"Show"' in text
    module.write_text(text.replace('"Show"', '"Show"\n    return 1'))
    built = tool('build_docs.py', project)
    assert built.returncode == 1 and 'another source of `shown`' in built.stderr

@pytest.mark.parametrize('menu, message', [
    (MENU.replace('"part/*"', ''), 'nbs/10_part/01_one.ipynb: no part of nbs/_site/menu.toml names the page part/one'),
    (MENU.replace('"reading"', '"reading", "gone"'), 'names the page gone, which no notebook gives'),
    (MENU.replace('"bibliography"', '"bibliography", "reading"'), 'names the page reading twice'),
    (MENU + '[part.details]\n"reading" = []\n', 'gives details of reading, which "Last" does not name'),
    ('[search]\n"a word" = "gone"\n' + MENU, 'the search for "a word" leads to gone, which no notebook gives')])
def test_menu_names_every_page_once(project, menu, message):
    (project/'nbs'/'_site'/'menu.toml').write_text(menu)
    built = tool('build_docs.py', project)
    assert built.returncode == 1 and message in built.stderr

@pytest.mark.parametrize('table, message', [
    ('"part/one" = "reading"', 'part/one is a page of today'),
    ('"old/place" = "nowhere"', 'leads to nowhere, which no notebook gives')])
def test_moves_lead_somewhere(project, table, message):
    (project/'nbs'/'_site'/'moved.toml').write_text(table)
    built = tool('build_docs.py', project)
    assert built.returncode == 1 and message in built.stderr

@pytest.mark.parametrize('link', ['../old/place.ipynb', '../05_old/01_place.ipynb#there',
                                  'https://reformer-rnn.github.io/reformer_rnn/old/place.html'])
def test_links_to_moved_pages_are_named(project, link):
    path = project/'nbs'/'10_part'/'01_one.ipynb'
    notebook = json.loads(path.read_text())
    write_notebook(path, *notebook['cells'], cell('markdown', f'See [it]({link}).'))
    built = tool('build_docs.py', project)
    assert built.returncode == 1
    assert 'has moved to ' in built.stderr
    assert f'nbs/10_part/01_one.ipynb, cell {len(notebook["cells"])}' in built.stderr

def test_moves_are_proposed(project):
    git = lambda *args: run('git', '-c', 'user.name=n', '-c', 'user.email=e@e', *args, cwd=project)
    git('init', '-q'); git('add', '-A'); git('commit', '-qm', 'Before')
    (project/'nbs'/'20_other').mkdir()
    git('mv', 'nbs/10_part/01_one.ipynb', 'nbs/20_other/03_one.ipynb')
    git('mv', 'nbs/01_reading.ipynb', 'nbs/02_reading.ipynb')
    assert tool('build_docs.py', project, '--moved', 'HEAD').stdout.split('\n')[0] == '"part/one" = "other/one"'

@pytest.mark.parametrize('fault', FAULTS)
def test_faults_are_named(project, fault):
    wrong, message = FAULTS[fault]
    if fault == 'a name of two modules':
        for name in 'two', 'three':
            write_notebook(project/'nbs'/'10_part'/f'0_{name}.ipynb', cell('markdown', f'# {name}\n\n> A page.'),
                           cell('code', f'#| default_exp part.{name}'),
                           cell('code', '#| export\ndef twice():\n    "Again"'))
    path = project/'nbs'/'10_part'/'01_one.ipynb'
    notebook = json.loads(path.read_text())
    number = len(notebook['cells'])
    write_notebook(path, *notebook['cells'], wrong)
    nbdev('export', project)
    built = tool('build_docs.py', project)
    assert built.returncode == 1 and not (project/'docs').exists()
    assert message in built.stderr
    if not fault.startswith('raw'): assert f'nbs/10_part/01_one.ipynb, cell {number}' in built.stderr

@pytest.mark.parametrize('before, after, message', [
    ('*, y=', '*, z=', '`one` is documented as'), ("def shown():", "def unseen():", '`shown` is not in')])
def test_signature_of_another_is_named(project, before, after, message):
    module = project/'reformer_rnn'/'part'/'one.py'
    text = re.sub(r'\*,\s+y:str=', '*, y=', module.read_text())
    assert before in text
    module.write_text(text.replace(before, after))
    built = tool('build_docs.py', project)
    assert built.returncode == 1 and message in built.stderr and 'nbs/10_part/01_one.ipynb, cell' in built.stderr

def test_wrong_order_is_named(project):
    module = project/'reformer_rnn'/'part'/'one.py'
    text = module.read_text()
    first = text.index('def one(')
    second = text.index('class Two:')
    end = text.index('# %%', second)
    module.write_text(text[:first] + text[second:end] + text[first:second] + text[end:])
    built = tool('build_docs.py', project)
    assert built.returncode == 1 and 'out of the order of part.one' in built.stderr
    assert 'nbs/10_part/01_one.ipynb, cell' in built.stderr

def test_uncited_paper_is_named(project):
    write_notebook(project/'nbs'/'98_bibliography.ipynb', cell('markdown', '# P\n\n> A page.'),
                   cell('markdown', '1. **Kitaev et al. 2020.** Reformer.\n1. **Zeno 2000.** On motion.'))
    assert 'nbs/98_bibliography.ipynb, cell 1' in (said := tool('build_docs.py', project).stderr)
    assert 'no notebook cites "Zeno 2000"' in said

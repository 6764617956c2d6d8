"The model that runs in the page, in a browser and from a file: what it writes is what the library writes."
import sys, time
from pathlib import Path

import pytest, torch

sys.path.insert(0, 'tools')
from find_browser import find
from reformer_rnn.core import evaluating
from reformer_rnn.models.browser import page_weights, rounded_as_in_page
from reformer_rnn.models.lm import LM

STATIC = Path('nbs/_site/_static')

@pytest.fixture(scope='module')
def library():
    return rounded_as_in_page(LM.from_pretrained('small')).eval()

@pytest.fixture(scope='module')
def tab(tmp_path_factory):
    place = tmp_path_factory.mktemp('page')
    (place/'model.js').write_text((STATIC/'model.js').read_text())
    (place/'model-weights.js').write_text(page_weights(LM.from_pretrained('small')))
    (place/'page.html').write_text(
        f'<!doctype html><meta charset="utf-8"><style>{(STATIC/"site.css").read_text()}</style>'
        '<div id="here"></div><script src="model.js"></script>'
        '<script>const start = performance.now();'
        'mountModel(document.getElementById("here"), {prompt: "“Pip,” said Joe, "})'
        '.then(o => { globalThis.shown = o; globalThis.took = performance.now() - start; });</script>')
    path = find()
    if path is None: pytest.skip('no browser')
    from playwright.sync_api import sync_playwright
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=path, args=['--no-sandbox'])
        page = chromium.new_page(viewport=dict(width=390, height=800))
        page.goto((place/'page.html').as_uri())
        page.wait_for_function('globalThis.shown')
        yield page
        chromium.close()

def test_writes_what_the_library_writes(tab, library):
    tab.get_by_label('Freedom').fill('0')
    tab.get_by_role('button', name='Go on').focus()
    tab.keyboard.press('Enter')
    began = time.perf_counter()
    tab.wait_for_function('shown.count() >= 140')
    tab.keyboard.press('Enter')
    print(f'mounted in {tab.evaluate("took"):.0f} ms, {140/(time.perf_counter() - began):.0f} tokens/s')
    text, n, logits = tab.evaluate('[shown.text(), shown.count(), [...shown.logits()]]')
    ids = torch.tensor([list('“Pip,” said Joe, '.encode())])
    written = library.generate(ids, n - ids.shape[1], temperature=0)
    whole = torch.cat([ids, written], 1)
    assert text == bytes(whole[0].tolist()).decode()
    with evaluating(library): expected = library(whole)[0, -1]
    assert (torch.tensor(logits) - expected).abs().max() < 1e-3
    assert 'Go on' in tab.get_by_role('button').all_inner_texts()  # it has stopped

def test_shows_both_ways_on_a_phone(tab):
    words = tab.locator('.model-panel output').all_inner_texts()
    assert '48 KB' in words[0] and '48 KB' not in words[1]
    assert tab.evaluate('document.documentElement.scrollWidth <= innerWidth')
    tab.get_by_label('Block').select_option('2')
    tab.get_by_role('textbox').fill('The other way')
    tab.get_by_role('button', name='Start again').click()
    assert tab.evaluate('shown.count()') == len('The other way')

@pytest.mark.parametrize('without, says', [
    ('delete globalThis.TextDecoder', 'cannot turn a text into bytes'),
    ('HTMLCanvasElement.prototype.getContext = () => null', 'draws no pictures'),
    ('globalThis.atob = () => { throw new Error("no memory is left"); }', 'no memory is left')])
def test_says_what_a_browser_lacks(tab, without, says):
    page = tab.context.browser.new_page()
    page.add_init_script(without)
    page.goto(tab.url)
    assert says in page.get_by_role('alert').inner_text()
    assert page.evaluate('shown') is None and not page.locator('button').count()
    page.close()

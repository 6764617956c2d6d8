"How Sphinx makes the pages; tools/build_docs.py gives it name, title and version from settings.ini."
import json, re
from pathlib import Path
from posixpath import normpath

HERE = Path(__file__).parent
SITE = json.loads((HERE/'site.json').read_text())  # What tools/build_docs.py knows of the pages

extensions = ['myst_nb']
nb_execution_mode = 'off'
nb_merge_streams = True
nb_render_markdown_format = 'myst'  # tables and formulas in outputs too
myst_enable_extensions = ['colon_fence', 'attrs_block', 'deflist']
myst_heading_anchors = 4

html_theme = 'furo'
html_theme_options = dict(
    light_css_variables={'color-brand-primary': '#15616d', 'color-brand-content': '#15616d', 'color-brand-visited': '#15616d'},
    dark_css_variables={'color-brand-primary': '#7fc8d1', 'color-brand-content': '#7fc8d1', 'color-brand-visited': '#7fc8d1'})
pygments_style = 'a11y-high-contrast-light'
pygments_dark_style = 'github-dark'
html_static_path = ['_static']
templates_path = ['_templates']
html_context = dict(menu=SITE['menu'], about=SITE['about'])
html_favicon = '_static/favicon.svg'
html_css_files = ['site.css']
html_js_files = ['menu.js', 'site.js']
html_search_scorer = str(HERE/'scorer.js')
html_copy_source = False
html_show_sourcelink = False
html_show_copyright = False
html_show_sphinx = False
html_use_index = False

def know_page(app, pagename, templatename, context, doctree):
    "What the templates need to know of a page; the theme need not make a menu, there is one."
    context['toctree'] = lambda **kwargs: ''
    context['description'] = SITE['descriptions'].get(pagename, '')
    shown = re.search(r'<img[^>]*\ssrc="([^"]+\.png)"', context.get('body', ''))
    place = normpath(f'{pagename}/../{shown[1]}') if shown else '_static/share.png'
    context['picture'] = app.config.html_baseurl + place

def setup(app): app.connect('html-page-context', know_page, priority=400)

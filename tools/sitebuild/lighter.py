"Take out of a finished page what changes nothing on it: the pages together must stay small enough to be kept."
import re

CHANGES = [(re.compile(pattern, re.S), shorter) for pattern, shorter in (
    # names, numbers, constants and signs, in the colour of the text, and what links say
    (r'<span class="(?:[npwo]|bp|nb|kc|m[ifh]|pre|std std-(?:doc|ref))">([^<]*)</span>', r'\1'),
    (r'<span class="(\w+)">', r'<span class=\1>'),
    (r'<pre><span></span>', '<pre>'),
    (r'<code class="(?:docutils literal notranslate|literal)">', '<code>'),  # site.css draws it as the theme does
    (r'(<div class="highlight-[\w-]+) notranslate">', r'\1">'),
    (r'class="table-wrapper colwidths-auto ', 'class="table-wrapper '),
    (r'(<div class="[\w -]+) docutils container"', r'\1 container"'),
    (r'<div class="highlight">', '<div class=highlight>'),
    (r'(<link rel="stylesheet") type="text/css"', r'\1'),
    (r'<meta name="viewport" content="width=device-width, initial-scale=1" />', ''),  # the theme says so itself
    (r'<!-- Generated with [^>]*-->', ''),
    (r'<script>\s+(document\.body\.dataset\.theme[^<]*?);\s+</script>', r'<script>\1</script>'),
    (r'class="reference internal"', 'class=reference'),
    (r'(<math[^>]*) display="inline"', r'\1'),  # as formulas are by themselves
    (r'<tr class="row-(?:odd|even)">', '<tr>'),
    (r'<th class="head">', '<th class=head>'),
    (r'<table class="api-table docutils align-default"', '<table class="api-table docutils"'),  # as wide as its place
    (r'(<a class="headerlink"[^>]*) title="Link to this heading"', r'\1'),
    (r'<(t[dh][^>]*)><p>((?:(?!</?p[ >]).)*)</p>\s*</(t[dh])>', r'<\1>\2</\3>'))]  # a cell with one paragraph

# The theme brings drawings of 6 KB into each page, two of them for buttons that are not there.
DRAWINGS = re.compile(r'<svg xmlns="http://www.w3.org/2000/svg" style="display: none;">.*?</svg>\s*(?=<input|<div|<a )',
                      re.S)
RAYS = 'M12 1v2m0 18v2M1 12h2m18 0h2M4.2 4.2l1.4 1.4m12.8 12.8 1.4 1.4m0-15.6-1.4 1.4M5.6 18.4l-1.4 1.4'
CIRCLE = 'M7 12a5 5 0 0 1 10 0a5 5 0 0 1-10 0'
MOON = 'M12 3a7.5 7.5 0 0 0 8 12.4a9 9 0 1 1-8-12.4z'
ICONS = {  # name: (title, lines, a part that is filled)
    'toc': ('Contents', 'M4 6h16M4 12h16M4 18h10', ''),
    'menu': ('Menu', 'M3 6h18M3 12h18M3 18h18', ''),
    'arrow-right': ('Expand', 'M9 18l6-6-6-6', ''),
    'sun': ('Light mode', CIRCLE + RAYS, ''),
    'moon': ('Dark mode', MOON, ''),
    'sun-with-moon': ('Auto light/dark, in light mode', CIRCLE + RAYS, 'M12 7a5 5 0 0 0 0 10z'),
    'moon-with-sun': ('Auto light/dark, in dark mode', MOON, 'M4 12a9 9 0 0 0 16 3.4z')}

def icon(name, title, lines, filled):
    "A drawing of the theme, with the same name and title."
    fill = filled and f'<path d="{filled}" class=filled />'  # site.css draws both
    return f'<symbol id="svg-{name}" viewBox="0 0 24 24"><title>{title}</title><path d="{lines}"/>{fill}</symbol>'

SYMBOLS = f'<svg style="display:none">{"".join(icon(name, *parts) for name, parts in ICONS.items())}</svg>\n'

COLOURED = re.compile(r'<span class=(\w+)>([^<]*)</span>')  # a mark in code; an <i> does the same with six letters less
# Kinds of marks that the site draws alike: they get one name, and neighbours become one mark.
ALIKE = {'sa': 's', 's1': 's', 's2': 's', 'si': 's', 'se': 's', 'sd': 's', 'c1': 'c', 'kn': 'k', 'ow': 'k'}
NEIGHBOURS = re.compile(r'<i class=(\w+)>([^<]*)</i>(\s*)<i class=\1>')
TAG = re.compile(r'<[a-z][^<>]*>')
ONE_CLASS = re.compile(r' class="([\w-]+)"(?!/)')  # needs no quotes, unless a slash would become part of it
CELL_END = re.compile(r'</t[dh]>(?=\s*(?:<t[dh]\b|</tr>))')  # HTML lets the next cell, or the end of the row, say it
AS_IT_IS = re.compile(r'(<(pre|script|textarea)\b.*?</\2>)', re.S)  # where spaces count

def marked(code):
    "A block of `code` with as few marks as give every letter its colour."
    code = COLOURED.sub(lambda found: f'<i class={ALIKE.get(found[1], found[1])}>{found[2]}</i>', code)
    while (joined := NEIGHBOURS.sub(r'<i class=\1>\2\3', code)) != code: code = joined
    return code

def lighter(page):
    "The text of a page without marks that have no effect, indentation, and drawings that nobody sees."
    page = DRAWINGS.sub(lambda _: SYMBOLS, page, count=1)
    for pattern, shorter in CHANGES: page = pattern.sub(shorter, page)
    page = TAG.sub(lambda tag: ONE_CLASS.sub(r' class=\1', tag[0]), page)
    parts = AS_IT_IS.split(page)  # text, block, name of its tag, text, ...
    parts[1::3] = map(marked, parts[1::3])
    parts[::3] = [CELL_END.sub('', re.sub(r'\n\s+', '\n', text)) for text in parts[::3]]
    del parts[2::3]
    return ''.join(parts)

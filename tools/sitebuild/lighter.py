"Take out of a finished page what changes nothing on it: the pages together must stay small enough to be kept."
import re

CHANGES = [(re.compile(pattern, re.S), shorter) for pattern, shorter in (
    # names, numbers, constants and signs, in the colour of the text, and what links say
    (r'<span class="(?:[npwo]|bp|nb|kc|m[ifh]|pre|std std-(?:doc|ref))">([^<]*)</span>', r'\1'),
    (r'<span class="(\w+)">', r'<span class=\1>'),
    (r'<pre><span></span>', '<pre>'),
    (r'<code class="(?:docutils literal notranslate|literal)">', '<code>'),  # site.css draws it as the theme does
    (r'<div class="output (?:stream|text_plain) (highlight-[\w-]+) notranslate', r'<div class="\1'),
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
    (r'<tr class="row-(?:odd|even)"', '<tr'),
    (r'<th class="head">', '<th>'),
    # site.js draws the button, which does nothing without it
    (r'(<button class="theme-toggle"[^>]*>)(?:\s*<svg class="theme-icon[^>]*></svg>)+\s*', r'\1'),
    # what site.css says of the outer one it says of the inner one in these places
    (r'(<div class="cell_input[^"]*container">\s*)<div class="highlight-ipython3">'
     r'(<div class=highlight>(?:(?!</div>).)*</div>)\s*</div>', r'\1\2'),
    (r'(<details class="api(?:-code)?"[^>]*><summary>(?:(?!</summary>).)*</summary>\s*)<div class="highlight-python">'
     r'(<div class=highlight>(?:(?!</div>).)*</div>)\s*</div>', r'\1\2'),
    (r'<table class="api-table docutils align-default"', '<table class="api-table docutils"'),  # as wide as its place
    (r'(<a class="headerlink"[^>]*) title="Link to this heading"', r'\1'),
    (r'<div class="(cell|api-member)(?: tag_[\w-]+)* container">', r'<div class=\1>'),
    (r'<div class="table-wrapper(?: api-table)? container">', '<div class=table-wrapper>'),
    (r'<div class="(cell_(?:in|out)put) container">', r'<div class=\1>'),
    (r'<(t[dh][^>]*)><p>((?:(?!</?p[ >]).)*)</p>\s*</(t[dh])>', r'<\1>\2</\3>'))]  # a cell with one paragraph

# The theme brings drawings of 6 KB into each page, two of them for buttons that are not there.
DRAWINGS = re.compile(r'<svg xmlns="http://www.w3.org/2000/svg" style="display: none;">.*?</svg>\s*(?=<input|<div|<a )',
                      re.S)
RAYS = 'M12 1v2m0 18v2M1 12h2m18 0h2M4.2 4.2l1.4 1.4m12.8 12.8 1.4 1.4m0-15.6-1.4 1.4M5.6 18.4l-1.4 1.4'
CIRCLE = 'M7 12a5 5 0 0 1 10 0a5 5 0 0 1-10 0'
MOON = 'M12 3a7.5 7.5 0 0 0 8 12.4a9 9 0 1 1-8-12.4z'
ICONS = {  # name: (lines, a part that is filled)
    'toc': ('M4 6h16M4 12h16M4 18h10', ''),
    'menu': ('M3 6h18M3 12h18M3 18h18', ''),
    'arrow-right': ('M9 18l6-6-6-6', ''),
    'sun': (CIRCLE + RAYS, ''),
    'moon': (MOON, ''),
    'sun-with-moon': (CIRCLE + RAYS, 'M12 7a5 5 0 0 0 0 10z'),
    'moon-with-sun': (MOON, 'M4 12a9 9 0 0 0 16 3.4z')}

USE = re.compile(r'<svg(?: class="?([\w -]+)"?)?>\s*<use href="#svg-([\w-]+)"></use>\s*</svg>')

def used(found):
    "A place for a drawing, which site.css then has: once for all pages."
    return f'<svg class="{" ".join(filter(None, [found[1], "i-" + found[2]]))}" aria-hidden="true"></svg>'

def drawings():
    "The rules that draw the buttons, in the colour of their text."
    stroke = 'fill="none" stroke="%23000" stroke-width="1.5" stroke-linecap="round" stroke-linejoin="round"'
    for name, (lines, filled) in ICONS.items():
        fill = filled and f'<path d="{filled}"/>'
        shape = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 24 24"><path d="{lines}" {stroke}/>{fill}</svg>'
        mask = f"url('data:image/svg+xml,{shape}') center/contain no-repeat"
        yield f'.i-{name} {{ background: currentColor; mask: {mask}; }}'

# The theme lists every definition of a page beside it; headings are enough, for the reference is a list itself.
LISTED = re.compile(r'(<li><a class="?reference[^>]*href="#reference">Reference</a>)<ul>.*?</ul>(?=\s*</li>)', re.S)

COLOURED = re.compile(r'<span class=(\w+)>([^<]*)</span>')  # a mark in code; an <i> does the same with six letters less
# Kinds of marks that the site draws alike: they get one name, and neighbours become one mark.
# The three kinds that code is full of have a tag of one letter, which saves half a megabyte.
TAGS = {'k': 'b', 's': 'u', 'c': 'i'}
ALIKE = {'sa': 's', 's1': 's', 's2': 's', 'si': 's', 'se': 's', 'sd': 's', 'c1': 'c', 'kn': 'k', 'ow': 'k'}
NEIGHBOURS = re.compile(r'<i class=(\w+)>([^<]*)</i>(\s*)<i class=\1>')
TAG = re.compile(r'<[a-z][^<>]*>')
ONE_CLASS = re.compile(r' class="([\w-]+)"(?!/)')  # needs no quotes, unless a slash would become part of it
CELL_END = re.compile(r'</t[dh]>(?=\s*(?:<t[dh]\b|</tr>))')  # HTML lets the next cell, or the end of the row, say it
SHORT = re.compile(rf'<i class=([{"".join(TAGS)}])>([^<]*)</i>')
AS_IT_IS = re.compile(r'(<(pre|script|textarea)\b.*?</\2>)', re.S)  # where spaces count

def marked(code):
    "A block of `code` with as few marks as give every letter its colour."
    code = COLOURED.sub(lambda found: f'<i class={ALIKE.get(found[1], found[1])}>{found[2]}</i>', code)
    while (joined := NEIGHBOURS.sub(r'<i class=\1>\2\3', code)) != code: code = joined
    return SHORT.sub(lambda found: f'<{TAGS[found[1]]}>{found[2]}</{TAGS[found[1]]}>', code)

def coloured(style):
    "The rules of the `style` of code, which hold for the short tags as well."
    for kind, tag in TAGS.items():
        style = style.replace(f'.highlight .{kind} {{', f'.highlight :is(.{kind}, {tag}:not([class])) {{')
    return style

def lighter(page):
    "The text of a page without marks that have no effect, indentation, and drawings that nobody sees."
    page = LISTED.sub(r'\1', USE.sub(used, DRAWINGS.sub('', page, count=1)))
    for pattern, shorter in CHANGES: page = pattern.sub(shorter, page)
    page = TAG.sub(lambda tag: ONE_CLASS.sub(r' class=\1', tag[0]), page)
    parts = AS_IT_IS.split(page)  # text, block, name of its tag, text, ...
    parts[1::3] = map(marked, parts[1::3])
    parts[::3] = [CELL_END.sub('', re.sub(r'\n\s+', '\n', text)) for text in parts[::3]]
    del parts[2::3]
    return ''.join(parts)

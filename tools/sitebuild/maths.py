"Formulas as MathML, which browsers show by themselves, and the font for it."
import re
from functools import cache
from html import unescape
from pathlib import Path

from fontTools import subset
from latex2mathml.converter import convert
from ziamath import fonts

# What the converter does not know, said with what it knows
KNOWN = {r'\arg\max': r'\operatorname{arg}\max', r'\arg\min': r'\operatorname{arg}\min',
         r'\arg': r'\operatorname{arg}',
         r'\lVert': r'\|', r'\rVert': r'\|', r'\bmod': r'\operatorname{mod}'}
ASSIGNED = re.compile(r'<mo>([^<]*)</mo>(?:<mspace width="negativethinmathspace" ?/>){2}<mo>([^<]*)</mo>')  # += and -=
MARKDOWN = re.compile(r'[*_`\[\]|$~\\](?=[^<>]*(?:<|$))')  # within text, these would be read as Markdown

@cache
def mathml(piece):
    """The formula `piece`, `$x$` or `$$x$$`, as MathML in one line that Markdown leaves alone; None if that cannot be
    made. Formulas that stand side by side, with `\\qquad` between them, wrap where a line is too short for all."""
    tex = piece.strip('$').strip()
    parts = beside(tex) if piece.startswith('$$') and r'\begin' not in tex else [tex]
    made = [one_formula(part, piece.startswith('$$')) for part in parts]
    if None in made: return None
    return made[0] if len(made) == 1 else f'<span class="beside">{" ".join(made)}</span>'

def beside(tex):
    "The formulas in `tex` that `\\qquad` separates, outside of braces."
    parts = ['']
    for piece in re.split(r'(\\qquad)', tex):
        if piece == r'\qquad' and parts[-1].count('{') == parts[-1].count('}'): parts.append('')
        else: parts[-1] += piece
    return [o.strip() for o in parts if o.strip()]

def one_formula(tex, display):
    "One formula as MathML, on a line of its own if it is a display."
    tex = tex.replace('{aligned}', '{split}')
    for name, said in KNOWN.items(): tex = re.sub(re.escape(name) + r'(?![a-zA-Z])', lambda found: said, tex)
    # the exponent of all, not of the last bracket
    tex = re.sub(r'\\bigl\((.*?)\\bigr\)\^', r'\\left(\1\\right)^', tex)
    tex = re.sub(r'\\mathrel\{(.)\}=', r'\1\\!\\!=', tex)
    try: made = convert(tex, display='block' if display else 'inline')
    except Exception: return None
    # a command or a place of alignment that it took for text
    if re.search(r'(?:&#x0005C;|\\)[a-zA-Z]|<mi>&(?:amp;)?</mi>', made): return None
    made = ' '.join(made.split()).replace(' xmlns="http://www.w3.org/1998/Math/MathML"', '')
    made = ASSIGNED.sub(r'<mo>\1\2</mo>', made)
    made = MARKDOWN.sub(lambda found: f'&#{ord(found[0])};', made)
    return made.replace('<math', '<math class="math"', 1)

def write_font(pages, target):
    "Write a font with the glyphs that the formulas in the HTML of `pages` need to the file `target`."
    formulas = [formula for page in pages for formula in re.findall(r'<math.*?</math>', page, re.S)]
    shown = set(unescape(re.sub('<[^>]+>', '', ''.join(formulas))))
    # letters are set in italics; roots
    letters = map(chr, [*range(0x1d434, 0x1d468), 0x210e, 0x221a, *range(0x1d6e2, 0x1d71c)])
    options = subset.Options(flavor='woff', recalc_timestamp=False, hinting=False, layout_features=['*'],
                             notdef_outline=True)
    source = next(Path(fonts.__file__).parent.glob('STIXTwoMath*.ttf'))
    font = subset.load_font(str(source), options)
    chosen = subset.Subsetter(options)
    chosen.populate(text=''.join(sorted(shown.union(letters))))
    chosen.subset(font)
    subset.save_font(font, str(target), options)

"Figures as notebooks store them, made light; tools/run_nbs.py stores them so, and the site shows them."
import base64, io, re

import numpy as np
from PIL import Image, ImageColor

GREY, INK = '#6b7280', '#1f2328'  # What nbs/_site/matplotlibrc writes and draws in, and what the site shows by day
PALETTES = ((256, 0), (96, 25_000), (48, 40_000))  # So many colours for a PNG that is heavier with more of them
HEAVY = 40_000  # Characters; an SVG with more of them, of a figure with many points, weighs more than its pixels
STEP = re.compile(r'([MLQCz])([^MLQCz]*)')  # A letter of a path and its numbers
# A scale is kept as it is: 1/64, rounded, would make letters larger than the places they have; other numbers are
# rounded to a hundredth of a point
NUMBER = re.compile(r'scale\([^)]*\)|(?<=[\s"(,MLQCzHV])-?\d+\.\d{3,}')
EMBEDDED = re.compile(r'(data:image/svg\+xml;base64,)([\w+/=]+)')

def light_png(picture):
    "The PNG `picture` (base64) with a palette of 256 colours, a third of its size; of fewer where that is still heavy."
    light = base64.b64decode(picture)
    image = Image.open(io.BytesIO(light))
    if image.mode == 'P': return picture  # done before
    for colours, heavy in PALETTES:
        if len(light) > heavy: light = with_palette(image, colours)
    return base64.b64encode(light).decode() + '\n'

def with_palette(image, colours):
    "The bytes of a PNG of an `image` with so many `colours`."
    method = Image.Quantize.FASTOCTREE if image.mode == 'RGBA' else Image.Quantize.MAXCOVERAGE
    file = io.BytesIO()
    image.quantize(colours, method, dither=Image.Dither.NONE).save(file, 'PNG', optimize=True)
    return file.getvalue()

def as_webp(png):
    "The file `png` as WebP, a quarter lighter, which takes its place: on white paper, and in the ink of the day."
    pixels = np.array(Image.open(png).convert('RGBA'))
    grey = np.abs(pixels[..., :3].astype(int) - ImageColor.getrgb(GREY)).max(-1) < 8  # a palette moves it a little
    pixels[grey, :3] = ImageColor.getrgb(INK)
    page = Image.new('RGBA', pixels.shape[1::-1], 'white')
    page.alpha_composite(Image.fromarray(pixels))
    page.convert('RGB').save(webp := png.with_suffix('.webp'), lossless=True, quality=100)
    png.unlink()
    return webp

def light_svg(picture):
    "The SVG `picture` without what no reader sees: its date and origin, and decimals of a hundredth of a point."
    picture = re.sub(r'<metadata>.*?</metadata>\s*', '', picture, flags=re.S)
    head, mark, body = picture.partition('<g ')
    rounded = lambda found: found[0] if found[0][0] == 's' else f'{float(found[0]):.2f}'.rstrip('0').rstrip('.')
    return head + mark + NUMBER.sub(rounded, body)

def lighten(output):
    "Keep one light picture of those in the `output` of a cell: the drawing, or, where that is heavy, the pixels."
    data = output.get('data', {})
    output.get('metadata', {}).pop('needs_background', None)
    if 'image/svg+xml' in data:
        data['image/svg+xml'] = light_svg(''.join(data['image/svg+xml']))
        heavy = len(data['image/svg+xml']) > HEAVY
        data.pop('image/svg+xml' if heavy and 'image/png' in data else 'image/png', None)
    if 'image/png' in data: data['image/png'] = light_png(''.join(data['image/png']))
    else: output.get('metadata', {}).pop('image/png', None)

def inked(picture):
    "The SVG `picture` as the site shows it by day."
    return picture.replace(GREY, INK)

def joined(numbers):
    "The `numbers` of a path with nothing between them that can be left out."
    short = lambda o: f'{o + 0.:.2f}'.rstrip('0').rstrip('.')  # + 0. makes 0 of -0
    return ' '.join(re.sub(r'^(-?)0\.', r'\1.', short(o)) for o in numbers).replace(' -', '-')

def relative(path, coarse=1):
    "The `path` of a drawing with points as distances from the one before, in units `coarse` times as large."
    parts, here, start = [], [0., 0.], [0., 0.]
    for letter, numbers in STEP.findall(path):
        points = [round(float(o)/coarse, 0 if coarse > 1 else 2) for o in numbers.split()]
        parts.append(letter.lower() + joined(round(o - here[i % 2], 2) for i, o in enumerate(points)))
        here = points[-2:] or start  # z closes the path, and goes to its start
        if letter == 'M': start = here
    return ''.join(parts)

def renamed(picture):
    "The SVG `picture` with short names, and only of what is used: a letter is called up by its name."
    used = set(re.findall(r'#([\w.-]+)', picture))
    names = [o for o in re.findall(r' id="([^"]*)"', picture) if o in used]
    short = {name: f'g{i}' for i, name in enumerate(names)}  # no colour begins with a g
    picture = re.sub(r' id="([^"]*)"', lambda found: f' id="{short[found[1]]}"' if found[1] in short else '', picture)
    return re.sub(r'#([\w.-]+)', lambda found: f'#{short.get(found[1], found[1])}', picture)

def placed(found):
    "A letter at its place in a line."
    return f'<use href="{found[1]}"' + (f' x="{found[2]}"' if found[2] else '')

def packed(picture):
    """The SVG `picture` as the site stores it, a third lighter: no line breaks, names only of what is used, paths of
    short numbers, and letters drawn to an eighth of the precision of the font, which is finer than any screen."""
    picture = re.sub(r'<!--.*?-->|^<\?xml[^>]*\?>\s*<!DOCTYPE[^>]*>', '', picture, flags=re.S)
    # 1/64, or what was stored before scales were left alone
    picture = re.sub(r' d="([MLQCz\s\d.-]*)" transform="scale\(0\.0(?:15625|2)\)"',
                     lambda found: f' d="{relative(found[1], 8)}" transform="scale(.125)"', picture)
    picture = re.sub(r' d="([MLQCz\s\d.-]*)"', lambda found: f' d="{relative(found[1])}"', picture)
    picture = renamed(picture)
    picture = re.sub(r'<use xlink:href="(#\w+)"(?: transform="translate\(([-\d.]+) 0\)")?', placed, picture)
    picture = re.sub(r'<path d="[^"]*" style="fill: none"/>', '', picture)  # nothing is drawn
    return re.sub(r'\s+', ' ', re.sub(r'>\s+<', '><', picture))

def packed_inside(html):
    "The `html` with the drawings inside it, as a mechanism has one for whoever reads without scripts, packed."
    def packing(found):
        picture = light_svg(base64.b64decode(found[2]).decode())
        return found[1] + base64.b64encode(packed(inked(picture)).encode()).decode()
    return EMBEDDED.sub(packing, html)

def width(output):
    "The width in CSS pixels of the picture in the `output` of a cell; 0 if there is none whose width is known."
    data = output.get('data', {})
    if svg := data.get('image/svg+xml'):
        found = re.search(r'<svg\b[^>]*?\swidth="([\d.]+)(pt|px)?"', ''.join(svg), re.S)
        return round(float(found[1])*(4/3 if found[2] == 'pt' else 1)) if found else 0
    if 'image/png' not in data: return 0
    if shown := output.get('metadata', {}).get('image/png', {}).get('width'): return shown  # twice the pixels
    return int.from_bytes(base64.b64decode(''.join(data['image/png'])[:64])[16:20], 'big')

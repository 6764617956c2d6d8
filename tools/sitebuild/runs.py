"A small picture of the runs behind every claim of the ledger, drawn from its stored rows."
import json
from html import escape

from .citations import anchor

WIDTH, MIDDLE, MARGIN = 160, 9, 8  # in pixels of the picture, whose height is twice its middle

def read_rows(path):
    "The stored rows of the ledger by the anchors of their claims; two claims of one name are an error."
    found = {}
    for row in json.loads(path.read_text()) if path.exists() else []:
        name = anchor(row['name'])
        if name in found: raise ValueError(f'{path.name}: two claims are called {row["name"]!r}')
        found[name] = row
    return found

def scale(row):
    "A function from numbers of a row to places in its picture; None if there is nothing to draw."
    if row['value'] is None: return None
    ends = [row['value'], row['low'], row['high'], row['claimed'], *row['runs'], *(row['region'] or ())]
    known = [end for end in ends if end is not None]
    low, high = min(known), max(known)
    if low == high: return None
    return lambda x: round(MARGIN + (x-low)/(high-low)*(WIDTH-2*MARGIN), 1)

def picture(row):
    "The region in which a claim is true, the claimed number, our interval and the single runs, as SVG; or nothing."
    place = scale(row)
    if place is None: return ''
    low, high = row['region']
    left = 0 if low is None else place(low)
    right = WIDTH if high is None else place(high)
    parts = [f'<rect x="{left}" width="{max(round(right-left, 1), 1)}" height="{2*MIDDLE}"/>']
    if row['low'] is not None:
        parts.append(f'<path class="interval" d="M{place(row["low"])} {MIDDLE}H{place(row["high"])}"/>')
    dots = row['runs'] or [row['value']]
    parts.append(f'<path class="runs" d="{"".join(f"M{place(x)} {MIDDLE}h0" for x in dots)}"/>')
    if row['claimed'] is not None:
        parts.append(f'<path class="claimed" d="M{place(row["claimed"])} 1v{2*MIDDLE-2}"/>')
    label = f'{len(row["runs"]) or "no single"} runs of {row["name"]}'
    return (f'<svg class="runs" viewBox="0 0 {WIDTH} {2*MIDDLE}" role="img" aria-label="{escape(label)}">'
            f'{"".join(parts)}</svg>')

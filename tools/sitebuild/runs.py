"A small picture of the runs behind every claim of the ledger, drawn from its stored rows."
import json
from html import escape

from .citations import anchor

WIDTH, MIDDLE, MARGIN, NAMES = 160, 9, 8, 10  # in pixels; below twice the middle stand the numbers of the ends

def read_rows(path):
    "The stored rows of the ledger by the anchors of their claims; two claims of one name are an error."
    found = {}
    for row in json.loads(path.read_text()) if path.exists() else []:
        name = anchor(row['name'])
        if name in found: raise ValueError(f'{path.name}: two claims are called {row["name"]!r}')
        found[name] = row
    return found

def ends(row):
    "The least and the greatest number in the picture of a row; None if there is nothing to draw."
    if row['value'] is None: return None
    shown = [row['value'], row['low'], row['high'], row['claimed'], *row['runs'], *(row['region'] or ())]
    known = [end for end in shown if end is not None]
    return (min(known), max(known)) if min(known) < max(known) else None

def picture(row):
    "The region in which a claim is true, the claimed number, our interval and the single runs, as SVG; or nothing."
    if not (found := ends(row)): return ''
    least, most = found
    place = lambda x: round(MARGIN + (x - least)/(most - least)*(WIDTH - 2*MARGIN), 1)
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
    bottom = 2*MIDDLE + NAMES - 1
    parts.append(f'<text x="{MARGIN}" y="{bottom}">{least:.4g}</text>'
                 f'<text x="{WIDTH - MARGIN}" y="{bottom}" text-anchor="end">{most:.4g}</text>')
    label = f'{len(row["runs"]) or "no single"} runs of {row["name"]}'
    return (f'<svg class="runs" viewBox="0 0 {WIDTH} {2*MIDDLE + NAMES}" role="img" aria-label="{escape(label)}">'
            f'{"".join(parts)}</svg>')

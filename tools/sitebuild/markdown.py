"Edit Markdown piece by piece, leaving alone what must stay as it is."
import re

PIECES = re.compile(r'''
    (?P<fence>  ^(?P<mark>`{3,}|~{3,})[^\n]*\n.*?^(?P=mark)[`~]*[ \t]*$ )
  | (?P<heading> ^\#{1,6}[ ][^\n]*$ )
  | (?P<code>   (?P<ticks>`+)(?!`).+?(?<!`)(?P=ticks)(?!`) )
  | (?P<maths>  \$\$.+?\$\$ | (?<![\\$\w])\$(?![\s$])[^$]+?(?<![\s\\])\$(?!\d) )
  | (?P<link>   !?\[(?:[^\[\]]|\[[^\[\]]*\])*\]\([^()\s]*(?:[ ]"[^"\n]*")?\) )
  | (?P<html>   <[/a-zA-Z!][^<>]*> )
''', re.X | re.S | re.M)
LINK = re.compile(r'(!?)\[(.*)\]\(([^()\s]*)((?: "[^"\n]*")?)\)', re.S)

def rewrite(text, **change):
    """`text` with each piece of a kind named in `change` replaced by what its function returns.

    Kinds are fence, heading, code, maths, link, html, and prose for all the rest.
    """
    keep, out, end = (lambda piece: piece), [], 0
    for found in PIECES.finditer(text):
        out += [change.get('prose', keep)(text[end:found.start()]), change.get(found.lastgroup, keep)(found[0])]
        end = found.end()
    return ''.join(out) + change.get('prose', keep)(text[end:])

def link_parts(piece):
    "Whether a link `piece` is a picture, its text, its target and its title."
    picture, text, target, title = LINK.fullmatch(piece).groups()
    return bool(picture), text, target, title

def escape(text):
    "`text`, in which only code and formulas are Markdown, for a cell of a table."
    special = lambda piece: re.sub(r'([\\*_<>\[\]|])', r'\\\1', piece)
    return rewrite(' '.join(text.split()), prose=special, link=special, html=special, heading=special,
                   code=lambda piece: piece.replace('|', r'\|'), maths=lambda piece: piece.replace('|', r'\vert '))

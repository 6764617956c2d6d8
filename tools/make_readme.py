"""Write README.md, and the pictures in it, from nbs/index.ipynb.

Markdown cells are taken as they are, code cells become code blocks with their stored outputs under them, and the
directives `#| hide`, `#| echo: false`, `#| output: false` and `#| include: false` are obeyed. `--check` writes
nothing and fails if a file would change.
"""
import argparse, base64, json, re, sys
from pathlib import Path

from execnb.nbio import read_nb
from nbdev.config import get_config
from nbdev.process import extract_directives

NOTE = '<!-- Made from nbs/index.ipynb by tools/make_readme.py: edit there. -->'

EMBEDDED = re.compile(r'data:image/svg\+xml;base64,([\w+/=]+)')
MECHANISM = re.compile(r'<figure class="mechanism".*?<img alt="([^"]*)" src="([^"]*)">', re.S)
PICTURES = {'image/svg+xml': 'svg', 'image/png': 'png'}

def from_root(markdown, folder):
    "`markdown` with relative links and pictures, which start in `folder`, made to start in the project's root."
    return re.sub(r'(\]\()(?![a-z]+:|[#/])', rf'\1{folder}/', markdown)

def block(text, language=''): return f'```{language}\n{text.rstrip()}\n```'

def output(out, pictures, folder, alt=''):
    "One stored output as Markdown; a picture, described by `alt`, is added to `pictures` by the name it gets."
    data = out.get('data', {})
    if kind := next((kind for kind in PICTURES if kind in data), None):
        name = f'images/readme_{len(pictures) + 1}.{PICTURES[kind]}'
        content = ''.join(data[kind])
        pictures[name] = content.encode() if kind == 'image/svg+xml' else base64.b64decode(content)
        return f'![{alt}]({name})'
    def kept(found):
        "Keep an embedded drawing as a file, and give its name."
        pictures[name := f'images/readme_{len(pictures) + 1}.svg'] = base64.b64decode(found[1])
        return name
    if 'text/markdown' in data: return EMBEDDED.sub(kept, from_root(''.join(data['text/markdown']), folder))
    if mechanism := MECHANISM.search(''.join(data.get('text/html', ''))):
        return f'![{mechanism[1]}]({EMBEDDED.sub(kept, mechanism[2])})'
    text = ''.join(out.get('text', data.get('text/plain', '')))
    return block(text) if text.strip() and out.get('name') != 'stderr' else ''

def render(notebook, folder):
    "The files that `notebook`, in `folder`, gives: their bytes by name."
    parts, pictures = [NOTE], {}
    for cell in notebook.cells:
        if cell.cell_type == 'markdown': parts.append(from_root(cell.source, folder))
        if cell.cell_type != 'code': continue
        flags = extract_directives(cell)
        off = {name for name in ('echo:', 'output:', 'include:') if flags.get(name) == ['false']}
        if 'hide' in flags or 'include:' in off: continue
        source = '\n'.join(line for line in cell.source.splitlines() if not line.startswith('#|')).strip()
        if source and 'echo:' not in off: parts.append(block(source, 'python'))
        alt = ' '.join(flags.get('fig-alt:', [])).strip('"')
        if 'output:' not in off: parts += [output(o, pictures, folder, alt) for o in cell.outputs]
    readme = '\n\n'.join(part.strip() for part in parts if part.strip()) + '\n'
    return {'README.md': readme.encode(), **pictures}

if __name__ == '__main__':
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--check', action='store_true', help='only say whether the files are in step')
    args = parser.parse_args()

    cfg = get_config()
    root = cfg.config_path
    index = cfg.nbs_path/cfg.readme_nb
    files = render(read_nb(index), cfg.nbs_path.name)
    stale = [name for name, content in files.items() if not (root/name).exists() or (root/name).read_bytes() != content]
    stale += [p.relative_to(root).as_posix()
              for p in sorted((root/'images').glob('readme_*')) if p.relative_to(root).as_posix() not in files]
    if args.check and stale: sys.exit(f'{", ".join(stale)} not in step with {index.name}; run `make export`')
    for name in stale:
        (root/name).parent.mkdir(exist_ok=True)
        if name in files: (root/name).write_bytes(files[name])
        else: (root/name).unlink()
    print('README.md is in step with nbs/index.ipynb' if not stale else f'wrote {", ".join(stale)}')

"""Render the notebooks as a static site in docs/, from their stored outputs; no cell is run.

nbdev's processors decide what of a notebook is published, the modules in tools/sitebuild turn that into MyST, and
Sphinx makes the pages. Whatever is wrong with a notebook is reported with the cell, and docs/ stays as it was.
`--check` fails if docs/ is not what these notebooks give. It has to build the site elsewhere to know that, unless
everything that the site was made from, and docs/ itself, is still as it was when docs/ was made.
"""
import argparse, hashlib, json, os, re, shutil, subprocess, sys, tempfile
from pathlib import Path

from nbdev.config import get_config
from nbdev.doclinks import nbglob

from sitebuild import agreement, api, html, runs
from sitebuild.citations import Bibliography
from sitebuild.convert import FRONT, Converter, as_page, markdown_cell
from sitebuild.maths import write_font
from sitebuild.menu import (
    CONTENTS, all_pages, asked, forward, llms, menu_script, moved, parts, plain, search_script, slug, toctree)
from sitebuild.notebooks import Problems, load, page_name

FIRST, PAPERS = 'reading', 'bibliography'  # pages with a task of their own
CHANGES = 'CHANGELOG.md'
STAMP = '.made-from'  # in docs/: checksums of what it was made from, and of its pages
PICTURES = '.png', '.jpg', '.jpeg', '.gif', '.svg', '.webp'
WARNING = re.compile(r'^(?P<path>.+?\.ipynb):(?P<line>\d+): (?:WARNING|ERROR): (?P<text>.*)$')

def stop(problems):
    "End with the list of problems, if there are any."
    if problems:
        sys.exit('\n'.join(dict.fromkeys(problems)) + f'\n{len(set(problems))} problems; docs/ is left as it was')

def know(menu, notebooks, cfg):
    "What the templates of the site need to know of its pages."
    about = dict(GitHub=cfg.git_url)
    if (cfg.config_path/CHANGES).exists(): about = dict(Changes=f'{cfg.git_url}/blob/{cfg.branch}/{CHANGES}') | about
    entry = lambda nb: dict(name=nb.page, title=plain(nb.title), minutes=nb.minutes)
    def part(o):
        groups = [dict(name=name, pages=[*map(entry, listed)]) for name, listed in o.groups.items() if listed]
        return dict(name=o.name, slug=slug(o.name), developers=o.developers, names=[nb.page for nb in o.pages],
                    groups=groups, details={owner: [*map(entry, found)] for owner, found in o.details.items()})
    return dict(menu=[part(o) for o in menu], about=[dict(name=name, href=href) for name, href in about.items()],
                descriptions={nb.page: plain(nb.description) for nb in notebooks})

def write_sources(notebooks, menu, words, converter, cfg, folder):
    "Write all that Sphinx reads into `folder`; give the places from which the cells of each page come."
    shutil.copytree(cfg.nbs_path/'_site', folder, dirs_exist_ok=True)
    (folder/'site.json').write_text(json.dumps(known := know(menu, notebooks, cfg)))
    (folder/'_static'/'menu.js').write_text(menu_script(known['menu']))
    if any('data-mechanism=\\"model\\"' in nb.path.read_text() for nb in notebooks):
        from reformer_rnn.models.browser import page_weights  # slow to import
        from reformer_rnn.models.lm import LM
        (folder/'_static'/'model-weights.js').write_text(page_weights(LM.from_pretrained('small')))
    contents = as_page([markdown_cell(all_pages(menu)) | dict(id='contents')])
    contents['metadata']['nosearch'] = True  # it has the titles of all pages, and would be found first for any of them
    (folder/f'{CONTENTS}.ipynb').write_text(json.dumps(contents))
    front = next(nb for nb in notebooks if nb.page == FRONT)
    (folder/'_static'/'pages.js').write_text(search_script(menu, front, words))
    places = {}
    for nb in sorted(notebooks, key=lambda nb: nb.page == PAPERS):  # the list of papers names whoever cites them
        page, places[nb.page] = converter.page(nb)
        if nb.page == FRONT: page['cells'].append(markdown_cell(toctree(menu)) | dict(id='contents'))
        target = folder/f'{nb.page}.ipynb'
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(json.dumps(page, indent=1))
        for picture in nb.path.parent.rglob('*'):
            if picture.suffix not in PICTURES or picture.is_relative_to(cfg.nbs_path/'_site'): continue
            copy = target.parent/picture.relative_to(nb.path.parent)
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(picture, copy)
    return places

def sphinx(source, target, cfg, places, problems):
    "Run Sphinx; what it warns of goes to `problems`, with the cell it comes from."
    env = {**os.environ, 'SOURCE_DATE_EPOCH': '0', 'PYTHONHASHSEED': '0'}
    settings = [f'-D{name}={value}' for name, value in dict(
        project=cfg.lib_name, author=cfg.author, html_title=cfg.title, release=cfg.version,
        html_baseurl=f'{cfg.doc_host}{cfg.doc_baseurl}/').items()]
    ran = subprocess.run([sys.executable, '-m', 'sphinx', '-q', '-N', '-E', '-b', 'html', *settings,
                          '-d', source.parent/'doctrees', source, target], env=env, capture_output=True, text=True)
    for line in ran.stderr.splitlines():
        if warned := WARNING.match(line):
            page = Path(warned['path']).relative_to(source).with_suffix('').as_posix()
            cell = int(warned['line'])//10000 - 1
            known = places.get(page, [])
            problems.add(known[cell] if 0 <= cell < len(known) else page, warned['text'])
        elif line.strip(): problems.append(line)
    if ran.returncode and not problems: problems.append(f'Sphinx failed:\n{ran.stdout}{ran.stderr}')

def build(cfg, folder):
    "Build the site in `folder` and give its place; stop with a list if something is wrong with the notebooks."
    problems = Problems()
    root = cfg.config_path.resolve()
    nbs = cfg.nbs_path.resolve()
    notebooks = [load(p.resolve(), nbs, root, problems) for p in sorted(nbglob(as_path=True))]
    by_page = {nb.page: nb for nb in notebooks}
    for name in (FRONT, FIRST, PAPERS):
        if name not in by_page: problems.append(f'no notebook gives the page {name}.html')
    for nb in notebooks:
        if by_page[nb.page] is not nb:
            problems.append(f'{nb.name} and {by_page[nb.page].name} both give the page {nb.page}.html')
    stop(problems)

    menu = parts(nbs, notebooks, FRONT, problems)
    words = asked(nbs, notebooks, problems)
    old = moved(nbs, notebooks, problems)
    stop(problems)
    bibliography = Bibliography(by_page[PAPERS], problems)
    library = api.Library(notebooks, problems)
    package = agreement.Package(cfg.lib_path)
    converter = Converter(notebooks, library, package, bibliography, menu, old, cfg, problems)
    source, site = folder/'source', folder/'site'
    places = write_sources(notebooks, menu, words, converter, cfg, source)
    bibliography.check()
    stop(problems)
    sphinx(source, site, cfg, places, problems)
    stop(problems)
    unused = site/'.buildinfo', site/'objects.inv', *site.rglob('*.map')  # maps lead to sources of the theme
    for path in unused: path.unlink(missing_ok=True)
    shutil.rmtree(site/'_sources', ignore_errors=True)
    (site/'.nojekyll').touch()
    html.finish(site, runs.read_rows(nbs/'results'/'claims.json'), {nb.page: nb.minutes for nb in notebooks})
    write_font([page.read_text() for page in sorted(site.rglob('*.html'))], site/'_static'/'maths.woff')
    problems += html.faults(site)
    (site/'llms.txt').write_text(llms(menu, by_page[FRONT], cfg))
    for name, nb in old.items():
        (site/f'{name}.html').parent.mkdir(parents=True, exist_ok=True)
        (site/f'{name}.html').write_text(forward(name, nb, cfg))
    agreement.check(site, notebooks, library, package, problems)
    stop(problems)
    return site

def renamed(commit, cfg):
    "Lines for nbs/_site/moved.toml: the pages whose notebooks were renamed since `commit`."
    nbs = cfg.nbs_path.resolve()
    listed = subprocess.run(['git', 'diff', '-M40%', '--diff-filter=R', '--name-status', '-z', commit, '--', '.'],
                            cwd=nbs,
                            capture_output=True, text=True, check=True).stdout.split('\0')
    root = subprocess.run(['git', 'rev-parse', '--show-prefix'], cwd=nbs, capture_output=True, text=True,
                          check=True).stdout.strip()
    page = lambda name: page_name(Path(name).relative_to(root))
    pairs = [(page(old), page(new)) for old, new in zip(listed[1::3], listed[2::3]) if new.endswith('.ipynb')]
    return sorted(f'"{old}" = "{new}"' for old, new in pairs if old != new)

def pages(docs):
    "All files of a site but the stamp."
    return [p for p in docs.rglob('*') if p.is_file() and p != docs/STAMP]

def sources(cfg):
    "Whatever has a part in the site: notebooks, pictures, settings, ledger, package, tools and their versions."
    root, nbs, here = cfg.config_path, cfg.nbs_path, Path(__file__)
    found = [*nbglob(as_path=True), *(p for p in nbs.rglob('*') if p.suffix in PICTURES),
             *(p for p in (nbs/'_site').rglob('*') if p.is_file() and '__pycache__' not in p.parts),
             nbs/'results'/'claims.json', root/'settings.ini', root/'constraints.txt', root/CHANGES,
             *cfg.lib_path.rglob('*.py'), *(cfg.lib_path/'samples').rglob('model.safetensors'), here,
             *(here.parent/'sitebuild').rglob('*.py')]
    return {p.resolve() for p in found if p.exists()}

def digest(paths, root):
    "One checksum of files and their places below a folder."
    listed = sorted((os.path.relpath(p, root).replace(os.sep, '/'), p) for p in paths)
    return hashlib.sha256(''.join(f'{name} {hashlib.sha256(p.read_bytes()).hexdigest()}\n'
                                  for name, p in listed).encode()).hexdigest()

def stamp(cfg, docs):
    "What the file `STAMP` says if nothing has changed since docs/ was made."
    return f'{digest(sources(cfg), cfg.config_path.resolve())}\n{digest(pages(docs), docs)}\n'

def untouched(cfg, docs):
    "Is everything as it was when docs/ was made?"
    return (docs/STAMP).is_file() and (docs/STAMP).read_text() == stamp(cfg, docs)

def differences(site, docs):
    "The files that the two folders do not share byte for byte."
    names = lambda folder: {p.relative_to(folder).as_posix() for p in pages(folder)}
    def same(name):
        ours, theirs = site/name, docs/name
        return ours.is_file() and theirs.is_file() and ours.read_bytes() == theirs.read_bytes()
    return sorted(name for name in names(site) | names(docs) if not same(name))

if __name__ == '__main__':
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--check', action='store_true', help='only say whether docs/ is in step')
    parser.add_argument('--moved', metavar='COMMIT',
                        help='only print what nbs/_site/moved.toml needs for what was renamed since')
    parser.add_argument('--out', type=Path, help='build into this folder instead of docs/')
    args = parser.parse_args()

    cfg = get_config()
    if args.moved: sys.exit(print(*renamed(args.moved, cfg), sep='\n'))
    docs = args.out or cfg.doc_path
    if args.check and untouched(cfg, docs): sys.exit()
    with tempfile.TemporaryDirectory() as folder:
        site = build(cfg, Path(folder).resolve())
        changed = differences(site, docs)
        if args.check and changed:
            sys.exit(f'docs/ is not in step with the notebooks; run `make docs`: {len(changed)} files differ, '
                     f'{", ".join(changed[:8])}')
        if changed:
            shutil.rmtree(docs, ignore_errors=True)
            shutil.copytree(site, docs)
        if not args.check: (docs/STAMP).write_text(stamp(cfg, docs))
    print(f'{len(list(docs.rglob("*.html")))} pages in {docs.name}/, {len(changed)} files changed')

"Read notebooks the way nbdev publishes them, and say what is wrong with them."
import re
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import yaml
from execnb.nbio import read_nb
from nbdev import processors as nbdev_processors
from nbdev.frontmatter import FrontmatterProc
from nbdev.process import NBProcessor, extract_directives

# What nbdev does to a notebook on its way to Quarto, except for running cells, preparing Quarto's syntax, and
# documenting definitions, which it would list from last to first.
PROCESSORS = [FrontmatterProc] + [getattr(nbdev_processors, name) for name in '''populate_language strip_ansi
    hide_line filter_stream_ rm_header_dash ai_magics clean_magics hide_ strip_hidden_metadata'''.split()]
UNSHOWN = {'default_exp'}  # cells that are for nbdev alone
WORDS, LINES = 220, 40  # that are read in a minute
MINUTES = re.compile(r'\*\*Minutes\*\* (\d+)')
OPTION = re.compile(r'^#\|\s*([\w-]+)\s*:\s*(.*)$')

class Problems(list):
    "What is wrong with the notebooks, one line each."
    def add(self, place, message): self.append(f'{place}: {message}')

@dataclass(frozen=True)
class Place:
    "A cell of a notebook, as it is named in messages."
    notebook: str  # Path from the root of the project
    cell: int = None  # Counted from 0, as nbdev does
    text: str = ''  # Source of the cell

    def __str__(self):
        if self.cell is None: return self.notebook
        lines = [o.strip() for o in self.text.splitlines() if o.strip() and not o.startswith('#|')]
        return f'{self.notebook}, cell {self.cell}' + (f' ("{lines[0][:60]}")' if lines else '')

@dataclass(eq=False)
class Notebook:
    "One notebook of the project; `page` is its address in the site, without suffix."
    path: Path  # Of the file
    name: str  # Path from the root of the project
    page: str
    cells: list  # As stored
    title: str = ''
    description: str = ''
    module: str = None  # What it exports to, within the library
    shown: list = field(default_factory=list)  # The cells that nbdev publishes, each with its `place`

    def place(self, cell): return Place(self.name, cell, self.cells[cell].source)
    def link(self, page): return '../'*self.page.count('/') + page

    @cached_property
    def said(self):
        "The minutes that the page itself says it takes, if it does."
        return next((int(found[1]) for cell in self.shown if (found := MINUTES.search(cell.source))), 0)

    @cached_property
    def minutes(self):
        "How long the page takes: what it says itself, or prose at a reader's speed and visible code line by line."
        if self.said: return self.said
        prose = sum(len(cell.source.split()) for cell in self.shown if cell.cell_type == 'markdown')
        unseen = '#| export\n', '#| hide', '#| echo: false', '#| default_exp'
        code = [cell.source for cell in self.shown if cell.cell_type == 'code' and not cell.source.startswith(unseen)]
        return max(1, round(prose/WORDS + sum(source.count('\n') + 1 for source in code)/LINES))

def page_name(path):
    "The address of the notebook at `path` below the folder of notebooks: numbers for sorting are left out."
    parts = path.with_suffix('').parts
    return '/'.join(re.sub(r'^\d+[a-zA-Z0-9]*_', '', part.lower()) for part in parts)

def directives(cell): return extract_directives(cell, remove=False) if cell.cell_type == 'code' else {}

def options(source, place, problems):
    "The Quarto options at the top of a cell's `source` as a dict, and the source without them."
    lines, found = source.split('\n'), {}
    while lines and (line := OPTION.match(lines[0])):
        try: found |= yaml.safe_load(f'{line[1]}: {line[2]}')  # as Quarto reads it
        except yaml.YAMLError:
            found[line[1]] = line[2]
            problems.add(place, f'"{lines[0][:60]}..." is not YAML; put the value into double quotes')
        del lines[0]
    return found, '\n'.join(lines).strip('\n')

def check_title(nb, problems):
    "nbdev takes title and description from the first cell, and drops what else is in it."
    first = nb.cells[0]
    if first.cell_type != 'markdown' or not re.fullmatch(r'# .+\n+> .+', first.source.strip()):
        problems.add(nb.place(0), 'a notebook begins with a cell of nothing but "# Title" and "> One line of '
                                  'description"')

def load(path, nbs, root, problems):
    "The notebook at `path` with the cells that are to be shown; what is wrong with it goes to `problems`."
    stored = read_nb(path)
    nb = Notebook(path, path.relative_to(root).as_posix(), page_name(path.relative_to(nbs)), read_nb(path).cells)
    check_title(nb, problems)
    for i, cell in enumerate(stored.cells):
        cell.place = nb.place(i)
        if any(o.output_type == 'error' for o in cell.get('outputs', [])):
            problems.add(cell.place, 'stores an error; mend and execute it')
        if re.match(r'#\|\s*fig-alt:\s*\n', cell.source):  # nbdev would take the next line of code for the text
            problems.add(cell.place, 'has an empty fig-alt')
        if 'default_exp' in (found := directives(cell)): nb.module = found['default_exp'][0]
    processed = NBProcessor(nb=stored, procs=PROCESSORS)
    processed.process()
    front = stored.frontmatter_
    nb.title = front.get('title', path.stem)
    nb.description = front.get('description', '')
    nb.shown = [cell for cell in stored.cells if cell.cell_type != 'raw'
                and not UNSHOWN & getattr(cell, 'directives_', {}).keys()]
    return nb

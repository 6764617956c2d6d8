"The definitions that notebooks export, with the comments behind their parameters, as entries of a reference."
import ast, io, re, textwrap, tokenize
from collections import defaultdict
from dataclasses import dataclass, field

from nbdev.showdoc import showdoc_nm

from .markdown import escape
from .notebooks import Place, directives

FUNCTION = ast.FunctionDef, ast.AsyncFunctionDef
PARAGRAPH = '\n\n'
NEEDS_NO_DOC = 'extra_repr'  # a hook of PyTorch, documented there

@dataclass
class Parameter:
    name: str  # With its stars
    type: str = ''
    default: str = ''
    text: str = ''  # The comment behind it
    keyword: bool = False  # Only given by name?

@dataclass
class Definition:
    "A function or class that a notebook exports."
    name: str  # Methods have their class in front
    kind: str
    doc: str
    parameters: list
    returns: Parameter
    place: Place
    page: str
    module: str
    code: str  # Its source; empty for a method, which stands in the source of its class
    members: list = field(default_factory=list)  # Public methods, as definitions
    bases: list = field(default_factory=list)  # What a class without an `__init__` of its own is called like

    @property
    def anchor(self): return self.name.lower()  # nbdev's rule, which links from other projects follow

    @property
    def key(self): return f'{self.module}:{self.name}'

@dataclass
class Rest:
    "What exported cells have beside public definitions: constants, helpers, registrations."
    names: list  # What it defines
    code: str

EXPORTS = {'export', 'exports', 'exporti'}

def exported(cell): return EXPORTS & directives(cell).keys()

def public(name): return not name.startswith('_')

def names(node):
    "What a definition is called; one that is patched into several classes has several names."
    found = showdoc_nm(node)
    return [found] if isinstance(found, str) else list(found)

def comments(source):
    """The comments of `source` by line, and for each definition, by its line, the line on which its head ends.

    A comment with lines of its own is about the line below them, unless that has one itself.
    """
    found, ends, depth, head, above = {}, {}, 0, None, {}
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            line, text = token.start[0], token.string.lstrip('# ').rstrip()
            if token.line[:token.start[1]].strip(): found[line] = text
            else: above[line + 1] = f'{above.pop(line, "")} {text}'.strip()
        if token.type == tokenize.NAME and token.string in ('def', 'class') and not depth: head = token.start[0]
        if token.type != tokenize.OP: continue
        depth += (token.string in '([{') - (token.string in ')]}')
        if token.string == ':' and not depth and head: ends[head], head = token.start[0], None
    return above | found, ends

def written(node): return ast.unparse(node) if node else ''

def parameters(function, remarks, end, bound=False):
    """The parameters of `function` and what it returns; `end` is the last line of its head.

    A method, which is `bound` to something, is called without its first parameter.
    """
    args = function.args
    plain = args.posonlyargs + args.args
    defaults = [None]*(len(plain) - len(args.defaults)) + args.defaults
    rows = [('', a, d) for a, d in zip(plain, defaults)] + [('*', args.vararg, None)]*bool(args.vararg)
    rows += [('', a, d) for a, d in zip(args.kwonlyargs, args.kw_defaults)] + [('**', args.kwarg,
            None)]*bool(args.kwarg)
    last = {(d or a).end_lineno: a for _, a, d in rows}  # a comment behind several parameters is about the last
    described = lambda line, a: remarks.get(line, '') if last[line] is a and line != end else ''
    found = [Parameter(star + a.arg, written(a.annotation), written(d), described((d or a).end_lineno, a),
                       a in args.kwonlyargs)
             for star, a, d in rows[bound:]]
    return found, Parameter('returns', written(function.returns), '', remarks.get(end, ''))

def fields(node, remarks):
    "The fields of a dataclass or named tuple as parameters."
    return [Parameter(o.target.id, written(o.annotation), written(o.value), remarks.get(o.end_lineno, ''))
            for o in node.body if isinstance(o, ast.AnnAssign)]

def decorators(function): return [written(o) for o in function.decorator_list]

def is_property(function): return any(o.endswith('property') or 'as_prop=True' in o for o in decorators(function))

def function_definitions(node, remarks, ends, common, owner='', code=''):
    "A function, or a method of the class `owner`, or one patched into a class."
    for name in [f'{owner}.{node.name}'] if owner else names(node):
        if not all(map(public, name.split('.'))): continue
        kind = 'property' if is_property(node) else 'method' if '.' in name else 'function'
        bound = '.' in name and 'staticmethod' not in decorators(node)
        found = parameters(node, remarks, ends[node.lineno], bound)
        yield Definition(name, kind, ast.get_docstring(node) or '', *found, **common, code=code)

def class_definition(node, remarks, ends, common, code):
    "A class with its public methods."
    functions = [o for o in node.body if isinstance(o, FUNCTION)]
    init = next((o for o in functions if o.name == '__init__'), None)
    found = parameters(init, remarks, ends[init.lineno], bound=True)[0] if init else fields(node, remarks)
    methods = [m for o in functions if public(o.name)
               for m in function_definitions(o, remarks, ends, common, node.name)]
    return Definition(node.name, 'class', ast.get_docstring(node) or '', found, Parameter('returns'), **common,
                      code=code, members=methods, bases=[] if init else [written(o) for o in node.bases])

def extents(tree, lines):
    "Each statement at the top of a module with its source: with decorators, and with the comments right above it."
    end = 0
    for node in tree.body:
        first = min([node.lineno, *(o.lineno for o in getattr(node, 'decorator_list', []))])
        while first - 1 > end and lines[first - 2].startswith('#'): first -= 1
        end = node.end_lineno
        yield node, '\n'.join(lines[first - 1:end])

def assigned(node):
    "The names that a statement at the top of a module defines or changes."
    if isinstance(node, (*FUNCTION, ast.ClassDef)): return [node.name]
    targets = getattr(node, 'targets', [getattr(node, 'target', None)])
    return [o.id for target in targets if target for o in ast.walk(target) if isinstance(o, ast.Name)]

def items(nb, number):
    """What the exported cell with this `number` holds, in its order: definitions, and the rest of its code.

    All of a cell that is marked with `#| exporti` is for its module alone, as what begins with `_` is.
    """
    internal = 'exporti' in directives(nb.cells[number])
    source = '\n'.join(line for line in nb.cells[number].source.split('\n') if not line.startswith('#|')).strip('\n')
    remarks, ends = comments(source)
    common = dict(place=nb.place(number), page=nb.page, module=nb.module)
    rest = Rest([], '')
    for node, code in extents(ast.parse(source), source.split('\n')):
        if isinstance(node, (ast.Import, ast.ImportFrom)): continue
        found = []
        if internal: pass
        elif isinstance(node, FUNCTION): found = list(function_definitions(node, remarks, ends, common, code=code))
        elif isinstance(node, ast.ClassDef) and public(node.name):
            found = [class_definition(node, remarks, ends, common, code)]
        if not found:
            rest.names += [o for o in assigned(node) if o not in rest.names]
            rest.code += ('\n\n' if rest.code else '') + code
            continue
        if rest.code: yield rest
        rest = Rest([], '')
        yield from found
    if rest.code: yield rest

def undocumented(o):
    "What is missing in the documentation of the definition `o`, if anything."
    if not o.doc and o.name.split('.')[-1] not in NEEDS_NO_DOC: return f'`{o.name}` is exported without a docstring'
    named = [p for p in o.parameters if not p.name.startswith('*')]
    silent = [p.name for p in named if not p.text]
    if 0 < len(silent) < len(named): return f'`{o.name}` describes some of its parameters, but not {", ".join(silent)}'

class Library:
    "All that the notebooks export; definitions that lack documentation or are repeated go to `problems`."
    def __init__(self, notebooks, problems):
        self.cells, self.by_key, self.by_name = {}, {}, defaultdict(list)
        for nb in notebooks:
            for i in (i for i, cell in enumerate(nb.cells) if exported(cell)):
                self.cells[nb.name, i] = found = list(items(nb, i))
                for o in found:
                    if isinstance(o, Definition):
                        for d in [o, *o.members]: self.add(d, problems)

    def add(self, o, problems):
        if before := self.by_key.get(o.key):
            # The setter of a property, and a function made for several types, repeat a name on purpose.
            if o.place != before.place: problems.add(o.place, f'`{o.name}` is defined in {before.place}, too')
            return
        self.by_key[o.key] = o
        self.by_name[o.name].append(o)
        if missing := undocumented(o): problems.add(o.place, missing)

    def find(self, name, module):
        """The definitions that `name` may mean in a text about `module`: its own come first.

        A name may be qualified, as in `attention.linear.linear_attention` or `linear.linear_attention`.
        """
        if own := self.by_key.get(f'{module}:{name}'): return [own]
        if name in self.by_name: return self.by_name[name]
        parts = name.split('.')
        for i in range(len(parts) - 1, 0, -1):
            within, rest = '.'.join(parts[:i]), '.'.join(parts[i:])
            found = [o for o in self.by_name.get(rest, []) if f'.{o.module}'.endswith(f'.{within}')]
            if found: return found
        return []

def module_definitions(source):
    "The line and the signature of each public definition in the `source` of a module, by name; the first of each name."
    remarks, ends = comments(source)
    common = dict(place=None, page='', module='')
    found = {}
    for node in ast.parse(source).body:
        if isinstance(node, FUNCTION): made = list(function_definitions(node, remarks, ends, common))
        elif isinstance(node, ast.ClassDef) and public(node.name):
            made = [class_definition(node, remarks, ends, common, '')]
        else: continue
        lines = {f'{node.name}.{o.name}': o.lineno
                 for o in reversed(node.body) if isinstance(o, FUNCTION)} if made and made[0].kind == 'class' else {}
        for o in [d for m in made for d in [m, *m.members]]:
            found.setdefault(o.name, (lines.get(o.name, node.lineno), signature(o)))
    return found

def table(o, text):
    "The parameters of the definition `o` as a table without empty columns; `text` renders a description."
    rows = o.parameters + [o.returns]*bool(o.returns.text)
    code = lambda source: f'`{source}`'.replace('|', r'\|') if source else ''
    columns = {'Parameter': ['*returns*' if p is o.returns else code(p.name) for p in rows],
               'Type': [text(code(p.type)) for p in rows], 'Default': [code(p.default) for p in rows],
               'Meaning': [text(escape(p.text)) for p in rows]}
    columns = {name: cells for name, cells in columns.items() if any(cells)}
    lines = [columns.keys(), ['---']*len(columns), *zip(*columns.values())]
    return '{.api-table}\n' + '\n'.join('| ' + ' | '.join(line) + ' |' for line in lines)

def signature(o, width=96):
    "How the definition `o` is called, without types, in lines of at most `width` characters."
    if o.kind == 'property': return o.name
    parts = [p.name + (f'={p.default}' if p.default else '') for p in o.parameters]
    first = next((i for i, p in enumerate(o.parameters) if p.keyword), None)
    if first is not None and not any(p.name.startswith('*') for p in o.parameters[:first]): parts.insert(first, '*')
    name = f'class {o.name}' if o.kind == 'class' else o.name
    line = f'{name}({", ".join(parts)})' if parts or o.kind != 'class' else name
    if len(line) <= width: return line
    filled = textwrap.fill(', '.join(part.replace(' ', '\0') for part in parts), width, break_long_words=False,
                           break_on_hyphens=False, initial_indent='    ', subsequent_indent='    ')
    return f'{name}(\n{filled}\n)'.replace('\0', ' ')

def fold(summary, code, kind='api-code'):
    "Python `code` that opens by a click on its `summary`."
    fence = max(['``', *re.findall(r'`{3,}', code)], key=len) + '`'
    return f'<details class="{kind}"><summary>{summary}</summary>\n\n{fence}python\n{code}\n{fence}\n\n</details>'

def rest(o):
    "The Markdown of an exported cell's code that is no public definition."
    named = ', '.join(f'<code>{name}</code>' for name in o.names)
    return fold(f'Code: {named}' if named else 'Code', o.code)

def body(o, text, source):
    "What the definition `o` does in one paragraph, and the rest: signature, more of the docstring, parameters."
    first, _, more = o.doc.partition(PARAGRAPH)
    if o.doc and any(not base.endswith('NamedTuple') for base in o.bases):
        bases = ' and '.join(f'`{base}`' for base in o.bases)
        more = f'It takes the arguments of {bases}{", too" if o.parameters else ""}.\n\n{more}'.strip()
    parts = [f'```python\n{signature(o)}\n```', text(more)]
    if any(p.text for p in [*o.parameters, o.returns]): parts.append(table(o, text))
    parts.append(f'<a class="api-source" href="{source}">source</a>')
    return text(first) or 'Its signature', '\n\n'.join(part for part in parts if part)

LESSON = '-in-the-lesson'
def lesson_anchor(o): return o.name + LESSON

def landmarks(found):
    "The places in the lesson to which the entries of the definitions `found` lead back."
    return ''.join(f'<span class="api-anchor" id="{lesson_anchor(o)}"></span>' for o in found)

def entry(o, text, source, shown=False):
    """The Markdown of the definition `o` and, if it is a class, of its methods: a line that a click opens.

    `source` gives the address of code. If the lesson has `shown` it, the entry leads there; otherwise it holds it.
    """
    # a heading has its name as its id by itself, unless there is a dot in it
    mark = lambda d: (f' id="{d.anchor}"' if '.' in d.name else '') + f' data-api="{d.key}"'
    first, rest = body(o, text, source(o))
    if shown: rest += f' <a class="api-source" href="#{lesson_anchor(o)}">code in the lesson</a>'
    parts = [f'### `{o.name}`', f'<details class="api"{mark(o)}><summary>', first, '</summary>', rest]
    if not shown: parts.append(fold('Code', o.code))
    for member in (d for d in o.members if d.doc):
        does, called = body(member, text, source(member))
        signed, _, details = called.partition('\n```\n\n')
        anchor = f'<span class="api-anchor"{mark(member)}></span>'
        parts.append(f'::::{{container}} api-member\n{anchor}\n\n{signed}\n```\n\n{does}\n\n{details}\n::::')
    return '\n\n'.join([*parts, '</details>'])

"The definitions that notebooks export, with the comments behind their parameters, as entries of a reference."
import ast, io, textwrap, tokenize
from dataclasses import dataclass, field

from nbdev.showdoc import showdoc_nm

from .markdown import escape
from .notebooks import Place, directives

FUNCTION = ast.FunctionDef, ast.AsyncFunctionDef
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
    members: list = field(default_factory=list)  # Names of public methods

    @property
    def anchor(self): return self.name.lower()  # nbdev's rule, which links from other projects follow

def public(name): return not name.startswith('_')

def names(node):
    "What a definition is called; one that is patched into several classes has several names."
    found = showdoc_nm(node)
    return [found] if isinstance(found, str) else list(found)

def comments(source):
    "The comments of `source` by line, and for each definition, by its line, the line on which its head ends."
    found, ends, depth, head = {}, {}, 0, None
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT: found[token.start[0]] = token.string.lstrip('# ').rstrip()
        if token.type == tokenize.NAME and token.string in ('def', 'class') and not depth: head = token.start[0]
        if token.type != tokenize.OP: continue
        depth += (token.string in '([{') - (token.string in ')]}')
        if token.string == ':' and not depth and head: ends[head], head = token.start[0], None
    return found, ends

def written(node): return ast.unparse(node) if node else ''

def parameters(function, remarks, end):
    "The parameters of `function` but for self, and what it returns; `end` is the last line of its head."
    args = function.args
    plain = args.posonlyargs + args.args
    defaults = [None]*(len(plain) - len(args.defaults)) + args.defaults
    rows = [('', a, d) for a, d in zip(plain, defaults)] + [('*', args.vararg, None)]*bool(args.vararg)
    rows += [('', a, d) for a, d in zip(args.kwonlyargs, args.kw_defaults)] + [('**', args.kwarg, None)]*bool(args.kwarg)
    last = {(d or a).end_lineno: a for _, a, d in rows}  # a comment behind several parameters is about the last
    described = lambda line, a: remarks.get(line, '') if last[line] is a and line != end else ''
    found = [Parameter(star + a.arg, written(a.annotation), written(d), described((d or a).end_lineno, a), a in args.kwonlyargs)
             for star, a, d in rows if a.arg not in ('self', 'cls')]
    return found, Parameter('returns', written(function.returns), '', remarks.get(end, ''))

def fields(node, remarks):
    "The fields of a dataclass or named tuple as parameters."
    return [Parameter(o.target.id, written(o.annotation), written(o.value), remarks.get(o.end_lineno, ''))
            for o in node.body if isinstance(o, ast.AnnAssign)]

def is_property(function): return any(written(o).endswith('property') for o in function.decorator_list)

def function_definitions(node, remarks, ends, common, owner=''):
    "A function, or a method of the class `owner`, or one patched into a class."
    for name in [f'{owner}.{node.name}'] if owner else names(node):
        if not all(map(public, name.split('.'))): continue
        kind = 'property' if is_property(node) else 'method' if '.' in name else 'function'
        yield Definition(name, kind, ast.get_docstring(node) or '', *parameters(node, remarks, ends[node.lineno]), **common)

def class_definitions(node, remarks, ends, common):
    "A class, then its public methods."
    functions = [o for o in node.body if isinstance(o, FUNCTION)]
    init = next((o for o in functions if o.name == '__init__'), None)
    found = parameters(init, remarks, ends[init.lineno])[0] if init else fields(node, remarks)
    methods = [o for o in functions if public(o.name)]
    yield Definition(node.name, 'class', ast.get_docstring(node) or '', found, Parameter('returns'), **common,
                     members=[f'{node.name}.{o.name}' for o in methods])
    for o in methods: yield from function_definitions(o, remarks, ends, common, node.name)

def definitions(nb):
    "Every public definition in the exported cells of a notebook, in order."
    for i, cell in enumerate(nb.cells):
        if not {'export', 'exports'} & directives(cell).keys(): continue
        read = *comments(cell.source), dict(place=nb.place(i), page=nb.page, module=nb.module)
        for node in ast.parse(cell.source).body:
            if isinstance(node, FUNCTION): yield from function_definitions(node, *read)
            elif isinstance(node, ast.ClassDef) and public(node.name): yield from class_definitions(node, *read)

def undocumented(o):
    "What is missing in the documentation of the definition `o`, if anything."
    if not o.doc and o.name.split('.')[-1] not in NEEDS_NO_DOC: return f'`{o.name}` is exported without a docstring'
    named = [p for p in o.parameters if not p.name.startswith('*')]
    silent = [p.name for p in named if not p.text]
    if 0 < len(silent) < len(named): return f'`{o.name}` describes some of its parameters, but not {", ".join(silent)}'

def index(notebooks, problems):
    "All definitions by name; those that lack documentation go to `problems`."
    found = {}
    for nb in notebooks:
        for o in definitions(nb):
            found[o.name] = o
            if missing := undocumented(o): problems.add(o.place, missing)
    return found

def line_numbers(source):
    "The line of each definition in the `source` of a module."
    lines = {}
    for node in ast.parse(source).body:
        if not isinstance(node, (*FUNCTION, ast.ClassDef)): continue
        lines |= dict.fromkeys(names(node), node.lineno)
        if isinstance(node, ast.ClassDef):
            lines |= {f'{node.name}.{o.name}': o.lineno for o in node.body if isinstance(o, FUNCTION)}
    return lines

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

def signature(o, width=84):
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

def body(o, text, source):
    "Signature, docstring and parameters of the definition `o`; `source` is the address of its code."
    parts = [f'```python\n{signature(o)}\n```', text(o.doc) + f' <a class="api-source" href="{source}">source</a>']
    if any(p.text for p in [*o.parameters, o.returns]): parts.append(table(o, text))
    return '\n\n'.join(parts)

def entry(o, found, level, text, source):
    "The Markdown of the definition `o` and, if it is a class, of its methods; `source` gives the address of code."
    anchor = lambda d: f'<span class="api-anchor" id="{d.anchor}"></span>\n\n'
    mark = anchor(o) if '.' in o.name else ''  # otherwise the heading has that id by itself
    parts = [f'{mark}{"#"*level} `{o.name}`\n\n{body(o, text, source(o))}']
    for member in (found[name] for name in o.members if found[name].doc):
        parts.append(f'::::{{container}} api-member\n{anchor(member)}{body(member, text, source(member))}\n::::')
    return '\n\n'.join(parts)

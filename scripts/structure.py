"""Measure the structure of the package: sizes, names, comments, cycles, and what a small query costs.

    python scripts/structure.py [--json] [--list MEASURE]

Prints one line a measure. `--list` prints what a measure counted, such as the duplicate class names. Tests hold the
measures that growth does not change (`tests/test_structure.py`).
"""

from __future__ import annotations

import argparse
import ast
import json
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any, TypeAlias

ROOT = Path(__file__).resolve().parent.parent
SOURCE = ROOT / "src"
MIN_LINES, MAX_LINES = 80, 400
_IRREGULAR = re.compile(
    "begun|bound|brought|built|chosen|cut|done|drawn|driven|fallen|felt|found|frozen|given|gone|grown|had|heard|held|"
    "hidden|kept|known|laid|left|lent|lost|made|meant|met|paid|said|seen|sent|shown|shut|sold|spent|spoken|stood|"
    "struck|taken|taught|thrown|told|torn|understood|woken|won|worn|woven|written"
)
_VERBS = re.compile("embed|feed|need|seed|speed|proceed|exceed|succeed|shed")
"""Verbs and nouns that end as participles do."""

_ODD_NAMES = re.compile(
    "again|alone|apart|asked|at|begin|begins|chosen|cited|counted|cut|declared|drawn|each|ended|facts|"
    "fault|faults|folded|found|given|gone|heard|held|here|hit|hits|how|joined|kept|known|late|listed|"
    "lost|made|marked|met|more|most|named|needed|one|opened|others|own|passed|piece|pieces|place|places|"
    "plain|said|several|shared|shown|some|space|spelled|standing|stop|taken|thing|told|tried|upto|used|"
    "wanted|what|where|whole|why|written"
)
"""Participles, pronouns and adverbs in the place of a noun: they say what was done to a thing, not what it is."""

_SUPERLATIVES = frozenset({"MOST", "LEAST", "FEWEST", "LONGEST", "SHORTEST", "LARGEST", "SMALLEST", "DEEPEST"})
_VERB_NAMES = frozenset({"place", "stop"})
"""Words of `_ODD_NAMES` that are verbs, and so fit functions."""

_ADJECTIVES = {
    "shared": (
        "client/methods/conversations.py",
        "core/tools/conversations.py",
        "engines/deepsearch/conversations/records.py",
        "engines/deepsearch/conversations/service.py",
        "engines/deepsearch/conversations/store.py",
    ),
}
"""Words of `_ODD_NAMES` that are right in some modules.

``shared`` is a flag of conversations, beside ``starred``: a parameter of `deepsearch_update`, and a column of the
database.
"""

_FOREIGN = frozenset({"os", "sys", "shell", "pd", "np", "providers"})
"""Receivers of `getattr`, or of private names, that are modules or objects of other packages."""

_EXTENSION_POINTS = {("tests/contract/test_a_new_tool.py", "_call")}
"""Private names that a recipe of CONTRIBUTING.md uses, in the test that follows it."""

_PHRASES = re.compile(
    r"\A(?:Tell|Give)s? (?!up\b)|\bhas to be\b|\b[Ww]hoever\b|\b[Nn]obody\b|\bthere is no such\b"
    r"|\bstands? (?:in|at|behind)\b|\bas it stands\b|\bcomes? to its end\b|\bwas asked for\b|\bin place of\b|\banew\b"
    r"|\bas ever\b|\bbe it\b|\bis to be\b|\bother makers?\b|\banother maker\b|\bwhat was found\b|\b[Tt]heir twins\b"
)
"""Phrases of older texts, which a plain verb or a standard term replaces."""

_KNOWN_PHRASES = {
    ("sourcelight.engines.deepsearch.question.phrases.commits", "nobody"),
    ("sourcelight.engines.history.people", "nobody"),
}
"""Modules in which a word is right: a user named ``nobody``, and words that people type in questions."""

_DIRECTIVE = re.compile(r"#\s*(noqa|type:|pragma|fmt:|!|mypy:)")
_TEXTS_AND_COMMENTS = re.compile(
    r'''(?s:("""|\'{3})(?:\\.|.)*?\1)|"(?:\\(?s:.)|[^"\\\n])*"|'(?:\\(?s:.)|[^'\\\n])*'|#[^\n]*'''
)
"""String literals, in which a ``#`` is no comment, and comments; a tenth of what `tokenize` takes."""

_ARRAY = re.compile(r"NDArray\[")
_TYPE_ALIAS = getattr(ast, "TypeAlias", ast.AST)  # of Python 3.12; no node is a bare AST
_QUESTION = re.compile(r"(?:What|Where|Who|Whose|How|Why|Which) [a-z`][^?\n]{8,}(?:\n|\.$|\.\Z)")

_FRAGMENT = re.compile(
    r"(?:About|All|An?|Any|As|Each|Every|Everyone|Everything|First|For|It|Last|Maximum|Never|None|Nothing|The|These|This"
    r"|Those|Two|Up|When|Where|Whether)\b|(?!Warn)[A-Z]\w* of |[`(\d]"
)
"""Starts of a function's summary that is a noun phrase or a clause; ruff knows few nouns and takes others for verbs."""

_QUERY = """
import sys
import tempfile
import threading
from pathlib import Path
import sourcelight as sl
from sourcelight.testing import RepositoryBuilder

OWN = str(Path(sl.__file__).parent) + "/"  # not the name alone, which a checkout has too
root = Path(tempfile.mkdtemp())
files = {f"src/module_{i}.py": f"class Query{i}:\\n    name = {i}\\n\\nclass Query:\\n    pass\\n" for i in range(20)}
RepositoryBuilder(root / "small").commit(files)
called, calls, active = set(), 0, False

def profile(frame, event, _argument):
    global calls
    if active and event == "call" and frame.f_code.co_filename.startswith(OWN):
        calls += 1
        called.add(frame.f_code)

threading.setprofile(profile)  # before any thread starts
sys.setprofile(profile)
client = sl.open(root / "small")
client.search("def other lang:python", progress=False)
for thread in threading.enumerate():  # what is built in the background is no part of a query
    if thread.name in ("sourcelight-definitions", "sourcelight-terms"):
        thread.join()
client.search("def another lang:python", progress=False)  # on a busy machine, work trees are counted again by now
measures = []
for text in ("class Query", "class Query1", "class Query2", "class Query3", "class Query4"):
    called, calls, active = set(), 0, True
    client.search(text + " lang:python", progress=False)
    active = False
    measures.append((len(called), len({code.co_filename for code in called}), calls))
print(*min(measures))  # manifests and work trees are looked at a few times a second, by whichever query comes then
client.close()
"""


Nodes: TypeAlias = Mapping[type[ast.AST], Sequence[Any]]


@dataclass(frozen=True)
class Module:
    """A module of the package.

    Parameters
    ----------
    name
        Dotted name.
    path
        Its file.
    """

    name: str
    path: Path
    text: str = field(repr=False)

    @cached_property
    def tree(self) -> ast.Module:
        """The syntax tree."""
        return ast.parse(self.text)

    @cached_property
    def nodes(self) -> Nodes:
        """The nodes of the syntax tree by their type."""
        return _by_type(self.tree)

    @cached_property
    def lines(self) -> int:
        """Number of lines."""
        return len(self.text.splitlines())

    @cached_property
    def unspaced_lines(self) -> int:
        """Number of lines without the blank ones inside functions: setting steps apart makes no module longer."""
        texts = self.text.splitlines()
        functions = (*self.nodes[ast.FunctionDef], *self.nodes[ast.AsyncFunctionDef])
        inside = {
            number
            for function in functions
            for number in range(_body_start(function), (function.end_lineno or function.lineno) + 1)
        }
        return len(texts) - sum(not texts[number - 1].strip() for number in inside)

    @property
    def room(self) -> str:
        """Its directory below the package, with dots."""
        return ".".join(self.path.relative_to(SOURCE / "sourcelight").parts[:-1])

    @property
    def is_package(self) -> bool:
        """Whether it is the `__init__` of a package."""
        return self.path.stem == "__init__"


@cache
def modules() -> tuple[Module, ...]:
    """Return every module of the package, by name."""
    paths = sorted((SOURCE / "sourcelight").rglob("*.py"))
    return tuple(Module(_dotted(path), path, path.read_text("utf-8")) for path in paths)


def _dotted(path: Path) -> str:
    parts = path.relative_to(SOURCE).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _body_start(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Return the first line of a function behind its docstring."""
    if ast.get_docstring(function) is None:
        return function.lineno

    return function.body[0].end_lineno or function.lineno


def _by_type(tree: ast.AST) -> Nodes:
    """Sort the nodes of a tree: each measure looks for a few types, and to walk through all trees takes seconds."""
    nodes: defaultdict[type[ast.AST], list[Any]] = defaultdict(list)
    for node in ast.walk(tree):
        nodes[type(node)].append(node)
    return nodes


def sizes(*, comments: bool = True) -> dict[str, int]:
    """Return the lines of each module that isn't an `__init__`, or only those with code and docstrings."""
    return {
        module.name: module.lines if comments else module.unspaced_lines - comment_lines(module)
        for module in modules()
        if not module.is_package
    }


def duplicate_classes() -> dict[str, list[str]]:
    """Return class names that several modules define, with these modules."""
    owners: dict[str, list[str]] = defaultdict(list)
    for module in modules():
        for node in module.tree.body:
            if isinstance(node, ast.ClassDef):
                owners[node.name].append(module.name)
    return {name: names for name, names in sorted(owners.items()) if len(names) > 1}


def probes() -> list[str]:
    """Return each `getattr(x, "name", default)` and `hasattr(x, "name")` that asks an object what it can do."""
    return [f"{name}:{node.lineno} {ast.unparse(node)}" for name, node in _probe_calls()]


def probed_names() -> set[tuple[str, str]]:
    """Return the module and the name of each of `probes`."""
    return {(name.removeprefix("sourcelight."), str(node.args[1].value)) for name, node in _probe_calls()}


def _probe_calls() -> Iterator[tuple[str, Any]]:
    return ((module.name, node) for module in modules() for node in module.nodes[ast.Call] if _is_probe(node))


def _is_probe(node: ast.Call) -> bool:
    if not isinstance(node.func, ast.Name) or (node.func.id, len(node.args)) not in (("getattr", 3), ("hasattr", 2)):
        return False
    receiver, name = node.args[:2]
    while isinstance(receiver, ast.Attribute):
        receiver = receiver.value
    foreign = isinstance(receiver, ast.Name) and receiver.id in _FOREIGN
    return isinstance(name, ast.Constant) and not str(name.value).startswith("__") and not foreign


def participles() -> list[str]:
    """Return functions that are no properties and whose name is one bare participle."""
    return [
        f"{module.name}:{node.lineno} {node.name}"
        for module in modules()
        for node in (*module.nodes[ast.FunctionDef], *module.nodes[ast.AsyncFunctionDef])
        if is_participle(node.name) and not _is_property(node)
    ]


def odd_names(root: Path = SOURCE) -> list[str]:
    """Return each variable, parameter, attribute and function below a directory whose whole name is of `_ODD_NAMES`."""
    return [
        f"{path.relative_to(ROOT)}:{line} {name}"
        for path in sorted(root.rglob("*.py"))
        for name, line, is_function in _names(path)[0]
        if _ODD_NAMES.fullmatch(word := name.strip("_"))
        and not (is_function and word in _VERB_NAMES)
        and not path.as_posix().endswith(_ADJECTIVES.get(word, ()))
    ]


def stale_adjectives() -> list[str]:
    """Return the entries of `_ADJECTIVES` whose module has no such name any more."""
    return [
        f"{file} {word}"
        for word, files in _ADJECTIVES.items()
        for file in files
        if word not in {name.strip("_") for name, *_ in _names(SOURCE / "sourcelight" / file)[0]}
    ]


def limit_names(root: Path = SOURCE) -> list[str]:
    """Return each constant below a directory that a superlative names; limits are ``MAX_…`` and ``MIN_…``.

    Constants that a call makes are no limits, such as the `Tool` of ``largest_files``.
    """
    return [
        f"{path.relative_to(ROOT)}:{line} {name}"
        for path in sorted(root.rglob("*.py"))
        for name, line, _ in _names(path)[0]
        if name.isupper() and not _SUPERLATIVES.isdisjoint(name.split("_")) and name not in _names(path)[2]
    ]


@cache
def _names(path: Path) -> tuple[tuple[tuple[str, int, bool], ...], tuple[tuple[str, int], ...], frozenset[str]]:
    """Return the names that a file introduces, and the private ones that it uses, with their lines; and made objects.

    Made objects are names that are assigned the value of a call.
    """
    module = _by_path().get(path)
    # Parsed once for both. Trees of all files would take hundreds of megabytes to the end of a run of tests.
    nodes = module.nodes if module else _by_type(ast.parse(path.read_text("utf-8")))
    calls = (node for node in nodes[ast.Assign] if isinstance(node.value, ast.Call))
    made_objects = frozenset(target.id for node in calls for target in node.targets if isinstance(target, ast.Name))
    return tuple(_introductions(nodes)), tuple(_private_uses(nodes)), made_objects


@cache
def _by_path() -> dict[Path, Module]:
    return {module.path: module for module in modules()}


def _introductions(nodes: Nodes) -> Iterator[tuple[str, int, bool]]:
    """Yield each introduced name with its line, and whether it is that of a function."""
    yield from ((node.id, node.lineno, False) for node in nodes[ast.Name] if isinstance(node.ctx, ast.Store))
    yield from ((node.attr, node.lineno, False) for node in nodes[ast.Attribute] if isinstance(node.ctx, ast.Store))
    yield from ((node.arg, node.lineno, False) for node in nodes[ast.arg])
    yield from ((node.name, node.lineno, False) for node in nodes[ast.ExceptHandler] if node.name)
    for function in (ast.FunctionDef, ast.AsyncFunctionDef):
        yield from ((node.name, node.lineno, True) for node in nodes[function])


def private_names(root: Path = ROOT / "tests") -> list[str]:
    """Return each private name of the package that files below a directory import, read, replace or set.

    Names that end with an underscore are protocols of IPython; names that a file defines itself are its own.
    """
    uses = []
    for path in sorted(root.rglob("*.py")):
        introductions, private_uses, _ = _names(path)
        local = {name for name, *_ in introductions}
        uses += [
            f"{path.relative_to(ROOT)}:{line} {name}"
            for name, line in private_uses
            if name not in local and not name.endswith("_")
            if (path.relative_to(ROOT).as_posix(), name) not in _EXTENSION_POINTS
        ]
    return uses


def _private_uses(nodes: Nodes) -> Iterator[tuple[str, int]]:
    for node in nodes[ast.ImportFrom]:
        if (node.module or "").partition(".")[0] == "sourcelight":
            yield from ((alias.name, node.lineno) for alias in node.names if alias.name.startswith("_"))
    for node in nodes[ast.Attribute]:
        if node.attr.startswith("_") and not (isinstance(node.value, ast.Name) and node.value.id in _FOREIGN):
            yield node.attr, node.lineno
    for node in nodes[ast.Call]:
        function = node.func.id if isinstance(node.func, ast.Name) else getattr(node.func, "attr", "")
        if function.endswith(("getattr", "setattr", "delattr")):
            texts = (str(argument.value) for argument in node.args[:2] if isinstance(argument, ast.Constant))
            names = (text.rpartition(".")[2] for text in texts)  # also of "sourcelight.core.errors._TABLE"
            yield from ((name, node.lineno) for name in names if name.startswith("_"))


def is_participle(name: str) -> bool:
    """Whether a name is one word that says what was done, not what is done."""
    word = name.strip("_")
    if "_" in word or _VERBS.fullmatch(word):
        return False
    return word.endswith("ed") or _IRREGULAR.fullmatch(word) is not None


def _is_property(node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    decorators = map(ast.unparse, node.decorator_list)
    return any("property" in decorator or decorator.endswith(".setter") for decorator in decorators)


def array_aliases() -> list[str]:
    """Return names for numpy arrays outside `core.arrays`."""
    return [
        f"{module.name}:{node.lineno} {ast.unparse(node)}"
        for module in modules()
        if module.name != "sourcelight.core.arrays"
        for node in (*module.nodes[ast.Assign], *module.nodes[ast.AnnAssign], *module.nodes[_TYPE_ALIAS])
        if node.value is not None
        and isinstance(node.value, ast.Subscript | ast.Constant)
        and _ARRAY.match(ast.unparse(node.value).removeprefix("'").removeprefix("npt.").removeprefix("np.typing."))
    ]


@cache
def comment_lines(module: Module) -> int:
    """Return the number of lines with a comment that is no directive to a tool."""
    tokens = _TEXTS_AND_COMMENTS.finditer(module.text)
    return sum(token[0].startswith("#") and not _DIRECTIVE.match(token[0]) for token in tokens)


@cache
def constant_text_lines(module: Module) -> int:
    """Return the number of lines of the texts below constants and attributes, which say why these are as they are."""
    bodies = (node.body for node in (*module.nodes[ast.Module], *module.nodes[ast.ClassDef]))
    return sum(
        (text.end_lineno or text.lineno) - text.lineno + 1
        for body in bodies
        for previous, text in pairwise(body)
        if isinstance(previous, ast.Assign | ast.AnnAssign)
        and isinstance(text, ast.Expr)
        and isinstance(text.value, ast.Constant)
        and isinstance(text.value.value, str)
    )


def comment_share(rooms: str = "", *, constants: bool = False) -> float:
    """Return the share of commented lines in a room and the rooms inside, in percent; or with texts of `constants`."""
    selected = [module for module in modules() if f"{module.room}.".startswith(f"{rooms}." if rooms else "")]
    count = sum(comment_lines(module) + (constant_text_lines(module) if constants else 0) for module in selected)
    return 100 * count / max(1, sum(module.unspaced_lines for module in selected))


def relapses() -> list[str]:
    """Return summaries and messages that use a phrase of `_PHRASES`."""
    return [
        f"{module.name}:{node.lineno} {match.group().strip()}"
        for module in modules()
        for node in module.nodes[ast.Constant]
        if isinstance(node.value, str)
        if (match := _PHRASES.search(node.value.strip())) and (module.name, match.group().strip()) not in _KNOWN_PHRASES
    ]


def question_summaries() -> list[str]:
    """Return summaries of docstrings that begin with a question word, and so don't name the thing."""
    return [
        f"{module.name}:{node.lineno} {node.value.splitlines()[0]}"
        for module in modules()
        for node in module.nodes[ast.Constant]
        if isinstance(node.value, str) and _QUESTION.match(node.value)
    ]


def fragments() -> list[str]:
    """Return summaries of functions, properties aside, that don't begin with a verb."""
    functions = (
        (module.name, node)
        for module in modules()
        for node in (*module.nodes[ast.FunctionDef], *module.nodes[ast.AsyncFunctionDef])
        if not _is_property(node)
    )
    return [
        f"{name}:{node.lineno} {text.splitlines()[0]}"
        for name, node in functions
        if (text := ast.get_docstring(node)) and _FRAGMENT.match(text)
    ]


def import_share() -> float:
    """Return the share of lines that belong to import statements, in percent."""
    spans: Iterator[int] = (
        (node.end_lineno or node.lineno) - node.lineno + 1
        for module in modules()
        for node in (*module.nodes[ast.Import], *module.nodes[ast.ImportFrom])
    )
    return 100 * sum(spans) / sum(module.lines for module in modules())


def imports(*, with_types: bool = True) -> dict[str, set[str]]:
    """Return which modules each module imports, imports inside functions included.

    Parameters
    ----------
    with_types
        Whether imports for type checkers alone count.
    """
    names = {module.name for module in modules()}
    graph: dict[str, set[str]] = {}
    for module in modules():
        targets = graph.setdefault(module.name, set())
        for node in _statements(module, with_types=with_types):
            targets |= {target for target in _targets(node, names) if target != module.name}
    return graph


def _statements(module: Module, *, with_types: bool) -> Iterator[ast.Import | ast.ImportFrom]:
    for_types = (
        () if with_types else [node for node in module.nodes[ast.If] if "TYPE_CHECKING" in ast.unparse(node.test)]
    )
    excluded = {inner for node in for_types for inner in ast.walk(node)}
    statements = (*module.nodes[ast.Import], *module.nodes[ast.ImportFrom])
    return (node for node in statements if node not in excluded)


def _targets(node: ast.Import | ast.ImportFrom, names: set[str]) -> Iterator[str]:
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names if alias.name in names)
        return
    for alias in node.names:
        inner = f"{node.module}.{alias.name}"
        if inner in names:
            yield inner
        elif node.module in names:
            yield node.module


def cycles(*, with_types: bool = True) -> list[list[str]]:
    """Return groups of siblings, modules or packages, that import each other in a circle, at every depth.

    Parameters
    ----------
    with_types
        Whether imports for type checkers alone count.
    """
    circles = []
    graphs: dict[str, dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
    for source, targets in imports(with_types=with_types).items():
        for target in targets:
            package, ours, theirs = _siblings(source, target)
            if ours and theirs:
                graphs[package][ours].add(theirs)
    for package, graph in sorted(graphs.items()):
        circles += [[f"{package}.{name}" for name in sorted(circle)] for circle in _components(graph)]
    return circles


def _siblings(source: str, target: str) -> tuple[str, str, str]:
    ours, theirs = source.split("."), target.split(".")
    depth = next((i for i, pair in enumerate(zip(ours, theirs, strict=False)) if pair[0] != pair[1]), None)
    if depth is None:  # a package and a module inside it
        return "", "", ""
    return ".".join(ours[:depth]), ours[depth], theirs[depth]


def _components(graph: dict[str, set[str]]) -> list[set[str]]:
    """Return the strongly connected components of more than one node."""
    reachable = {node: _reachable(graph, node) for node in list(graph)}
    components = []
    for node, targets in reachable.items():
        component = {other for other in targets if node in reachable.get(other, ())}
        if len(component) > 1 and component not in components:
            components.append(component)
    return components


def _reachable(graph: dict[str, set[str]], start: str) -> set[str]:
    visited: set[str] = set()
    pending = [start]
    while pending:
        for target in graph.get(pending.pop(), ()):
            if target not in visited:
                visited.add(target)
                pending.append(target)
    return visited


def small_query() -> tuple[int, int, int]:
    """Return functions, modules and calls that a query over one small repository takes, asked after another one."""
    with tempfile.TemporaryDirectory() as home:
        answer = _python(_QUERY, home)
    functions, files, calls = map(int, answer.split()[-3:])
    return functions, files, calls


def import_ms(statement: str = "import sourcelight", times: int = 5) -> float:
    """Return milliseconds of a statement in a fresh process, without those of the interpreter; the best of several."""
    return 1000 * (min(_seconds(statement) for _ in range(times)) - min(_seconds("pass") for _ in range(times)))


def _seconds(statement: str) -> float:
    start = time.perf_counter()
    _python(statement, "")
    return time.perf_counter() - start


def _python(program: str, home: str) -> str:
    environment = {"PATH": "/usr/bin:/bin", "PYTHONPATH": str(SOURCE), "SOURCELIGHT_HOME": home, "HOME": home}
    return subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True
    ).stdout


def measures() -> dict[str, Any]:
    """Return each measure by name."""
    lines = sizes()
    functions, files, calls = small_query()
    return {
        "modules": len(lines),
        "lines": sum(module.lines for module in modules()),
        "median lines of a module": statistics.median(lines.values()),
        f"modules below {MIN_LINES} lines": sum(count < MIN_LINES for count in lines.values()),
        f"modules above {MAX_LINES} lines": sum(count > MAX_LINES for count in lines.values()),
        f"modules above {MAX_LINES} lines without comments": sum(
            count > MAX_LINES for count in sizes(comments=False).values()
        ),
        "longest module": max(lines.values()),
        "import lines, %": round(import_share(), 1),
        "duplicate class names": len(duplicate_classes()),
        "probes by getattr and hasattr": len(probes()),
        "functions named by a participle": len(participles()),
        "odd names in src": len(odd_names()),
        "odd names in tests": len(odd_names(ROOT / "tests")),
        "odd names in benchmarks": len(odd_names(ROOT / "benchmarks")),
        "odd names in scripts": len(odd_names(ROOT / "scripts")),
        "private names in tests": len(private_names()),
        "array aliases outside core.arrays": len(array_aliases()),
        "phrases of older texts": len(relapses()),
        "summaries that begin with a question word": len(question_summaries()),
        "summaries of functions without a verb": len(fragments()),
        "comment lines, %": round(comment_share(), 2),
        "comment lines and texts of constants, %": round(comment_share(constants=True), 2),
        **{f"comment lines in {room}, %": round(comment_share(room), 2) for room in COMMENTED},
        "cycles, with type-only imports": len(cycles()),
        "cycles at run time": len(cycles(with_types=False)),
        "functions of a small query": functions,
        "modules of a small query": files,
        "calls of a small query": calls,
        "import sourcelight, ms": round(import_ms()),
    }


COMMENTED = ("engines.search.scan", "core.patterns", "engines.search.index", "engines.history.store")

LISTS: dict[str, Callable[[], list[str]]] = {
    "sizes": lambda: [f"{count:4} {name}" for name, count in sorted(sizes().items(), key=lambda pair: pair[1])],
    "classes": lambda: [f"{name}: {', '.join(owners)}" for name, owners in duplicate_classes().items()],
    "probes": probes,
    "participles": participles,
    "names": odd_names,
    "limits": limit_names,
    "private": private_names,
    "arrays": array_aliases,
    "relapses": relapses,
    "summaries": question_summaries,
    "fragments": fragments,
    "cycles": lambda: [" ".join(circle) for circle in cycles()],
}


def main() -> None:
    """Print the measures, or what one of them counted."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true", help="one JSON object instead of lines")
    parser.add_argument("--list", choices=sorted(LISTS), help="print what a measure counted")
    options = parser.parse_args()
    if options.list:
        print(*LISTS[options.list](), sep="\n")
        return
    values = measures()
    if options.json:
        print(json.dumps(values))
        return
    for name, value in values.items():
        print(f"{value:>10,}  {name}")


if __name__ == "__main__":
    main()

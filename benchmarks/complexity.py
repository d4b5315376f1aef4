"""Complexities of functions beside those of lizard, radon and cognitive_complexity, on the files of one directory.

Method. Each function is known by its file and first line, or, where another tool gives the line of the name below
annotations, by its name within the next lines; what only one tool sees is counted, not compared. CPU time is that of
measuring all files once, in this process, grammars loaded; the tools do different work, so it is no race.

A difference is explained if known rules of the other tool give exactly its number. lizard counts ``finally`` of Python
and gives functions without names rows of their own. In TypeScript it counts ``??`` and ``??=``, default values of
parameters, ``catch`` and other keywords as names of properties, and ``?`` in types, but nothing within ``...( )``.
radon counts ``assert`` and nothing in it, and the ``else`` of loops and of ``try``. Functions that lizard ends in
another line are counted by themselves. `--show` prints the functions that no rule explains.

    pip install --target PEERS lizard radon cognitive_complexity        # for this script alone
    python benchmarks/complexity.py DIRECTORY --peers PEERS [--show N]
"""

from __future__ import annotations

import argparse
import ast
import importlib
import re
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from tree_sitter import Node

from sourcelight.core.query.languages import language_of
from sourcelight.engines.complexity import LANGUAGES, measure_file
from sourcelight.engines.complexity.control_flow import FUNCTIONS, LAMBDAS, complexity_of
from sourcelight.engines.symbols.definition_parser import parse_tree

Place = tuple[str, int]
Numbers = dict[Place, int]
Reasons = dict[str, int]
"""By rule of the other tool: what it adds to the complexity of a function."""

_ANNOTATION_LINES = 8


def ours(paths: Iterable[Path]) -> tuple[Numbers, Numbers, dict[Place, tuple[str, int]]]:
    """Cyclomatic and cognitive complexity of this package, and the names and last lines of the functions."""
    cyclomatic, cognitive = Numbers(), Numbers()
    spans: dict[Place, tuple[str, int]] = {}
    for path in paths:
        for function in measure_file(language_of(path.as_posix()), path.read_bytes()).functions:
            location = str(path), function.begin_line
            cyclomatic[location], cognitive[location] = function.cyclomatic, function.cognitive
            spans[location] = function.name.rpartition(".")[2], function.end_line
    return cyclomatic, cognitive, spans


def by_lizard(paths: Iterable[Path]) -> tuple[dict[tuple[str, int, str], int], dict[Place, int]]:
    """Cyclomatic complexity of lizard, by file, line and name, and the last lines of its functions."""
    lizard: Any = importlib.import_module("lizard")
    numbers: dict[tuple[str, int, str], int] = {}
    ends: dict[Place, int] = {}
    for path in paths:
        for function in lizard.analyze_file(str(path)).function_list:
            name = re.split(r"\W+", function.name)[-1]
            numbers[str(path), function.start_line, name] = function.cyclomatic_complexity
            ends[str(path), function.start_line] = function.end_line
    return numbers, ends


def at_our_lines(numbers: dict[tuple[str, int, str], int], spans: dict[Place, tuple[str, int]]) -> Numbers:
    """Complexities at the first lines that we know their functions by; others at their own, as negative lines."""
    matched = Numbers()
    for (path, line, name), value in numbers.items():
        above = (first for first in range(line, line - _ANNOTATION_LINES, -1)
                 if (path, first) in spans and (first == line or spans[path, first][0] == name))  # fmt: skip
        first = next(above, 0)
        matched[(path, first) if first and (path, first) not in matched else (path, -line)] = value
    return matched


def lizard_reasons(position: Place, spans: dict[Place, tuple[str, int]], anonymous: Numbers) -> Reasons:
    """What lizard's rules add to a function."""
    path, first = position
    last = spans[position][1]
    reasons = {"functions without names": -sum(
        anonymous[path, line] - 1 for line in range(first, last + 1) if (path, line) in anonymous
    )}  # fmt: skip
    if path.endswith(".py"):
        nested = [(line, spans[path, line][1]) for line in range(first + 1, last + 1) if (path, line) in spans]
        source = Path(path).read_text("utf-8", "replace").splitlines()
        local = [line for line in range(first, last + 1) if not any(low <= line <= high for low, high in nested)]
        reasons["finally"] = sum(bool(re.match(r"\s*finally\s*:", source[line - 1])) for line in local)
    if path.endswith((".ts", ".tsx")):
        tree = parsed(path)
        within = [
            node for node in nodes_below(tree) if node.type in FUNCTIONS | LAMBDAS
            and (node.start_point[0] + 1, node.end_point[0] + 1) == (first, last)
        ]  # fmt: skip
        separate = {line for (place_path, line) in anonymous if place_path == path}
        reasons |= typescript_reasons(within[0], separate | {line for place_path, line in spans if place_path == path})
    return reasons


def parsed(path: str) -> Node:
    """The syntax tree of a file."""
    tree = parse_tree(language_of(path), Path(path).read_bytes(), time.monotonic() + 60)
    if tree is None:
        raise SystemExit(f"can't parse {path}")
    return tree.root_node


def nodes_below(node: Node) -> Iterator[Node]:
    """All nodes of a tree, from the first."""
    pending = [node]
    while pending:
        item = pending.pop()
        yield item
        pending += reversed(item.children)


def typescript_reasons(function: Node, separate_lines: set[int]) -> Reasons:
    """What lizard's reader of TypeScript adds to a function, without those of other rows."""
    reasons = Counter[str]()
    pending = list(function.children)
    while pending:
        node = pending.pop()
        if node.type in FUNCTIONS | LAMBDAS and node.start_point[0] + 1 in separate_lines:
            continue
        if node.type == "spread_element" and any(child.type == "parenthesized_expression" for child in node.children):
            reasons["spread"] -= complexity_of(node, b"", frozenset()).decisions
            continue
        operator = node.child_by_field_name("operator")
        if operator is not None and operator.type in {"??", "??="}:
            reasons["??"] += 1
        if node.type in {"required_parameter", "optional_parameter"} and node.child_by_field_name("value") is not None:
            reasons["default value"] += 1
        if node.type == "property_identifier" and node.text in {b"if", b"for", b"while", b"catch", b"case"}:
            reasons["property"] += 1
        if node.type in {"conditional_type", "optional_type"}:
            reasons["type"] += 1
        pending += node.children
    return dict(reasons)


def radon_reasons(node: ast.AST) -> Reasons:
    """What radon's rules add to a function: its walk doesn't go into assertions, but counts them."""
    reasons = Counter[str]()
    pending = list(ast.iter_child_nodes(node))
    while pending:
        item = pending.pop()
        if isinstance(item, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            continue
        if isinstance(item, ast.Assert):
            reasons["assert"] += 1 - sum(
                len(part.values) - 1 if isinstance(part, ast.BoolOp)
                else 1 + len(part.ifs) if isinstance(part, ast.comprehension) else isinstance(part, ast.IfExp)
                for part in ast.walk(item)
            )  # fmt: skip
            continue
        if isinstance(item, ast.For | ast.AsyncFor | ast.While | ast.Try):
            reasons["else of a loop or try"] += bool(item.orelse)
        pending += ast.iter_child_nodes(item)
    return dict(reasons)


def by_radon(paths: Iterable[Path]) -> Numbers:
    """Cyclomatic complexity of radon, for Python; it has no rows of functions within functions."""
    visitors: Any = importlib.import_module("radon.visitors")
    numbers = Numbers()
    for path in paths:
        if path.suffix == ".py":
            visitor = visitors.ComplexityVisitor.from_code(path.read_text("utf-8", "replace"))
            pending: list[Any] = [*visitor.functions, *visitor.classes]
            while pending:
                block = pending.pop()
                pending += [*getattr(block, "methods", ()), *getattr(block, "inner_classes", ())]
                if not hasattr(block, "methods"):
                    numbers[str(path), block.lineno] = block.complexity
    return numbers


def by_cognitive_complexity(paths: Iterable[Path]) -> Numbers:
    """Cognitive complexity of the package of that name, for Python."""
    api: Any = importlib.import_module("cognitive_complexity.api")
    return {
        (str(path), node.lineno): api.get_cognitive_complexity(node)
        for path in paths
        if path.suffix == ".py"
        for node in ast.walk(ast.parse(path.read_bytes()))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    }


def timed(name: str, measure: Callable[[], Any]) -> Any:
    """Run a tool and print its CPU time."""
    started_s = time.process_time()
    result = measure()
    print(f"{name:28} {time.process_time() - started_s:7.1f} s CPU")
    return result


def compare(
    name: str,
    numbers: Numbers,
    peer_numbers: Numbers,
    limit: int,
    reasons: Callable[[Place], Reasons] | None = None,
    ends_elsewhere: Callable[[Place], bool] = lambda _: False,
) -> None:
    """Print how often two tools agree, and which rules explain the rest."""
    both = sorted(numbers.keys() & peer_numbers.keys())
    differing = [position for position in both if numbers[position] != peer_numbers[position]]
    difference = sum(abs(numbers[position] - peer_numbers[position]) for position in both) / max(1, len(both))
    equal = 1 - len(differing) / max(1, len(both))
    print(
        f"{name:28} {len(both):6,} functions in both, {equal:6.1%} equal, mean difference "
        f"{difference:.2f}; {len(numbers) - len(both):,} only here, {len(peer_numbers) - len(both):,} only there"
    )
    explained = Counter[str]()
    for position in list(differing) if reasons is not None else ():
        because = {reason: count for reason, count in reasons(position).items() if count} if reasons else {}
        if because and numbers[position] + sum(because.values()) == peer_numbers[position]:
            explained[" and ".join(sorted(because))] += 1
            differing.remove(position)
        elif ends_elsewhere(position):
            explained["another last line there"] += 1
            differing.remove(position)
    if reasons is not None:
        print(*(f"    {count:,} by {reason}" for reason, count in explained.most_common()), sep="\n")
        print(f"    {len(differing):,} by none of these rules")
    for path, line in sorted(differing, key=lambda position: -abs(numbers[position] - peer_numbers[position]))[:limit]:
        print(f"    {path}:{line} {numbers[path, line]} here, {peer_numbers[path, line]} there")


def main() -> None:
    """Entry point."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("directory", type=Path)
    arguments.add_argument("--peers", type=Path, help="folder in which the other tools are installed")
    arguments.add_argument("--show", type=int, default=0)
    request = arguments.parse_args()
    if request.peers is not None:
        sys.path.append(str(request.peers.resolve()))
    paths = sorted(
        path for path in request.directory.rglob("*") if path.is_file() and language_of(path.name) in LANGUAGES
    )
    print(f"{len(paths):,} files")
    ours(paths[:50])  # loads the grammars
    cyclomatic, cognitive, spans = timed("sourcelight", lambda: ours(paths))
    lizard_numbers, lizard_ends = timed("lizard", lambda: by_lizard(paths))
    lizard = at_our_lines(lizard_numbers, spans)
    anonymous = {(path, -line): value for (path, line), value in lizard.items() if line < 0}
    compare("cyclomatic, lizard", cyclomatic, lizard, request.show,
            lambda position: lizard_reasons(position, spans, anonymous),
            lambda position: lizard_ends.get(position, spans[position][1]) != spans[position][1])  # fmt: skip
    python = {position: value for position, value in cyclomatic.items() if position[0].endswith(".py")}
    if not python:
        return
    nodes = {
        (path, node.lineno): node
        for path in {path for path, _ in python}
        for node in ast.walk(ast.parse(Path(path).read_bytes()))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    }
    radon = timed("radon (Python)", lambda: by_radon(paths))
    compare("cyclomatic, radon", python, radon, request.show, lambda position: radon_reasons(nodes[position]))
    peer_numbers = timed("cognitive_complexity (Python)", lambda: by_cognitive_complexity(paths))
    compare(
        "cognitive, cognitive_complexity",
        {position: cognitive[position] for position in python},
        peer_numbers,
        request.show,
    )


if __name__ == "__main__":
    main()

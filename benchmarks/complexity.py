"""Complexities of functions beside those of lizard, radon and cognitive_complexity, on the files of one directory.

Method. Each function is known by its file and first line; what only one tool sees is counted, not compared. Equal and
the mean difference are over the rest. CPU time is that of measuring all files once, in this process, grammars loaded;
the tools do different work, so it is no race. `--show` prints the functions that differ most.

    pip install lizard radon cognitive_complexity        # for this script alone
    python benchmarks/complexity.py DIRECTORY [--show N]
"""

from __future__ import annotations

import argparse
import ast
import importlib
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from sourcelight.core.query.languages import language_of
from sourcelight.engines.complexity import LANGUAGES, measure_file

Place = tuple[str, int]
Numbers = dict[Place, int]


def ours(paths: Iterable[Path]) -> tuple[Numbers, Numbers]:
    """Cyclomatic and cognitive complexity of this package."""
    cyclomatic, cognitive = Numbers(), Numbers()
    for path in paths:
        for function in measure_file(language_of(path.as_posix()), path.read_bytes()).functions:
            location = str(path), function.begin_line
            cyclomatic[location], cognitive[location] = function.cyclomatic, function.cognitive
    return cyclomatic, cognitive


def by_lizard(paths: Iterable[Path]) -> Numbers:
    """Cyclomatic complexity of lizard."""
    lizard: Any = importlib.import_module("lizard")
    return {
        (str(path), function.start_line): function.cyclomatic_complexity
        for path in paths
        for function in lizard.analyze_file(str(path)).function_list
    }


def by_radon(paths: Iterable[Path]) -> Numbers:
    """Cyclomatic complexity of radon, for Python; functions within functions are in the outer one there."""
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


def compare(name: str, numbers: Numbers, peer_numbers: Numbers, limit: int) -> None:
    """Print how often two tools agree."""
    both = sorted(numbers.keys() & peer_numbers.keys())
    equal = sum(numbers[place] == peer_numbers[place] for place in both)
    difference = sum(abs(numbers[place] - peer_numbers[place]) for place in both) / max(1, len(both))
    print(
        f"{name:28} {len(both):6,} functions in both, {equal / max(1, len(both)):6.1%} equal, mean difference "
        f"{difference:.2f}; {len(numbers) - len(both):,} only here, {len(peer_numbers) - len(both):,} only there"
    )
    worst = sorted(both, key=lambda place: -abs(numbers[place] - peer_numbers[place]))
    for path, line in worst[:limit]:
        print(f"    {path}:{line} {numbers[path, line]} here, {peer_numbers[path, line]} there")


def main() -> None:
    """Entry point."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("directory", type=Path)
    arguments.add_argument("--show", type=int, default=0)
    request = arguments.parse_args()
    paths = sorted(
        path for path in request.directory.rglob("*") if path.is_file() and language_of(path.name) in LANGUAGES
    )
    print(f"{len(paths):,} files")
    ours(paths[:50])  # loads the grammars
    cyclomatic, cognitive = timed("sourcelight", lambda: ours(paths))
    lizard = timed("lizard", lambda: by_lizard(paths))
    radon = timed("radon (Python)", lambda: by_radon(paths))
    peer_numbers = timed("cognitive_complexity (Python)", lambda: by_cognitive_complexity(paths))
    python = {place: value for place, value in cyclomatic.items() if place[0].endswith(".py")}
    compare("cyclomatic, lizard", cyclomatic, lizard, request.show)
    compare("cyclomatic, radon", python, radon, request.show)
    compare(
        "cognitive, cognitive_complexity", {place: cognitive[place] for place in python}, peer_numbers, request.show
    )


if __name__ == "__main__":
    main()

"""How often callers and callees are right: Python, against jedi.

Method. Functions and methods are drawn at random from the Python files of each repository, tests included. *Callers*:
jedi's references to the name of the definition, with the whole repository as its project, that stand before a bracket;
the definition itself, imports and decorators don't count. A call that we have and jedi's references lack is asked of
jedi by itself: where it goes elsewhere, we are wrong; where jedi can't tell, it counts neither way (`undecided`).
*Callees*: the names before brackets in the body, of which jedi says that they go to a function or class of the
repository. A place is a file and a line. Precision is the share of our places that jedi has, recall the share of jedi's
that we have; both over all places together, and the median over functions with any place.

Functions about which jedi fails or thinks for longer than ten seconds are given up and counted.

    python benchmarks/callers.py FOLDER [--functions 60] [--seed 1]      # needs jedi; FOLDER has work trees
"""

from __future__ import annotations

import argparse
import ast
import json
import random
import re
import signal
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

import sourcelight as sl

jedi: Any = import_module("jedi")  # without type information
Place = tuple[str, int]
GIVE_UP_S = 10


class GivenUp(Exception):
    """A question took too long."""


@contextmanager
def limited(seconds: int) -> Iterator[None]:
    """Raise `GivenUp` in the block after some seconds."""

    def stop(*_: object) -> None:
        raise GivenUp

    previous = signal.signal(signal.SIGALRM, stop)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, previous)


def functions(root: Path) -> list[tuple[str, str, int, int, int]]:
    """Return path, name, line of the name, first and last line of the body of every function."""
    found = []
    listed = subprocess.run(["git", "-C", root, "ls-files", "*.py"], capture_output=True, text=True, check=True)
    for path in listed.stdout.splitlines():
        try:
            tree = ast.parse((root / path).read_text("utf-8"))
        except (SyntaxError, ValueError, OSError):
            continue
        found += [
            (path, node.name, node.lineno, node.body[0].lineno, node.end_lineno or node.lineno)
            for node in ast.walk(tree)
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and not node.name.startswith("__")
        ]
    return found


def is_call(lines: list[str], line: int, column: int, name: str) -> bool:
    """Tell whether a name stands before a bracket, and is neither defined nor imported there."""
    text = lines[line - 1]
    before, after = text[:column], text[column + len(name) :]
    return after.lstrip().startswith("(") and not re.search(r"\b(?:def|class|import)\s+$|@[\w.]*$", before)


def jedi_callers(root: Path, script: Any, path: str, name: str, line: int) -> set[Place]:
    """Return the calls of a function as jedi has them."""
    column = (root / path).read_text("utf-8").split("\n")[line - 1].index(name)
    places = set()
    for reference in script.get_references(line, column, include_builtins=False):
        file = reference.module_path
        if file is None or not Path(file).is_relative_to(root):
            continue
        lines = Path(file).read_text("utf-8", "replace").split("\n")
        if is_call(lines, reference.line, reference.column, name):
            places.add((str(Path(file).relative_to(root)), reference.line))
    return places


def targets(root: Path, script: Any, line: int, column: int) -> set[Place] | None:
    """Return the functions of the repository that a name goes to, as jedi has it; None if jedi can't tell."""
    found = script.goto(line, column, follow_imports=True)
    known = [target for target in found if target.type in {"function", "class"}]
    if not known:
        return None
    inside = [target for target in known if target.module_path and Path(target.module_path).is_relative_to(root)]
    return {(str(Path(target.module_path).relative_to(root)), target.line) for target in inside}


def jedi_callees(root: Path, script: Any, path: str, body: tuple[int, int]) -> dict[str, set[Place] | None]:
    """Return what each name that lines call goes to."""
    lines = (root / path).read_text("utf-8").split("\n")
    found: dict[str, set[Place] | None] = {}
    for number in range(body[0], body[1] + 1):
        for match in re.finditer(r"\b([A-Za-z_]\w*)\s*\(", lines[number - 1]):
            if is_call(lines, number, match.start(), match[1]):
                own = targets(root, script, number, match.start())
                before = found.get(match[1], set())
                found[match[1]] = None if own is None or before is None else before | own
    return found


def calls(root: Path, project: Any, place: Place, name: str) -> set[Place] | None:
    """Return what a name that a line calls goes to; None if jedi can't tell."""
    path, line = place
    text = (root / path).read_text("utf-8", "replace").split("\n")[line - 1]
    script = jedi.Script(path=root / path, project=project)
    found = [targets(root, script, line, match.start()) for match in re.finditer(rf"\b{name}\b", text)]
    known = [own for own in found if own is not None]
    return set().union(*known) if known else None


def measure(root: Path, rng: random.Random, count: int) -> dict[str, Any]:
    """Compare both directions in one repository."""
    drawn = rng.sample(everything := functions(root), min(count, len(everything)))
    paths = [str(root), str(root / "src")]
    # Not this environment: it may have a release of the repository itself installed.
    project = jedi.Project(root, added_sys_path=paths, environment_path=sys.base_prefix)
    sums = {"callers": [0, 0, 0], "callees": [0, 0, 0]}
    each: dict[str, list[tuple[float, float]]] = {"callers": [], "callees": []}
    given_up = undecided = 0
    with tempfile.TemporaryDirectory() as index, sl.open(root, index_dir=index, progress=False) as code:
        repo = code.list_repos()["repository"][0]
        for path, name, line, first, last in drawn:
            callers = code.callers(repo, path, name, line=line)
            callees = code.callees(repo, path, name, line=line)
            ours_callers = set(zip(callers["caller_path"], callers["line_number"].tolist(), strict=True))
            ours_callees = {
                (row.callee, (row.callee_path, int(row.callee_line)))
                for row in callees[callees["callee_repository"] == repo].itertuples()
            }
            try:
                with limited(GIVE_UP_S):
                    script = jedi.Script(path=root / path, project=project)
                    called = jedi_callers(root, script, path, name, line)
                    names = jedi_callees(root, script, path, (first, last))
                    for place in ours_callers - called:
                        verdict = calls(root, project, place, name)
                        if verdict is None or (path, line) in verdict:
                            # A place where jedi can't tell counts neither way; one that it has after all, as right.
                            ours_callers = ours_callers - {place}
                            undecided += verdict is None
                            called = called | ({place} if verdict else set())
                            ours_callers = ours_callers | ({place} if verdict else set())
            except Exception:  # noqa: BLE001 - jedi fails in many ways, more so once it was stopped
                given_up += 1
                continue
            undecided += sum(names.get(each, None) is None for each, _ in ours_callees)
            truths: dict[str, set[Any]] = {
                "callers": called,
                "callees": {(each, place) for each, places in names.items() for place in places or ()},
            }
            ours: dict[str, set[Any]] = {
                "callers": ours_callers,
                "callees": {(each, place) for each, place in ours_callees if names.get(each) is not None},
            }
            for side, truth in truths.items():
                right = len(truth & ours[side])
                sums[side] = [a + b for a, b in zip(sums[side], (right, len(ours[side]), len(truth)), strict=True)]
                if truth or ours[side]:
                    share = right / len(ours[side]) if ours[side] else 1.0, right / len(truth) if truth else 1.0
                    each[side].append(share)
                for label, places in (("extra", ours[side] - truth), ("missing", truth - ours[side])):
                    for place in sorted(places, key=str)[:3]:
                        print(f"  {label:7} {side} of {path}:{line} {name}: {place}", flush=True)
    result: dict[str, Any] = {"repository": root.name, "functions": len(drawn)}
    result |= {"given_up": given_up, "undecided": undecided}
    for side, (right, told, true) in sums.items():
        result[side] = {
            "precision": round(right / told, 3) if told else None,
            "recall": round(right / true, 3) if true else None,
            "places": true,
            "median": [round(statistics.median(x), 3) for x in zip(*each[side], strict=True)] if each[side] else None,
        }
    return result


def main() -> None:
    """Entry point."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--functions", type=int, default=60)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    for root in sorted(path.parent for path in options.folder.glob("*/.git")):
        rng = random.Random(options.seed)  # noqa: S311 - the same sample each time
        print(json.dumps(measure(root.resolve(), rng, options.functions)), flush=True)


if __name__ == "__main__":
    main()

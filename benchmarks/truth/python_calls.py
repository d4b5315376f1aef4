"""Print what jedi says of the calls of random functions of a checkout, as `calls.py` reads it.

Each call of a name that the function has, by itself or by an import, is asked of jedi (`goto` at the called name), and
each call in its body. A call that jedi follows to no function or class, or to several, is undecided. So are all calls
of a question on which jedi fails or thinks for longer than ten seconds.

    python benchmarks/truth/python_calls.py CHECKOUT 200 1 > calls.jsonl      # needs jedi
"""

from __future__ import annotations

import ast
import json
import random
import signal
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

jedi: Any = import_module("jedi")  # without type information
GIVE_UP_S = 10

Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


class GivenUp(Exception):
    """A question took too long."""


@dataclass(frozen=True)
class Call:
    """A call: the called name and its place, column in characters; the definition around it, 0 at the top."""

    path: str
    name: str
    line: int
    column: int
    caller: int


@contextmanager
def limited(seconds: int) -> Iterator[None]:
    """Raise `GivenUp` in the block after some seconds."""

    def on_alarm(*_: object) -> None:
        raise GivenUp

    previous = signal.signal(signal.SIGALRM, on_alarm)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, previous)


class Checkout:
    """The Python files of a checkout: their functions, calls, and new names of imports."""

    def __init__(self, root: Path) -> None:
        self.root = root
        # Not this environment: it may have a release of the repository itself installed.
        paths = [str(root), str(root / "src")]
        self.project = jedi.Project(root, added_sys_path=paths, environment_path=sys.base_prefix)
        self.files: list[str] = []
        self.functions: list[tuple[str, ast.FunctionDef | ast.AsyncFunctionDef]] = []
        self.calls: dict[str, list[Call]] = defaultdict(list)
        self.calls_in: dict[str, list[Call]] = defaultdict(list)
        self.new_names: dict[str, set[str]] = defaultdict(set)
        self._scripts: dict[str, Any] = {}
        self._targets: dict[Call, set[tuple[str, int]] | None] = {}
        listing = subprocess.run(["git", "-C", root, "ls-files", "*.py"], capture_output=True, text=True, check=True)
        for path in listing.stdout.splitlines():
            try:
                text = (root / path).read_text("utf-8")
                tree = ast.parse(text)
            except (SyntaxError, ValueError, OSError):
                continue
            self.files.append(path)
            self._read(path, tree, text.split("\n"))

    def _read(self, path: str, tree: ast.Module, lines: list[str]) -> None:
        pending: list[tuple[ast.AST, int]] = [(tree, 0)]
        while pending:
            node, caller = pending.pop()
            if isinstance(node, Definition):
                caller = node.lineno
                if not isinstance(node, ast.ClassDef) and not node.name.startswith("__") and not _is_overload(node):
                    self.functions.append((path, node))
            if isinstance(node, ast.ImportFrom):
                for alias in node.names:
                    self.new_names[alias.name].add(alias.asname or alias.name)
            if isinstance(node, ast.Call):
                self._add(path, node.func, caller, lines)
            pending += [(child, caller) for child in ast.iter_child_nodes(node)]

    def _add(self, path: str, node: ast.expr, caller: int, lines: list[str]) -> None:
        if isinstance(node, ast.Name):
            name, number, column = node.id, node.lineno, node.col_offset
        elif isinstance(node, ast.Attribute) and node.end_lineno is not None and node.end_col_offset is not None:
            name, number = node.attr, node.end_lineno
            column = node.end_col_offset - len(name.encode())
        else:
            return
        characters = len(lines[number - 1].encode()[:column].decode())
        call = Call(path, name, number, characters, caller)
        self.calls[name].append(call)
        self.calls_in[path].append(call)

    def targets(self, call: Call) -> set[tuple[str, int]] | None:
        """Return the function of the checkout that a call calls, empty for one elsewhere; None if jedi can't tell."""
        if call not in self._targets:
            self._targets[call] = self._ask(call)
        return self._targets[call]

    def _ask(self, call: Call) -> set[tuple[str, int]] | None:
        if call.path not in self._scripts:
            self._scripts[call.path] = jedi.Script(path=self.root / call.path, project=self.project)
        result = self._scripts[call.path].goto(call.line, call.column, follow_imports=True)
        if len(result) != 1 or result[0].type not in {"function", "class"}:
            return None
        file = result[0].module_path
        if file is None or not Path(file).is_relative_to(self.root):
            return set()
        return {(str(Path(file).relative_to(self.root)), result[0].line)}

    def question(self, path: str, node: ast.FunctionDef | ast.AsyncFunctionDef) -> dict[str, Any]:
        """Return the calls of a function and in it."""
        callers, callees = set(), set()
        undecided: list[Call] = []
        result = [c for c in self.calls_in[path] if node.lineno <= c.line <= (node.end_lineno or node.lineno)]
        made_to = [call for name in {node.name, *self.new_names[node.name]} for call in self.calls[name]]
        for calls, is_caller in ((made_to, True), (result, False)):
            for call in calls:
                try:
                    with limited(GIVE_UP_S):
                        targets = self.targets(call)
                except Exception:  # noqa: BLE001 - jedi fails in many ways, more so once it was stopped
                    self._targets[call] = targets = None
                if targets is None:
                    undecided.append(call)
                elif is_caller and (path, node.lineno) in targets:
                    callers.add((call.path, call.line, call.caller))
                elif not is_caller:
                    callees |= {(call.line, *target) for target in targets}
        return {
            "file": path,
            "line": node.lineno,
            "name": node.name,
            "callers": sorted(callers),
            "callees": sorted(callees),
            "undecided": [(call.path, call.line, call.name) for call in undecided],
        }


def _is_overload(node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    return any("overload" in ast.unparse(decorator) for decorator in node.decorator_list)


def main() -> None:
    """Entry point."""
    root, count, seed = Path(sys.argv[1]).resolve(), int(sys.argv[2]), int(sys.argv[3])
    checkout = Checkout(root)
    print(json.dumps({"files": checkout.files, "undecided": []}))
    rng = random.Random(seed)  # noqa: S311 - the same sample each time
    drawing = sorted(checkout.functions, key=lambda item: (item[0], item[1].lineno))
    for path, node in rng.sample(drawing, min(count, len(drawing))):
        print(json.dumps(checkout.question(path, node)), flush=True)


if __name__ == "__main__":
    main()

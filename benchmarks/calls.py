"""How often callers and callees are right, against go/types, the call hierarchy of TypeScript, and jedi.

Method. A program in `truth/` draws functions and methods of a checkout by a seed, tests included, and prints what its
oracle says of each, one JSON object a line: ``file``, ``line`` and ``name``; ``callers``: file and line of the called
name, and line of the calling definition, 0 at the top of the file, then lines of definitions within that one whose
calls the oracle counts for it; ``callees``: line of the called name, file and line of the function. A first object has
the ``files`` that the oracle read; ``undecided``, in any object, has file, line and name of the calls of which it can't
tell what they call. Functions with a ``group`` are counted apart.

Asked are `callers` and `callees` with path, name and line. A *call* is a row of such an answer, a *pair* a calling
definition and a function, however often it calls. Precision is the share of ours that the oracle has, recall the share
of the oracle's that we have, over all functions together. Left out are calls that lead out of the checkout, rows in
files that the oracle did not read, rows at places where it can't tell (counted), and, of callees, those that are no
functions: parameters, variables, fields and types hold functions that no oracle names.

    cd benchmarks/truth/go && go run . CHECKOUT calls 200 1 > ../calls.jsonl
    node benchmarks/truth/typescript.js CHECKOUT calls 200 1 > calls.jsonl        # needs the package typescript
    python benchmarks/truth/python_calls.py CHECKOUT 200 1 > calls.jsonl          # needs jedi
    python benchmarks/calls.py CHECKOUT calls.jsonl [--show]
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import sourcelight as sl

Call = tuple[Any, ...]

CALLABLE = frozenset({"function", "method", "constructor", "class", "struct"})


@dataclass(slots=True)
class Score:
    """Rows of ours, of the oracle, and of both."""

    ours: int = 0
    truth: int = 0
    both: int = 0

    def add(self, ours: set[Call], truth: set[Call]) -> None:
        """Count one function."""
        self.ours += len(ours)
        self.truth += len(truth)
        self.both += len(ours & truth)

    def __str__(self) -> str:
        precision = self.both / self.ours if self.ours else 1.0
        recall = self.both / self.truth if self.truth else 1.0
        return f"{self.truth:,} | {precision:.3f} | {recall:.3f}"


@dataclass(slots=True)
class Truth:
    """What an oracle says."""

    functions: list[dict[str, Any]]
    files: set[str]
    undecided: set[Call]

    @classmethod
    def read(cls, file: Path) -> Truth:
        """Read what a program of `truth/` printed."""
        rows = [json.loads(line) for line in file.read_text("utf-8").splitlines()]
        undecided = {tuple(call) for row in rows for call in row.get("undecided", ())}
        return cls([row for row in rows if "name" in row], set(rows[0]["files"]), undecided)

    def is_undecided(self, path: str, line_number: int, name: str, line: str) -> bool:
        """Tell whether the oracle can't say what a line calls; an import may give the function another name there."""
        names = {name for file, position, name in self.undecided if (file, position) == (path, line_number)}
        return bool(names) and (name in names or name not in line)


@dataclass(slots=True)
class Comparison:
    """Scores of one checkout."""

    truth: Truth
    calls: dict[str, Score] = field(default_factory=lambda: defaultdict(Score))
    pairs: dict[str, Score] = field(default_factory=lambda: defaultdict(Score))
    undecided: Counter[str] = field(default_factory=Counter)
    functions: Counter[str] = field(default_factory=Counter)
    hows: Counter[tuple[str, str, bool]] = field(default_factory=Counter)

    def calls_of(self, side: str, rows: Iterable[Any], truth: set[Call], accepted: dict[Call, Call]) -> dict[Call, str]:
        """Return those of our rows that the oracle can judge, with their `how`."""
        calls: dict[Call, str] = {}
        for row in rows:
            if not {row.caller_path, row.callee_path} <= self.truth.files:
                continue
            if side == "callees" and row.callee_kind not in CALLABLE:
                continue
            line = int(row.line_number)
            call: Call
            if side == "callers":
                call = row.caller_path, line, int(row.caller_line) if row.caller else 0
                call = accepted.get(call, call)
            else:
                call = line, row.callee_path, int(row.callee_line)
            if call not in truth and self.truth.is_undecided(row.caller_path, line, row.callee, row.line):
                self.undecided[side] += 1
            else:
                calls[call] = str(row.how)
        return calls

    def compare(
        self, side: str, group: str, ours: dict[Call, str], truth: set[Call], label: str, *, show: bool
    ) -> None:
        """Count the calls of one function; the value of ours is `how`."""
        results = set(ours)
        self.functions[group] += 1
        self.calls[group].add(results, truth)
        # A pair of callers is the calling definition, a pair of callees the function: the place of the call drops out.
        project = (lambda call: (call[0], call[2])) if side == "callers" else (lambda call: call[1:])
        self.pairs[group].add(set(map(project, results)), set(map(project, truth)))
        for call, method in ours.items():
            self.hows[group, method, call in truth] += 1
        if show:
            for word, calls in (("extra", results - truth), ("missing", truth - results)):
                for call in sorted(calls):
                    print(f"  {word:7} {side} of {label}: {call} {ours.get(call, '')}", flush=True)


def measure(root: Path, truth: Truth, index: Path, *, show: bool) -> Comparison:
    """Compare both directions in one checkout."""
    comparison = Comparison(truth)
    with sl.open(root, index_dir=index, progress=False) as code:
        repo = code.list_repos()["repository"][0]
        for function in truth.functions:
            path, line, name = function["file"], function["line"], function["name"]
            label = f"{path}:{line} {name}"
            for side, ask in (("callers", code.callers), ("callees", code.callees)):
                table = ask(repo, path, name, line=line)
                table = table[(table["caller_repository"] == repo) & (table["callee_repository"] == repo)]
                expected = {tuple(call[:3]) for call in function[side]}
                accepted = {(*call[:2], inner): tuple(call[:3]) for call in function[side] for inner in call[3:]}
                ours = comparison.calls_of(side, table.itertuples(), expected, accepted)
                group = f"{side} of {function['group']}" if function.get("group") else side
                comparison.compare(side, group, ours, expected, label, show=show)
    return comparison


def main() -> None:
    """Entry point."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checkout", type=Path)
    parser.add_argument("truth", type=Path, help="what a program of truth/ printed")
    parser.add_argument("--index", type=Path, help="where the index is kept")
    parser.add_argument("--show", action="store_true", help="print every row that differs")
    options = parser.parse_args()
    truth = Truth.read(options.truth)
    with tempfile.TemporaryDirectory() as folder:
        result = measure(options.checkout.resolve(), truth, options.index or Path(folder), show=options.show)
    name = options.checkout.resolve().name
    print("| repository | functions | side | calls | precision | recall | pairs | precision | recall | undecided |")
    print("|---|---:|---|---:|---:|---:|---:|---:|---:|---:|")
    for group, count in sorted(result.functions.items()):
        cells = f"{result.calls[group]} | {result.pairs[group]} | {result.undecided[group]}"
        print(f"| {name} | {count} | {group} | {cells} |")
    for (side, method, right), count in sorted(result.hows.items()):
        print(f"{side}, {method}: {count} {'right' if right else 'wrong'}")


if __name__ == "__main__":
    main()

"""Definitions: what `type:symbol` and `symbols` give, beside a reader of lines that can be read without a grammar."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace
from random import Random
from typing import Any

from oracles.calls import compared
from oracles.epoch import Epoch, Outcome
from oracles.meaning import Matcher
from oracles.questions import Filter, Question
from oracles.sources import FOLDER, NAMES

_READ = {
    b".py": re.compile(rb"^[ ]*(?:async )?(?:def|class) (\w+)", re.MULTILINE),
    b".go": re.compile(rb"^(?:func (?:\(\w+ \*?\w+\) )?|type )(\w+)", re.MULTILINE),
    b".java": re.compile(
        rb"^ *(?:public |static |final )*(?:class |interface |enum |void |int )(\w+)(?= ?[({])", re.MULTILINE
    ),
    b".rs": re.compile(rb"^ *(?:pub )?(?:fn|struct|enum|trait) (\w+)", re.MULTILINE),
}
_KINDS = (
    ("method", re.compile(rb"\(self\)|^func \(|&self|^ +(?:public |static |final )*(?:void|int) ")),
    ("function", re.compile(rb"^ *(?:async )?def |^func |^ *(?:pub )?fn ")),
    ("class", re.compile(rb"^(?:public |final )*class ")),
    ("interface", re.compile(rb"^interface |^type \w+ interface|^trait ")),
    ("enum", re.compile(rb"^enum ")),
    ("struct", re.compile(rb"^type |^(?:pub )?struct ")),
)
_OTHER_KINDS = {"package", "module", "namespace", "variable", "constant", "field", "property", "object"}


def read(path: bytes, data: bytes) -> list[tuple[str, int, str]]:
    """Names that a file defines, with their lines and kinds."""
    ending = path[path.rindex(b".") :]
    lines = data.split(b"\n")
    results = []
    for match in _READ[ending].finditer(data):
        offset = data.count(b"\n", 0, match.start(1))
        results.append(
            (match[1].decode(), offset + 1, next(kind for kind, test in _KINDS if test.search(lines[offset])))
        )
    return results


def definitions(epoch: Epoch, rng: Random) -> Outcome:
    """Names that match, by a query or by a call for everything."""
    drawer = replace(epoch.drawer, rng=rng, samples=[name.decode() for name in NAMES], paths=[])
    commits = [
        c for c in epoch.reader.commits if not c.revision and any(d.path.startswith(FOLDER) for d in c.documents)
    ]
    if rng.random() < 0.2:
        commit = rng.choice(commits)
        frame = epoch.client.symbols(commit.repository, path=FOLDER.decode())
        rows = zip(frame["path"], frame["symbol"], frame["line_number"], frame["kind"], strict=True)
        got = Counter((commit.repository, *row) for row in rows if row[3] not in _OTHER_KINDS)
        return compared(f"symbols({commit.repository!r}, path='definitions/')", expected_rows([commit], None), got)
    atom = drawer.atom("rl")
    kind = rng.choice(("", "", *(name for name, _ in _KINDS)))
    question = Question(
        atom,
        (Filter("file", "^definitions/"),),
        ("symbol",),
        rng.random() < 0.5,
        select=f"symbol.{kind}" if kind else rng.choice(("", "symbol")),
        pattern_type=rng.choice(("keyword", "regexp")),
        style=rng.randrange(420),
    )
    typed = question.text()
    table: Any = epoch.client.search(typed, pattern_type=question.requested).arrow
    names = ("repository", "path", "symbol", "line_number", "symbol_kind")
    cells = zip(*(table.column(name).to_pylist() for name in names), strict=True)
    matcher = Matcher(atom, case_sensitive=question.case_sensitive, whole_text=True)
    return compared(
        f"search({typed!r}, pattern_type={question.requested!r})",
        Counter({row: count for row, count in expected_rows(commits, matcher).items() if kind in ("", row[4])}),
        Counter(row for row in cells if row[4] not in _OTHER_KINDS),
    )


def expected_rows(commits: list[Any], matcher: Matcher | None) -> Counter[Any]:
    """Definitions of commits, of those names that match."""
    result: Counter[Any] = Counter()
    for commit in commits:
        for document in commit.documents:
            if document.path.startswith(FOLDER):
                for name, line, kind in read(document.path, document.data):
                    if matcher is None or matcher.any(name.encode()):
                        result[commit.repository, document.display_path, name, line, kind] += 1
    return result

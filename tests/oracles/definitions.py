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
_OTHER_KINDS = {"package", "module", "namespace", "variable", "constant", "field", "property", "object"}


def read(path: bytes, data: bytes) -> list[tuple[str, int]]:
    """Names that a file defines, with their lines."""
    ending = path[path.rindex(b".") :]
    return [(found[1].decode(), data.count(b"\n", 0, found.start(1)) + 1) for found in _READ[ending].finditer(data)]


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
        got = Counter((commit.repository, *row[:3]) for row in rows if row[3] not in _OTHER_KINDS)
        return compared(f"symbols({commit.repository!r}, path='definitions/')", wanted([commit], None), got)
    atom = drawer.atom("rl")
    question = Question(
        atom,
        (Filter("file", "^definitions/"),),
        ("symbol",),
        rng.random() < 0.5,
        pattern_type=rng.choice(("keyword", "regexp")),
        style=rng.randrange(420),
    )
    typed = question.text()
    table: Any = epoch.client.search(typed, pattern_type=question.requested).table
    names = ("repository", "path", "symbol", "line_number", "symbol_kind")
    cells = zip(*(table.column(name).to_pylist() for name in names), strict=True)
    matcher = Matcher(atom, case_sensitive=question.case_sensitive, whole=True)
    return compared(
        f"search({typed!r}, pattern_type={question.requested!r})",
        wanted(commits, matcher),
        Counter(row[:4] for row in cells if row[4] not in _OTHER_KINDS),
    )


def wanted(commits: list[Any], matcher: Matcher | None) -> Counter[Any]:
    """Definitions of commits, of those names that match."""
    found: Counter[Any] = Counter()
    for commit in commits:
        for document in commit.documents:
            if document.path.startswith(FOLDER):
                for name, line in read(document.path, document.data):
                    if matcher is None or matcher.any(name.encode()):
                        found[commit.repository, document.shown, name, line] += 1
    return found

"""Expressions and words over HTTP, asked for the first time and again, against zoekt, in CPU time.

Run: ``python benchmarks/regexps.py --corpus FOLDER [--index FOLDER] [--rounds N] [--queries TEXT,TEXT]``.

FOLDER holds git repositories; zoekt is asked as `peers.zoekt` says. Three services take turns, each on one connection
that is kept, every match asked for, the body read and not parsed: zoekt, ours, and ours taking each query for one that
was never asked (see `forgetful`). Times are CPU of the service's process (all threads) for one request, medians of the
rounds, until 2 ms after the answer, and ratios medians of the rounds' ratios: a busy machine harms all alike. The
number of matches is compared with zoekt's: it exits with 1 where they differ.
"""

from __future__ import annotations

import argparse
import http.client
import os
import statistics
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path

from corpus import Corpus, machine, markdown, until_quiet, used_cpu_s
from peers import Service, Zoekt, keep_connection, serving, zoekt

EXPRESSIONS = (
    r"\d$", "^ *}", r"^[ \t]+$", "[a-z]+_[0-9]+x", r"\w{40}", "[A-Z]{3}_[0-9]{4}", "[0-9a-f]{40}", '"[^"\n]{80,}"',
    r"\w+ing\b.*\b\w+ed\b", r"^\s*#define \w+_H$", r"(errors|fmt)\.(New|Errorf)\(", r"(TODO|FIXME|XXX)\(\w+\)",
    r"^package \w+$", r"func \w+Handler\(", r"\bself\.assert[A-Z]\w+\(", "err.{5}nil", r"return \w+, nil$",
    r"static \w+ \*\w+\(",
)  # fmt: skip
FOLDED = (r"err(or)?s? \w+ not", "[a-z]{3}_[0-9]{4}", "deadlock|race condition")
WORDS = ("connection refused", "configuration", "replication", "zzqqxxyy_absent")
HEAD = (
    "query", "matches", "zoekt CPU ms", "first CPU ms", "zoekt ÷ first", "again CPU ms", "zoekt ÷ again",
)  # fmt: skip
AFTER_S = 0.002


def cases() -> list[tuple[str, str, str]]:
    """Name, our query and zoekt's."""
    results = [(f"`/{text}/`", f"/{text}/ case:yes", f"{_theirs(text)} case:yes") for text in map(_typed, EXPRESSIONS)]
    results += [(f"`/{text}/`, any case", f"/{text}/", f"{_theirs(text)} case:no") for text in FOLDED]
    return results + [(f"`{text}`, any case", text, f"{_theirs(text)} case:no") for text in WORDS]


def _typed(text: str) -> str:
    return text.replace("\n", r"\n")


def _theirs(text: str) -> str:
    """An expression in zoekt's language, in which blanks and quotes end it."""
    return text.replace(" ", r"\x20").replace('"', r"\x22")


def spent_s(service: Service | Zoekt, query: str) -> float:
    """CPU seconds of a service's process for one request."""
    try:
        before = used_cpu_s(service.pid)
        service.search(query)
    except (http.client.HTTPException, OSError):  # it waited for its turn for too long
        keep_connection(service)
        before = used_cpu_s(service.pid)
        service.search(query)
    time.sleep(AFTER_S)
    return used_cpu_s(service.pid) - before


def measure(
    sides: tuple[Zoekt, Service, Service], corpus: Corpus, case: tuple[str, str, str], rounds: int
) -> list[str]:
    """A row of the table."""
    name, ours, theirs = case
    query = f"{ours} type:file count:all"
    zoekts, first, repeats = sides
    times: list[tuple[float, float, float]] = []
    for number in range(rounds + 1):
        sample = spent_s(zoekts, theirs), spent_s(first, query), spent_s(repeats, query)
        if number:  # the first round makes the query known
            times.append(sample)
    matches, other = int(corpus.client.count(query, progress=False)), zoekts.matches(theirs)
    note = "" if matches == other else f" (zoekt {other:,})"
    ms = [f"{statistics.median(column) * 1e3:,.1f}" for column in zip(*times, strict=True)]
    ratios = [
        f"{statistics.median(sample[0] / max(sample[position], 1e-6) for sample in times):.3g}" for position in (1, 2)
    ]
    return [name.replace("|", r"\|"), f"{matches:,}{note}", ms[0], ms[1], ratios[0], ms[2], ratios[1]]


def main() -> int:
    """Measure and print; the exit status."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--corpus", required=True, help="folder with git repositories")
    parser.add_argument("--index", default="", help="folder to keep the indexes in")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--queries", default="", help="parts of names of queries, with commas between")
    options = parser.parse_args()
    required = options.queries.split(",")
    with ExitStack() as stack:
        home = options.index or stack.enter_context(tempfile.TemporaryDirectory())
        corpus = Corpus(options.corpus, home)
        other = stack.enter_context(zoekt([repository.git_dir for repository in corpus.repositories], Path(home)))
        if other is None:
            sys.exit("the environment names no zoekt: ZOEKT_WEBSERVER, and ZOEKT_GIT_INDEX or ZOEKT_INDEX")
        first = stack.enter_context(serving(corpus.folders, home, forgetful=True))
        repeated = stack.enter_context(serving(corpus.folders, home))
        for side in (other, first, repeated):
            keep_connection(side)
        waited = [until_quiet(side.pid) for side in (first, repeated)]
        print(f"{corpus.describe()}; at rest after {sum(waited):.0f} s", file=sys.stderr)
        rows = []
        for case in cases():
            if any(part in case[0] for part in required):
                rows.append(measure((other, first, repeated), corpus, case, options.rounds))
                print(" ".join(rows[-1]), f"load {os.getloadavg()[0]:.0f}", file=sys.stderr, flush=True)
        print(markdown(HEAD, rows))
    print(f"\n{machine()}")
    return int(any("(zoekt" in row[1] for row in rows))


if __name__ == "__main__":
    sys.exit(main())

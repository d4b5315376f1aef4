"""Texts with very many matches, as DataFrames and as counts, against zoekt, in CPU time.

Run: ``python benchmarks/many.py --corpus FOLDER [--index FOLDER] [--rounds N] [--texts A,B]``.

FOLDER holds git repositories; zoekt is asked over HTTP as `peers.zoekt` says, every match, its body read and not
parsed. Ours are the DataFrame and the count in this process. Each round asks for one after the other; the ratios are
medians of the rounds' ratios of CPU times (all threads), so that a busy machine harms both alike. It exits with 1
where a text with more than 100,000 matches has less than twice zoekt's speed as a DataFrame, or four times as a count.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path

from corpus import Corpus, machine, markdown, timed, used_cpu_s
from peers import Zoekt, zoekt

TEXTS = ("return", ":=", "the", "func", "err", "fmt.Errorf")
MANY, FRAME, COUNT = 100_000, 2.0, 4.0
HEAD = ("text", "matches", "zoekt CPU ms", "DataFrame CPU ms", "count CPU ms", "÷ DataFrame", "÷ count")


def measure(corpus: Corpus, other: Zoekt, text: str, rounds: int) -> tuple[list[str], list[str]]:
    """A row of the table, and the goals that it misses."""
    query = f'content:"{text}" case:yes count:all'
    frames, counts, theirs = [], [], []
    matches = 0
    for number in range(rounds + 1):
        before = used_cpu_s(other.pid)
        other.search(f'case:yes content:"{text}"')
        spent = used_cpu_s(other.pid) - before
        frame = timed(lambda: len(corpus.client.search(query, progress=False).matches))[0]
        count, _, count_result = timed(lambda: corpus.client.count(query, progress=False))
        matches = int(count_result)
        if number:  # the first round loads what is loaded once
            theirs.append(spent)
            frames.append(frame)
            counts.append(count)
    ratios = [statistics.median(a / b for a, b in zip(theirs, sides, strict=True)) for sides in (frames, counts)]
    missed = [
        f"{text}: zoekt ÷ {label}: {ratio:.2f}, wanted {goal:g}"
        for label, ratio, goal in zip(("DataFrame", "count"), ratios, (FRAME, COUNT), strict=True)
        if matches > MANY and ratio < goal
    ]
    spent_ms = [f"{statistics.median(item) * 1e3:,.0f}" for item in (theirs, frames, counts)]
    return [f"`{text}`", f"{matches:,}", *spent_ms, *(f"{ratio:.2f}" for ratio in ratios)], missed


def main() -> int:
    """Measure and print; the exit status."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--corpus", required=True, help="folder with git repositories")
    parser.add_argument("--index", default="", help="folder to keep the index in")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--texts", default=",".join(TEXTS), help="what to look for, with commas between")
    options = parser.parse_args()
    with ExitStack() as stack:
        home = options.index or stack.enter_context(tempfile.TemporaryDirectory())
        corpus = Corpus(options.corpus, home)
        other = stack.enter_context(zoekt([repository.git_dir for repository in corpus.repositories], Path(home)))
        if other is None:
            sys.exit("the environment names no zoekt: ZOEKT_WEBSERVER, and ZOEKT_GIT_INDEX or ZOEKT_INDEX")
        rows, missed = [], []
        for text in options.texts.split(","):
            row, errors = measure(corpus, other, text, options.rounds)
            rows.append(row)
            missed += errors
            print(" ".join(row), f"load {os.getloadavg()[0]:.0f}", file=sys.stderr)
        print(markdown(HEAD, rows))
    print(f"\n{machine()}")
    for error in missed:
        print(f"missed: {error}")
    return int(bool(missed))


if __name__ == "__main__":
    sys.exit(main())

"""First rows of a folder that has no index yet, against ``git grep`` over the same repositories.

Run: ``python benchmarks/first_rows.py FOLDER [FOLDER ...] [--seed S] [--seeds N] [--rounds N] [--text-mb MB]``.

The folders are git repositories, or hold them. A seed draws repositories with about so much text at HEAD, and words
from them. In each round, ``git grep`` first searches each repository for the first word, one after another. Then a new
process opens the repositories with an empty index directory, and searches the words one after another while the index
is built, and again when it is ready. Git's files are in the system's cache for both.

*First row* is the wall time from the call of `open`, imports included, until the first matches. CPU time is that of the
process and of the git processes that read for it. Workers that build the index count only if they end during a search.
It exits with 1 if the lines of a word without the index differ from those with it or from those of ``git grep``, or if
a goal is missed.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from corpus import machine, markdown
from first_rows_process import Line, Round, SearchTimes, cpu_s

from sourcelight.engines.search.model import DEFAULT_MAX_FILE_SIZE
from sourcelight.repos import Catalog, ObjectReader, Repository

WORDS = 4
"""Words of a seed: the first is the first query."""

SAMPLE_FILES = 400
ANSWER_GOAL, AGAIN_GOAL, ROW_GOAL_S = 1.0, 3.0, 1.0
"""`git grep` ÷ first answer, first answer ÷ second query, and seconds until the first row of a gigabyte."""

_WORD = re.compile(rb"[A-Za-z_][A-Za-z0-9_]{5,23}")
_PATIENCE_S = 1800.0


@dataclass(frozen=True, slots=True)
class Sample:
    """Repositories and words that a seed draws."""

    seed: int
    repositories: tuple[Repository, ...]
    text_bytes: int
    words: tuple[str, ...]


def text_bytes(repository: Repository) -> int:
    """Bytes of the files at HEAD whose contents are searched; binary files count too."""
    with ObjectReader(repository) as reader:
        tree = reader.tree(repository.info.commit)
        sizes = [reader.size(tree.blob_id(index)) or 0 for index in range(len(tree.paths))]
    return sum(size for size in sizes if size <= DEFAULT_MAX_FILE_SIZE)


def draw(repositories: Sequence[Repository], seed: int, wanted_bytes: int) -> Sample:
    """Draw repositories until they have enough text, and words that occur in them."""
    chance = random.Random(seed)  # noqa: S311 - to draw the same again
    members: list[Repository] = []
    total = 0
    for repository in chance.sample(repositories, len(repositories)):
        size = text_bytes(repository)
        if total + size <= wanted_bytes * 1.2:
            members.append(repository)
            total += size
        if total >= wanted_bytes:
            break
    words: dict[str, None] = {}
    while len(words) < WORDS:
        repository = chance.choice(members)
        with ObjectReader(repository) as reader:
            tree = reader.tree(repository.info.commit)
            data = reader.read(tree.blob_id(chance.randrange(len(tree.paths))), DEFAULT_MAX_FILE_SIZE) or b""
        matched = _WORD.findall(data) if b"\0" not in data else []
        if matched:
            words[chance.choice(matched).decode()] = None
    return Sample(seed, tuple(members), total, tuple(words))


def git_grep(sample: Sample, word: str) -> tuple[float, float, set[Line]]:
    """Wall and CPU seconds of ``git grep`` over all repositories, and the lines it finds in files that are searched."""
    outputs = []
    began, before = time.perf_counter(), cpu_s()
    for repository in sample.repositories:
        command = ["git", "-C", repository.git_dir, "grep", "-nIzF", "--no-color", "-e", word, "HEAD"]
        # A partial clone lacks contents, which git reports for each.
        done = subprocess.run(
            command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False, timeout=_PATIENCE_S
        )
        outputs.append((repository, done.stdout))
    wall_s, used_s = time.perf_counter() - began, cpu_s() - before
    return wall_s, used_s, {line for repository, output in outputs for line in searched_lines(repository, output)}


def searched_lines(repository: Repository, output: bytes) -> set[Line]:
    """Lines of ``git grep``, without those of large files and of files with a NUL byte after the first 8,000 bytes."""
    lines: dict[bytes, list[int]] = {}
    for item in output.split(b"\n"):
        name, _, remaining = item.partition(b"\0")
        number, separator, _ = remaining.partition(b"\0")
        if separator:
            lines.setdefault(name.removeprefix(b"HEAD:"), []).append(int(number))
    result: set[Line] = set()
    with ObjectReader(repository) as reader:
        tree = reader.tree(repository.info.commit)
        for index, path in enumerate(tree.paths):
            if path in lines:
                data = reader.read(tree.blob_id(index), DEFAULT_MAX_FILE_SIZE)
                if data is not None and b"\0" not in data:
                    result.update((repository.name, path.decode("utf-8", "replace"), line) for line in lines[path])
    return result


@dataclass(slots=True)
class Turn:
    """``git grep`` for the first word, and then a process of ours; what they say of lines is in `differences`."""

    grep_wall_s: float
    grep_cpu_s: float
    ours: Round
    differences: list[str]


def take_turn(sample: Sample) -> Turn:
    """Search with ``git grep``, and then in a new process without an index."""
    grep_wall_s, grep_cpu_s, expected = git_grep(sample, sample.words[0])
    with tempfile.TemporaryDirectory() as home:
        folder = Path(home, "repositories")
        for repository in sample.repositories:
            location = folder / repository.name
            location.parent.mkdir(parents=True, exist_ok=True)
            location.symlink_to(os.path.realpath(repository.git_dir))
        ours = run_process(str(folder), str(Path(home, "index")), sample.words)
    return Turn(grep_wall_s, grep_cpu_s, ours, list(differences(sample, ours, expected)))


def run_process(folder: str, index: str, words: Sequence[str]) -> Round:
    """Run `first_rows_process` and return what it measured."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    script = Path(__file__).with_name("first_rows_process.py")
    done = subprocess.run(
        [sys.executable, script, folder, index, *words],
        stdout=subprocess.PIPE,
        env=environment,
        check=True,
        timeout=_PATIENCE_S,
    )
    values = json.loads(done.stdout)
    for stage in ("building", "indexed"):
        search = [SearchTimes(**item) for item in values[stage]]
        for item in search:
            item.lines = [(name, path, line) for name, path, line in item.lines]
        values[stage] = search
    return Round(**values)


def differences(sample: Sample, result: Round, expected: set[Line]) -> Iterator[str]:
    """Yield the words whose lines depend on who searched."""
    if len(result.building[0].lines) != len(expected) or set(result.building[0].lines) != expected:
        yield f"{sample.words[0]}: {len(result.building[0].lines):,} lines, git grep {len(expected):,}"
    for word, before, after in zip(sample.words, result.building, result.indexed, strict=True):
        if sorted(before.lines) != sorted(after.lines):
            yield f"{word}: {len(before.lines):,} lines without the index, {len(after.lines):,} with it"


HEAD = (
    "seed", "repositories", "text MB", "`open` s (CPU)", "first row s", "first answer s (CPU)", "`git grep` s (CPU)",
    "`git grep` ÷ first answer, wall (CPU)", "next queries s", "first ÷ next, CPU", "indexed after s", "then s",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Medians:
    """A seed's medians over its turns; `row_s` counts from the call of `open`, the others from that of the search."""

    open_s: float
    open_cpu_s: float
    row_s: float
    answer_s: float
    answer_cpu_s: float
    grep_s: float
    grep_cpu_s: float
    next_s: float
    next_cpu_s: float
    ready_s: float
    indexed_s: float


def medians(turns: Sequence[Turn]) -> Medians:
    """Summarize the turns of a seed; the next queries are those that began while the index was built."""

    def median(of: Callable[[Turn], float]) -> float:
        return statistics.median(map(of, turns))

    later = [search for turn in turns for search in turn.ours.building[1:] if search.was_building]
    return Medians(
        median(lambda turn: turn.ours.open_s),
        median(lambda turn: turn.ours.open_cpu_s),
        median(lambda turn: turn.ours.open_s + turn.ours.building[0].row_s),
        median(lambda turn: turn.ours.building[0].wall_s),
        median(lambda turn: turn.ours.building[0].cpu_s),
        median(lambda turn: turn.grep_wall_s),
        median(lambda turn: turn.grep_cpu_s),
        statistics.median(search.wall_s for search in later),
        statistics.median(search.cpu_s for search in later),
        median(lambda turn: turn.ours.ready_s),
        statistics.median(search.wall_s for turn in turns for search in turn.ours.indexed),
    )


def cells(sample: Sample, value: Medians) -> list[str]:
    """The row of a seed."""
    return [
        str(sample.seed),
        str(len(sample.repositories)),
        f"{sample.text_bytes / 1e6:.0f}",
        f"{value.open_s:.2f} ({value.open_cpu_s:.2f})",
        f"{value.row_s:.2f}",
        f"{value.answer_s:.2f} ({value.answer_cpu_s:.2f})",
        f"{value.grep_s:.2f} ({value.grep_cpu_s:.2f})",
        f"{value.grep_s / value.answer_s:.2f} ({value.grep_cpu_s / value.answer_cpu_s:.2f})",
        f"{value.next_s:.3f}",
        f"{value.answer_cpu_s / value.next_cpu_s:.1f}",
        f"{value.ready_s:.0f}",
        f"{value.indexed_s:.3f}",
    ]


def missed(value: Medians) -> list[str]:
    """The goals that a seed misses."""
    goals = {
        f"first row after {value.row_s:.2f} s (goal {ROW_GOAL_S:g})": value.row_s <= ROW_GOAL_S,
        "first answer slower than git grep": value.grep_s >= ANSWER_GOAL * value.answer_s,
        f"the next queries less than {AGAIN_GOAL:g} times faster": value.answer_s >= AGAIN_GOAL * value.next_s,
    }
    return [goal for goal, is_met in goals.items() if not is_met]


def main() -> int:
    """Measure and print; the exit status."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("corpus", nargs="+", help="git repositories, or folders with some")
    parser.add_argument("--seed", type=int, default=0, help="the first seed")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--text-mb", type=float, default=250.0, help="text of the repositories that a seed draws")
    options = parser.parse_args()
    repositories = Catalog.open(options.corpus).repositories
    rows: list[list[str]] = []
    problems: list[str] = []
    for seed in range(options.seed, options.seed + options.seeds):
        sample = draw(repositories, seed, int(options.text_mb * 1e6))
        turns = [take_turn(sample) for _ in range(options.rounds)]
        value = medians(turns)
        rows.append(cells(sample, value))
        print(" ".join(rows[-1]), file=sys.stderr, flush=True)
        problems += [f"seed {seed}: differs: {problem}" for turn in turns for problem in turn.differences]
        problems += [f"seed {seed}: missed: {goal}" for goal in missed(value)]
    print(f"{markdown(HEAD, rows)}\n\n{machine()}")
    for problem in problems:
        print(problem)
    return int(bool(problems))


if __name__ == "__main__":
    sys.exit(main())

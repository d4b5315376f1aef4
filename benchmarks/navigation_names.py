"""How often navigation is right, and how fast, against names that a compiler resolved.

Method. A program in `truth/` prints where a compiler says that the names of a checkout are defined, one JSON object a
line: ``file``, ``offset`` (bytes), ``name``, ``category``, ``targets`` (file and offset of each accepted definition).
Left out are names that define themselves, and those that lead outside of the checkout. *Definitions*: of `--rows`
names, drawn at random, the rules are asked with the position, and where they are silent the ranking by name answers.
hit@1 (@3): an accepted definition is the first (among the first three) answers. The baseline ranks names alone.
*References*: path and symbol, as the tool has it. The compiler's rows, turned round, tell the uses of what one file
defines under one name; asked are functions, types and members with three or more places. Precision and recall are
averaged over them. Judged are only places that the compiler resolved. The baseline is every place with that name.
*Speed*: CPU time of the same questions, the file parsed anew each time; and what the tables cost beside parsing alone.

    python benchmarks/navigation_go.py CHECKOUT ROWS.jsonl WORK [--definitions N] [--references N] [--tables] [--show]
"""

from __future__ import annotations

import argparse
import gc
import json
import random
import sys
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sourcelight.engines.navigation import Navigator, Project, ResolvedDefinition, Workspace
from sourcelight.engines.navigation.languages import resolver_of
from sourcelight.engines.navigation.model import Document, SymbolQuery
from sourcelight.engines.navigation.ranking import rank_definitions
from sourcelight.engines.navigation.references import References
from sourcelight.engines.search import IndexStore, Target
from sourcelight.engines.symbols import TableBuilder, definitions, parse_tree
from sourcelight.repos import Catalog, Viewer

Row = dict[str, Any]
Position = tuple[str, int]

_MIN_REFERENCES = 3
_PRINTED_BELOW = 0.9


class Bench:
    """One checkout, indexed with its tables."""

    def __init__(self, checkout: Path, work: Path) -> None:
        catalog = Catalog.open([str(checkout.resolve())])
        store = IndexStore(str(work / "index"))
        targets = [Target(repository, "", repository.info.commit) for repository in catalog.repositories]
        store.update(targets)
        store.update_symbols(targets)
        self.navigator = Navigator(catalog, store)
        self.name = catalog.repositories[0].name

    def workspace(self) -> Workspace:
        """Return a fresh call."""
        return self.navigator.workspace(Viewer.owner())

    def project(self) -> Project:
        """Return the repository."""
        return self.workspace().project(self.name)

    def document(self, row: Row) -> Document | None:
        """Return the file of a row, if its text is the one that the compiler read."""
        document = self.project().document(row["file"].encode())
        if document is None:
            return None
        name = row["name"].encode()
        return document if document.text[row["offset"] : row["offset"] + len(name)] == name else None


def read_rows(file: Path) -> list[Row]:
    """Read the rows of a truth program."""
    return [json.loads(line) for line in file.read_text().splitlines()]


# Definitions.


def score_definitions(bench: Bench, rows: Sequence[Row], limit: int, *, show: bool = False) -> None:
    """Print hit rates by category, the position given, and how long they took."""
    shuffled = list(rows)
    random.Random(7).shuffle(shuffled)  # noqa: S311 - the same rows every time
    counts: dict[str, list[int]] = defaultdict(lambda: [0] * 5)
    hows: dict[str, list[int]] = defaultdict(lambda: [0, 0])
    times: list[float] = []
    for row in shuffled:
        document = bench.document(row)
        if document is None:
            continue
        if counts["**all**"][0] >= limit:
            break
        answers, base, took = _answers(bench, document, row)
        times.append(took)
        expected = {_line(bench, file, position) for file, position in row["targets"]}
        right_answers = [_is_right(bench, item, expected) for item in (answers or base)[:3]]
        base_hits = [_is_right(bench, item, expected) for item in base[:3]]
        first = (answers or base)[:1]
        if first:
            hows[first[0].rule][0] += 1
            hows[first[0].rule][1] += any(right_answers[:1])
        if show and not any(right_answers[:1]):
            print(
                row["category"],
                row["file"],
                row["name"],
                sorted(expected)[:2],
                [_format_definition(item) for item in first],
            )
        for category in (row["category"], "**all**"):
            for index, value in enumerate(
                (True, any(right_answers[:1]), any(right_answers), any(base_hits[:1]), any(base_hits))
            ):  # fmt: skip
                counts[category][index] += value
    print("| category | n | hit@1 | hit@3 | name only @1 | @3 |\n|---|---|---|---|---|---|")
    for category, (n, *hits_of) in sorted(counts.items()):
        print(f"| {category} | {n} | {' | '.join(f'{100 * value / n:.1f}' for value in hits_of)} |")
    print(", ".join(f"{method}: {100 * right / n:.1f} % of {n}" for method, (n, right) in sorted(hows.items())))
    print_times("one definition, its file parsed anew, CPU ms", times)


def _answers(
    bench: Bench, document: Document, row: Row
) -> tuple[list[ResolvedDefinition], list[ResolvedDefinition], float]:
    workspace = bench.workspace()
    resolver = resolver_of(document.language)
    if resolver is None:
        return [], [], 0.0
    bench.navigator.parsed_files.clear()
    started_s = time.process_time()
    model = workspace.parsed_file(document)
    occurrence = resolver.occurrence_at(model, row["offset"]) if model is not None else None
    answers = list(resolver.resolve(document, occurrence, workspace)) if occurrence is not None else []
    seconds = time.process_time() - started_s
    base = rank_definitions(document, occurrence, row["name"].encode(), workspace) if occurrence is not None else []
    return answers, base, seconds


def _line(bench: Bench, file: str, offset: int) -> Position:
    document = bench.project().document(file.encode())
    return file, document.text.count(b"\n", 0, offset) if document is not None else -1


def _is_right(bench: Bench, definition: ResolvedDefinition, expected: set[Position]) -> bool:
    path = definition.document.shown_path
    if definition.kind == "module":
        return any(file == path for file, _ in expected)
    return _line(bench, path, definition.start) in expected


def _format_definition(definition: ResolvedDefinition) -> str:
    line = definition.document.text.count(b"\n", 0, definition.start) + 1
    return f"{definition.document.shown_path}:{line} {definition.rule}"


# References.


@dataclass(slots=True)
class Question:
    """What one file defines under one name: its places, and all places with that name that were resolved."""

    file: str
    name: str
    truth: set[Position]
    definitions_known: set[Position]


def questions_of(rows: Iterable[Row]) -> list[Question]:
    """Turn rows round; what is only known in one function is not asked for."""
    uses: dict[Position, set[Position]] = defaultdict(set)
    names: dict[Position, str] = {}
    local: set[Position] = set()
    for row in rows:
        target: Position = (row["targets"][0][0], row["targets"][0][1])
        uses[target].add((row["file"], row["offset"]))
        names[target] = row["name"]
        if row["category"].startswith("local"):
            local.add(target)
    by_file_and_name: dict[tuple[str, str], set[Position]] = defaultdict(set)
    by_name: dict[str, set[Position]] = defaultdict(set)
    for target, uses_of_target in uses.items():
        by_name[names[target]] |= {*uses_of_target, target}
        if target not in local:
            by_file_and_name[target[0], names[target]] |= {*uses_of_target, target}
    return [
        Question(file, name, locations, by_name[name])
        for (file, name), locations in sorted(by_file_and_name.items())
        if len(locations) >= _MIN_REFERENCES
    ]


def read_questions(file: Path) -> list[Question]:
    """Read questions that a compiler answered itself: ``file``, ``name``, ``references`` and ``known`` a line."""
    return [
        Question(row["file"], row["name"], _positions(row["references"]), _positions(row["known"]))
        for row in read_rows(file)
    ]


def _positions(locations: Iterable[Sequence[Any]]) -> set[Position]:
    return {(file, position) for file, position in locations}


def score_references(bench: Bench, questions: list[Question], limit: int, *, show: bool = False) -> None:
    """Print precision and recall by path and symbol."""
    random.Random(5).shuffle(questions)  # noqa: S311 - as above
    scores: list[tuple[float, float, float]] = []
    times: list[float] = []
    for question in questions:
        document = bench.project().document(question.file.encode())
        if document is None or question.name.encode() not in document.text:
            continue
        if len(scores) >= limit:
            break
        began = time.process_time()
        got = set(_references_of(bench, document, question.name))
        times.append(time.process_time() - began)
        seen = got & question.definitions_known
        precision = len(seen & question.truth) / len(seen) if seen else 0.0
        recall = len(got & question.truth) / len(question.truth)
        scores.append((precision, recall, len(question.truth) / len(question.definitions_known)))
        if show and min(precision, recall) < _PRINTED_BELOW:
            missed, wrong = sorted(question.truth - got)[:3], sorted(seen - question.truth)[:3]
            lines = [[_line(bench, *spot) for spot in spots] for spots in (missed, wrong)]
            print(f"{question.file} {question.name}: {precision:.2f} {recall:.2f}, missed {lines[0]}, wrong {lines[1]}")
    n = max(1, len(scores))
    means = (100 * sum(column) / n for column in zip(*scores, strict=True))
    summary = (
        f"{label} {value:.1f}" for label, value in zip(("precision", "recall", "name only"), means, strict=False)
    )
    print(f"references: n={len(scores)} " + ", ".join(summary))
    print_times("references of one symbol, CPU ms", times)


def _references_of(bench: Bench, document: Document, name: str) -> Iterator[Position]:
    search = References(SymbolQuery(document, name), bench.workspace())
    for rows in search.batches():
        for reference in rows:
            yield reference.document.shown_path, reference.occurrence.start


# Speed.


def measure_tables(bench: Bench, languages: Sequence[str]) -> None:
    """Print what tables cost beside parsing alone, and their size beside the source, as the index builds them."""
    project = bench.project()
    documents = [project.document_at(number) for number in range(len(project.paths))]
    texts = [
        (document.language, document.text) for document in documents if document.language in languages and document.text
    ]
    gc.disable()
    for language in languages:
        parse_tree(language, b"", time.monotonic() + 1)
    began = time.process_time()
    for language, text in texts:
        parse_tree(language, text, time.monotonic() + 5)
    parsing = time.process_time() - began
    builder = TableBuilder()
    began = time.process_time()
    for number, (language, text) in enumerate(texts):
        builder.add(number.to_bytes(20, "big"), language, definitions(language, text))
    sections = builder.sections()
    tables = time.process_time() - began
    gc.enable()
    size, source = sum(array.nbytes for array in sections.values()), sum(len(text) for _, text in texts)
    print(
        f"{source / 1e6:.1f} MB, parsing {parsing:.2f} s, tables {tables:.2f} s ({tables / parsing:.2f}x), "
        f"{100 * size / source:.1f} % of the source"
    )


def print_times(label: str, times: list[float]) -> None:
    """Print median, p90 and the longest."""
    times.sort()
    if times:
        median, p90 = (1e3 * times[int(len(times) * position)] for position in (0.5, 0.9))
        print(f"{label}: median {median:.1f}, p90 {p90:.1f}, max {1e3 * times[-1]:.1f}")


def run(languages: Sequence[str], arguments: Sequence[str] | None = None) -> None:
    """Run what was asked for on the command line."""
    parser = argparse.ArgumentParser(description="Score navigation against what a compiler says.")
    parser.add_argument("checkout", type=Path, help="a git checkout, as the compiler read it")
    parser.add_argument("rows", type=Path, help="what a program of truth/ printed")
    parser.add_argument("work", type=Path, help="where the index is kept")
    parser.add_argument("--definitions", type=int, default=1500, help="names asked for")
    parser.add_argument("--references", type=int, default=150, help="symbols asked for")
    parser.add_argument("--questions", type=Path, help="references as the compiler gives them, instead of from rows")
    parser.add_argument("--tables", action="store_true", help="measure the tables too")
    parser.add_argument("--show", action="store_true", help="print what was wrong")
    options = parser.parse_args(arguments)
    options.work.mkdir(parents=True, exist_ok=True)
    bench = Bench(options.checkout, options.work)
    rows = read_rows(options.rows)
    if options.definitions:
        score_definitions(bench, rows, options.definitions, show=options.show)
    if options.references:
        questions = read_questions(options.questions) if options.questions else questions_of(rows)
        score_references(bench, questions, options.references, show=options.show)
    if options.tables:
        measure_tables(bench, languages)


if __name__ == "__main__":
    sys.exit("Run navigation_go.py, navigation_typescript.py or navigation_others.py.")

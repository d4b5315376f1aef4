"""How often navigation is right, and how fast: Python, against jedi and an index file of scip-python.

Method. *Definitions*: identifiers are drawn at random from every Python file; `truth` asks jedi, with all repositories
on its path, where each is defined. Left out are names that define themselves, and those that lead outside of the
repositories. `definitions` asks the rules with nothing but the repositories; where they are silent the ranking by name
answers. hit@1 (@3): one of jedi's lines is the first (among the first three) of our answers. The baseline ranks names
alone. *Tool*: path and symbol only; right if the first answer is what jedi gives for any use of the symbol in the
file. *References*: functions, classes and methods with three or more places in the index; precision and recall are
averaged over them. Not judged are places which the index leaves without a symbol, whose symbol has another name, or is
that of an import that the indexer could not follow; a symbol is the same whatever version of its package it names.

Repositories are bare clones in one folder. Those of `DEV` were looked at while the rules were written, those of `HELD`
only scored.

    python benchmarks/navigation.py all FOLDER WORK [--rows N]        # everything below; 15 minutes on an idle machine
    python benchmarks/navigation.py truth FOLDER WORK [--rows N]      # needs jedi; writes WORK/truth-*.jsonl
    python benchmarks/navigation.py definitions FOLDER WORK
    python benchmarks/navigation.py references FOLDER WORK            # what has WORK/<name>.scip of scip-python
    python benchmarks/navigation.py speed FOLDER WORK

Questions to jedi that take longer than ten seconds are given up and counted; so is a set after five minutes.
"""

from __future__ import annotations

import argparse
import ast
import gc
import importlib
import json
import multiprocessing
import random
import re
import sys
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import Any, Self

from sourcelight.engines.navigation import Navigator, ResolvedDefinition, Workspace
from sourcelight.engines.navigation.definitions import definitions_of
from sourcelight.engines.navigation.languages import resolver_of
from sourcelight.engines.navigation.model import SymbolQuery
from sourcelight.engines.navigation.ranking import rank_definitions
from sourcelight.engines.navigation.references import References
from sourcelight.engines.navigation.scip.decode import last_descriptor
from sourcelight.engines.navigation.scip.index import ScipIndex
from sourcelight.engines.search import IndexStore, Target
from sourcelight.engines.symbols import TableBuilder, definitions, parse_tree
from sourcelight.repos import Catalog, ObjectReader, Repository, Viewer

DEV = ("httpx", "pytest", "flask", "starlette")
HELD = ("requests", "anyio", "datasette", "scrapy", "httpcore", "werkzeug")
SETS = {"dev": DEV, "held-out": HELD}
MAX_SYMBOLS = 40
"""Symbols of each repository whose references are judged."""
_ROOTS = ("src", "")
_IMPORT = re.compile(r"\s*(?:from|import)\b")
_BUDGET_S = 300.0
"""Time for the truth of one set; two of them and the scores take less than a quarter of an hour."""
_QUESTION_S = 10.0
_START_S = 60.0
_WORKERS = 2
_MIN_INDEX_BYTES = 1000

Row = dict[str, Any]
_Position = tuple[str, str, int, int, str]


class Bench:
    """The repositories, indexed, and their files on disk for jedi."""

    def __init__(self, folder: Path, work: Path) -> None:
        self.work = work
        paths = {_short(path): path for path in sorted(folder.iterdir()) if path.is_dir()}
        self.names = [name for name in (*DEV, *HELD) if name in paths]
        catalog = Catalog.open([str(paths[name].resolve()) for name in self.names])
        self.store = IndexStore(str(work / "index"))
        self.targets = [Target(repository, "", repository.info.commit) for repository in catalog.repositories]
        self.store.update(self.targets)
        self.store.update_symbols(self.targets)
        self.navigator = Navigator(catalog, self.store)
        real = {str(paths[name].resolve()): name for name in self.names}
        self.by_short: dict[str, Repository] = {}
        for repository in catalog.repositories:
            short_name = next(name for path, name in real.items() if repository.git_dir.startswith(path))
            self.by_short[short_name] = repository
        self.short = {repository.name: name for name, repository in self.by_short.items()}

    def workspace(self) -> Workspace:
        """Return a fresh call."""
        return self.navigator.workspace(Viewer.owner())

    def checkout(self, name: str) -> Path:
        """Write the Python files of a repository where jedi can read them."""
        target = self.work / "files" / name
        if not target.exists():
            repository = self.by_short[name]
            with ObjectReader(repository) as reader:
                tree = reader.tree(repository.info.commit)
                for number, path in enumerate(tree.paths):
                    if path.endswith((b".py", b".pyi")):
                        file = target / path.decode()
                        file.parent.mkdir(parents=True, exist_ok=True)
                        file.write_bytes(reader.read(tree.blob_id(number)) or b"")
        return target


def _short(path: Path) -> str:
    name = path.name.rpartition("+")[2]
    return name.removesuffix(".git")


# Truth.


def write_truth(bench: Bench, rows: int) -> None:
    """Ask jedi about `rows` identifiers of each set, in worker processes that a slow question ends."""
    files = {name: bench.checkout(name) for name in bench.names}
    roots = [str(location / root) for location in files.values() for root in _ROOTS if (location / root).is_dir()]
    with Askers(files, roots, _WORKERS) as askers:
        for label, names in SETS.items():
            rng = random.Random(7)  # noqa: S311 - the same rows every time
            available = [name for name in names if name in files]
            positions = [location for name in available for location in _identifiers(files[name], name, rng, rows)]
            rng.shuffle(positions)
            rows_found = list(islice(askers.answers(positions, time.monotonic() + _BUDGET_S), rows))
            text = "".join(json.dumps(row) + "\n" for row in rows_found)
            (bench.work / f"truth-{label}.jsonl").write_text(text)
            print(f"{label}: {len(rows_found)} rows, {askers.given_up} questions given up after {_QUESTION_S:.0f} s")


class Askers:
    """Processes that ask jedi, each about one identifier at a time; one that takes too long is ended and replaced."""

    def __init__(self, files: dict[str, Path], roots: list[str], count: int) -> None:
        self._arguments = files, roots
        self._context = multiprocessing.get_context("spawn")
        self._running = [self._start() for _ in range(count)]
        self.given_up = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for process, _ in self._running:
            process.kill()
            process.join()

    def _start(self) -> tuple[Any, Any]:
        ours, theirs = self._context.Pipe()
        process = self._context.Process(target=_serve_jedi, args=(theirs, *self._arguments), daemon=True)
        process.start()
        theirs.close()
        if not ours.poll(_START_S) or not ours.recv():
            raise TimeoutError(f"jedi did not start in {_START_S:.0f} s")
        return process, ours

    def answers(self, positions: Iterable[_Position], deadline: float) -> Iterator[Row]:
        """Yield the rows of those places that jedi knows, in the order given, until `deadline`."""
        pending = iter(positions)
        for batch in iter(lambda: list(islice(pending, len(self._running))), []):
            if time.monotonic() > deadline:
                return
            for (_, pipe), position in zip(self._running, batch, strict=False):
                pipe.send(position)
            batch_deadline = time.monotonic() + _QUESTION_S
            for number in range(len(batch)):
                process, pipe = self._running[number]
                row, answered = None, False
                with suppress(EOFError):
                    if pipe.poll(max(0.0, batch_deadline - time.monotonic())):
                        row, answered = pipe.recv(), True
                if not answered:
                    self.given_up += 1
                    process.kill()
                    process.join()
                    self._running[number] = self._start()
                if row is not None:
                    yield row


def _serve_jedi(pipe: Any, files: dict[str, Path], roots: list[str]) -> None:
    """Answer questions until the other end is gone."""
    jedi = importlib.import_module("jedi")
    projects = {
        name: jedi.Project(str(position), sys_path=[*roots, *sys.path[1:3]], smart_sys_path=False)
        for name, position in files.items()
    }
    with suppress(EOFError):
        pipe.send(True)
        while True:
            position = pipe.recv()
            pipe.send(_jedi_answer(jedi, projects[position[0]], files, position))


def _identifiers(root: Path, name: str, rng: random.Random, limit: int) -> list[_Position]:
    identifiers = []
    for file in sorted(root.rglob("*.py")):
        text = file.read_text(errors="replace")
        try:
            tree = ast.parse(text)
        except (SyntaxError, ValueError):
            continue
        binding_positions = binding_positions_of(tree, text)
        for number, line in enumerate(text.split("\n"), 1):
            for match in re.finditer(r"[A-Za-z_]\w*", line.split("#")[0]):
                if (number, match.start()) not in binding_positions:
                    identifiers.append((name, str(file.relative_to(root)), number, match.start(), match[0]))
    rng.shuffle(identifiers)
    return identifiers[: 4 * limit]


def binding_positions_of(tree: ast.AST, text: str) -> set[tuple[int, int]]:
    """Return line and column of the names that define themselves: of functions, classes, parameters, assignments."""
    lines = text.split("\n")
    positions = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            match = re.compile(r"\s*(?:async\s+)?(?:def|class)\s+").match(lines[node.lineno - 1])
            positions.add((node.lineno, match.end() if match else 0))
        elif isinstance(node, ast.arg) or (isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)):
            positions.add((node.lineno, node.col_offset))
    return positions


def _jedi_answer(jedi: Any, project: Any, files: dict[str, Path], position: _Position) -> Row | None:
    name, path, line, column, text = position
    file = files[name] / path
    source = file.read_text(errors="replace")
    try:
        script = jedi.Script(source, path=str(file), project=project)
        answers = script.goto(line, column, follow_imports=True)
    except Exception:  # noqa: BLE001 - jedi fails in many ways; such a row is no truth
        return None
    truth = []
    for answer in answers:
        owner = next(
            (other for other, root in files.items() if answer.module_path and answer.module_path.is_relative_to(root)),
            None,
        )
        if owner is None:
            return None
        module = answer.type == "module"
        is_top_level = module or (answer.parent() is not None and answer.parent().type == "module")
        module_path = str(answer.module_path.relative_to(files[owner]))
        truth.append(
            {"repo": owner, "path": module_path, "line": answer.line or 1, "type": answer.type, "top": is_top_level}
        )
        if owner == name and module_path == path and (answer.line, answer.column) == (line, column):
            return None
    if not truth:
        return None
    category = _category(script, source.split("\n")[line - 1], (line, column, text), truth[0], (name, path))
    return {
        "repo": name, "path": path, "line": line, "column": column, "name": text, "category": category, "truth": truth
    }  # fmt: skip


def _category(script: Any, line: str, position: tuple[int, int, str], first: Row, asking_file: tuple[str, str]) -> str:
    number, column, text = position
    before, after = line[:column].rstrip(), line[column + len(text) :].lstrip()
    if _IMPORT.match(line):
        return "import statement"
    if before.endswith("."):
        receiver = re.search(r"(\w+)\.$", before)
        if receiver and receiver[1] in {"self", "cls"} and not before[: receiver.start()].endswith("."):
            return "attribute of self"
        modules = script.goto(number, len(before) - 1, follow_imports=True) if receiver else []
        return "attribute of a module" if modules and modules[0].type == "module" else "attribute, other receiver"
    if after.startswith("=") and not after.startswith("==") and first["type"] == "param" and first["line"] != number:
        return "keyword argument"
    if (first["repo"], first["path"]) != asking_file:
        return "imported name"
    return "module-level name" if first["top"] else "local name"


# Scores.


def _place(definition: ResolvedDefinition, bench: Bench) -> tuple[str, str, int]:
    document = definition.document
    return bench.short[document.project.name], document.shown_path, document.text.count(b"\n", 0, definition.start) + 1


def _is_right(definition: ResolvedDefinition, expected: set[tuple[str, str, int]], bench: Bench) -> bool:
    position = _place(definition, bench)
    if position in expected:
        return True
    return definition.kind == "module" and any(item[:2] == position[:2] and item[2] <= 1 for item in expected)


def score_definitions(bench: Bench) -> None:
    """Print hit rates by category, position given; then for path and symbol alone."""
    for label in SETS:
        rows = [json.loads(line) for line in (bench.work / f"truth-{label}.jsonl").read_text().splitlines()]
        counts: dict[str, list[int]] = defaultdict(lambda: [0] * 5)
        new: list[float] = []
        for row in rows:
            _score_row(row, bench, counts, new)
        print(f"\n{label}: {len(rows)} rows")
        print("| category | n | hit@1 | hit@3 | name only @1 | @3 |\n|---|---|---|---|---|---|")
        for category, (n, *hits_at) in sorted(counts.items()):
            print(f"| {category} | {n} | {' | '.join(f'{100 * value / n:.1f}' for value in hits_at)} |")
        _print_times("one definition, nothing cached, CPU ms", new)
        _tool_level(rows, bench)


def _score_row(row: Row, bench: Bench, counts: dict[str, list[int]], fresh: list[float]) -> None:
    workspace = bench.workspace()
    document = workspace.project(bench.by_short[row["repo"]].name).document(row["path"].encode())
    resolver = resolver_of("Python")
    if document is None or resolver is None:
        return
    offset = _offset(document.text, row)
    bench.navigator.parsed_files.clear()
    started_s = time.process_time()
    parsed = workspace.parsed_file(document)
    occurrence = resolver.occurrence_at(parsed, offset) if parsed is not None else None
    answers = list(resolver.resolve(document, occurrence, workspace)) if occurrence else []
    fresh.append(time.process_time() - started_s)
    if occurrence is None:
        return
    base = rank_definitions(document, occurrence, row["name"].encode(), workspace)
    expected = {(item["repo"], item["path"], item["line"]) for item in row["truth"]}
    right_answers = [_is_right(item, expected, bench) for item in (answers or base)[:3]]
    base_hits = [_is_right(item, expected, bench) for item in base[:3]]
    extra_categories = ["(in another repository)"] if row["truth"][0]["repo"] != row["repo"] else []
    for category in (row["category"], "**all**", *extra_categories):
        totals = counts[category]
        for index, value in enumerate(
            (True, any(right_answers[:1]), any(right_answers), any(base_hits[:1]), any(base_hits))
        ):
            totals[index] += value


def _offset(text: bytes, row: Row) -> int:
    lines = text.split(b"\n")[: row["line"]]
    return sum(len(line) + 1 for line in lines[:-1]) + len(lines[-1].decode(errors="replace")[: row["column"]].encode())


def _tool_level(rows: Sequence[Row], bench: Bench) -> None:
    """Ask with path and symbol alone about functions, classes and modules."""
    expected_by_symbol: dict[tuple[str, str, str], set[tuple[str, str, int]]] = defaultdict(set)
    for row in rows:
        if row["truth"][0]["type"] in {"function", "class", "module", "property"}:
            key = row["repo"], row["path"], row["name"]
            expected_by_symbol[key] |= {(item["repo"], item["path"], item["line"]) for item in row["truth"]}
    hits_at = [0, 0]
    for (repo, path, name), truth in expected_by_symbol.items():
        workspace = bench.workspace()
        document = workspace.project(bench.by_short[repo].name).document(path.encode())
        if document is not None:
            answers = definitions_of(SymbolQuery(document, name), workspace)
            right = [_is_right(item, truth, bench) for item in answers[:3]]
            hits_at[0] += any(right[:1])
            hits_at[1] += any(right)
    n = max(1, len(expected_by_symbol))
    print(f"path and symbol alone: n={n} hit@1 {100 * hits_at[0] / n:.1f} hit@3 {100 * hits_at[1] / n:.1f}")


def score_references(bench: Bench, limit: int) -> None:
    """Print precision and recall against index files of scip-python."""
    for label, names in SETS.items():
        precision: list[float] = []
        recall: list[float] = []
        base: list[float] = []
        times: list[float] = []
        for name in names:
            file = bench.work / f"{name}.scip"
            if name not in bench.by_short:
                continue
            if not file.exists() or file.stat().st_size < _MIN_INDEX_BYTES:
                print(f"{name}: left out of references, there is no {file.name}")
                continue
            for truth, judged, got, same_name, took in _compare(bench, name, file.read_bytes(), limit):
                seen = got & judged
                precision.append(len(seen & truth) / len(seen) if seen else 0.0)
                recall.append(len(got & truth) / len(truth))
                base.append(len(truth) / len(same_name))
                times.append(took)
        n = len(precision)
        if n:
            rates = (100 * sum(values) / n for values in (precision, recall, base))
            summary = ", ".join(
                f"{label} {rate:.1f}" for label, rate in zip(("P", "R", "name-only P"), rates, strict=True)
            )
            print(f"{label}: n={n} {summary}")
            _print_times("references of one symbol, CPU ms", times)


_Uses = set[tuple[bytes, int]]


def _compare(bench: Bench, name: str, data: bytes, limit: int) -> Iterator[tuple[_Uses, _Uses, _Uses, _Uses, float]]:
    workspace = bench.workspace()
    project = workspace.project(bench.by_short[name].name)
    index = ScipIndex.read(project, data)
    project.remember("scip", lambda: None)
    texts = {path: project.text(document.number) for path in index.positions if (document := project.document(path))}
    uses: dict[bytes, dict[str, _Uses]] = defaultdict(lambda: defaultdict(set))
    for path, positions in index.positions.items():
        for spot in positions.values():
            symbol = _canonical(spot.symbol)
            if spot.symbol.startswith("local "):
                defined = index.definitions_of(path, spot)
                line = texts[path][: defined[0][1].start].rpartition(b"\n")[2] if defined else b""
                symbol = "" if _IMPORT.match(line.decode(errors="replace")) or line.isspace() else f"{symbol} {path!r}"
            text = texts[path][spot.start : spot.end]
            if not spot.symbol.startswith("local ") and last_descriptor(spot.symbol) != text.decode(errors="replace"):
                symbol = ""
            uses[text][symbol].add((path, spot.start))
    symbols_by_name: dict[tuple[bytes, bytes], set[str]] = defaultdict(set)
    for symbol, entries in index.definitions.items():
        path, spot = entries[0]
        text = texts[path][spot.start : spot.end]
        if symbol.endswith(("().", "#")) and not symbol.startswith("local ") and text and not text.startswith(b"__"):
            symbols_by_name[path, text].add(_canonical(symbol))
    questions = sorted(symbols_by_name.items())
    random.Random(5).shuffle(questions)  # noqa: S311 - as above
    for (path, text), symbols in questions:
        truth = set().union(*(uses[text].get(symbol, set()) for symbol in symbols))
        document = project.document(path)
        if len(truth) < 3 or document is None:
            continue
        if limit <= 0:
            return
        limit -= 1
        began = time.process_time()
        search = References(SymbolQuery(document, text.decode()), bench.workspace())
        results = [row for rows in search.batches() for row in rows if row.document.project.key == project.key]
        took = time.process_time() - began
        judged = set().union(*(entries for symbol, entries in uses[text].items() if symbol))
        got = {(row.document.path, row.occurrence.start) for row in results}
        yield truth, judged, got, judged, took


def _canonical(symbol: str) -> str:
    """Return a symbol without package and version, which differ for what happens to be installed."""
    return symbol if symbol.startswith("local ") else symbol.split(" ", 4)[-1].replace("`src.", "`", 1)


def measure_speed(bench: Bench) -> None:
    """Print what tables cost beside parsing alone, and their size beside the source; as the index builds them."""
    gc.disable()
    for name in bench.names:
        repository = bench.by_short[name]
        with ObjectReader(repository) as reader:
            tree = reader.tree(repository.info.commit)
            texts = [
                reader.read(tree.blob_id(number)) or b""
                for number, path in enumerate(tree.paths)
                if path[-3:] == b".py"
            ]
        definitions("Python", b"x = 1\n")
        # The quickest of three turns: others on the machine can only make one slower.
        turns = [(_parsing(texts), *_tables(texts)) for _ in range(3)]
        parsing, tables = min(turn[0] for turn in turns), min(turn[1] for turn in turns)
        sections = turns[0][2]
        size, source = sum(array.nbytes for array in sections.values()), sum(map(len, texts))
        print(
            f"{name}: {source / 1e6:.1f} MB, parsing {parsing:.2f} s, tables {tables:.2f} s ({tables / parsing:.2f}x), "
            f"{100 * size / source:.1f} % of the source"
        )


def _parsing(texts: Sequence[bytes]) -> float:
    began = time.process_time()
    for text in texts:
        parse_tree("Python", text, time.monotonic() + 5)
    return time.process_time() - began


def _tables(texts: Sequence[bytes]) -> tuple[float, dict[str, Any]]:
    builder = TableBuilder()
    began = time.process_time()
    for number, text in enumerate(texts):
        builder.add(number.to_bytes(20, "big"), "Python", definitions("Python", text))
    sections = builder.sections()
    return time.process_time() - began, sections


def _print_times(label: str, times: list[float]) -> None:
    times.sort()
    if times:
        median, p90, last = (1e3 * times[int(len(times) * position)] for position in (0.5, 0.9, 0.999))
        print(f"{label}: median {median:.1f}, p90 {p90:.1f}, max {last:.1f}")


def main() -> None:
    """Run one of the measurements."""
    parser = argparse.ArgumentParser(description="Score navigation of Python.")
    parser.add_argument("what", choices=["truth", "definitions", "references", "speed", "all"])
    parser.add_argument("folder", type=Path, help="bare clones, a folder each, named by repository")
    parser.add_argument("work", type=Path, help="where truth and index are kept")
    parser.add_argument("--rows", type=int, default=1000, help="rows of truth in each set; symbols of each repository")
    options = parser.parse_args()
    options.work.mkdir(parents=True, exist_ok=True)
    bench = Bench(options.folder, options.work)
    if options.what in {"truth", "all"}:
        write_truth(bench, options.rows)
    if options.what in {"definitions", "all"}:
        score_definitions(bench)
    if options.what in {"references", "all"}:
        score_references(bench, min(options.rows, MAX_SYMBOLS))
    if options.what in {"speed", "all"}:
        measure_speed(bench)


if __name__ == "__main__":
    main()

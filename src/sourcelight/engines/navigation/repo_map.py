"""The repository map: the most important definitions of a repository, file by file."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from sourcelight.engines.navigation.documentation import LineTable, signature_of
from sourcelight.engines.navigation.graphs import imports_in
from sourcelight.engines.navigation.model import Document
from sourcelight.engines.navigation.named import outline_of, tables_of
from sourcelight.engines.navigation.ranking import is_test
from sourcelight.engines.symbols import Definition

if TYPE_CHECKING:
    from sourcelight.engines.navigation.model import Project
    from sourcelight.engines.navigation.workspace import Workspace

_CODE = frozenset({"function", "class", "struct", "interface", "enum", "method", "constructor", "module", "namespace"})
_MAX_LINE_CHARS = 160
# PageRank: rounds of the iteration, and the part of a file's weight that goes to the files that it imports.
_ROUNDS = 12
_DAMPING = 0.85


@dataclass(frozen=True, slots=True)
class MapLine:
    """A line of the map; `definition` is None for the line that names the file."""

    document: Document
    definition: Definition | None
    text: str
    score: float


def map_lines(project: Project, budget_lines: int, workspace: Workspace) -> list[MapLine]:
    """Choose at most `budget_lines` lines: files by how much others import them, definitions by kind and place.

    Files get a weight as pages do from links: a file counts more if imported files import it. A file's own public
    classes and functions come before its methods; tests come last.
    """
    weights = _weigh_files(project, workspace)
    ordered = sorted(weights, key=lambda number: (-weights[number], number))
    selected: dict[int, list[tuple[Definition, float]]] = {}
    remaining = budget_lines
    for number in ordered:
        # A file takes at least two lines: its path and one definition.
        if remaining < 2:
            break

        workspace.budget.check()
        document = project.document_at(number)
        rows = [definition for definition in outline_of(document, workspace) if definition.kind in _CODE]
        if not rows:
            continue

        share = max(3, int(budget_lines * weights[number] * 2))
        scored = sorted(
            ((definition, weights[number] * _weigh_definition(definition, rows)) for definition in rows),
            key=lambda pair: -pair[1],
        )[: min(share, remaining - 1)]
        selected[number] = scored
        remaining -= 1 + len(scored)

    lines: list[MapLine] = []
    for number in sorted(selected):
        document = project.document_at(number)
        text = LineTable(document.text)
        lines.append(MapLine(document=document, definition=None, text=document.shown_path, score=weights[number]))
        for definition, score in sorted(selected[number], key=lambda pair: pair[0].offset):
            signature = (
                signature_of(text.between(definition.line, definition.end_line), definition.kind) or definition.name
            )
            indent = "    " if definition.parent >= 0 or definition.container else "  "
            lines.append(MapLine(document, definition, indent + signature[:_MAX_LINE_CHARS], score))

    return lines


def _weigh_definition(definition: Definition, rows: list[Definition]) -> float:
    """Weigh a definition within its file: public ones, types and functions at the top, and long ones come first."""
    weight = 1.0 if definition.parent < 0 else 0.4
    if definition.kind in {"class", "struct", "interface", "enum"}:
        weight *= 1.5

    if definition.name.startswith("_"):
        weight *= 0.3

    if definition.declaration:
        weight *= 0.5

    member_count = sum(1 for other in rows if 0 <= other.parent < len(rows) and rows[other.parent] is definition)
    return float(weight * (1.0 + np.log1p(definition.end_line - definition.begin_line) / 10 + member_count / 50))


def _weigh_files(project: Project, workspace: Workspace) -> dict[int, float]:
    """Return the weight of each file from the imports among them; without imports, from definition counts."""
    targets: dict[int, Counter[int]] = defaultdict(Counter)
    for file_imports in imports_in(project, workspace):
        for file_import in file_imports:
            if file_import.target is not None and file_import.target.project.key == project.key:
                targets[file_import.document.number][file_import.target.number] += 1

    counts = _definition_counts(project, workspace)
    files = sorted({*counts, *targets, *(target for by_target in targets.values() for target in by_target)})
    if not files:
        return {}

    positions = {number: index for index, number in enumerate(files)}
    base = np.array([np.sqrt(1.0 + counts.get(number, 0)) for number in files])
    base[[index for index, number in enumerate(files) if is_test(project.paths[number])]] *= 0.05
    base /= base.sum()
    weight = base.copy()
    for _ in range(_ROUNDS):
        next_weight = (1 - _DAMPING) * base
        for number, by_target in targets.items():
            total = sum(by_target.values())
            for target, count in by_target.items():
                next_weight[positions[target]] += _DAMPING * weight[positions[number]] * count / total
        # Files that import nothing pass on no weight. It is spread over all files, so that the sum stays 1.
        next_weight += (1.0 - next_weight.sum()) * base
        weight = next_weight

    return {number: round(float(weight[index]), 6) for number, index in positions.items()}


def _definition_counts(project: Project, workspace: Workspace) -> dict[int, int]:
    snapshot = project.snapshot
    counts_by_file: dict[int, int] = {}
    if snapshot is None:
        return counts_by_file

    for shard, table in enumerate(tables_of(project, workspace)):
        if table is None:
            continue
        placement = snapshot.placement(shard)
        # Counts per document become counts per file: files of equal content share a document.
        counts = np.diff(table.doc_first.astype(np.int64))[placement.documents]
        nonzero = np.flatnonzero(counts)
        counts_by_file.update(zip(placement.files[nonzero].tolist(), counts[nonzero].tolist(), strict=True))

    return counts_by_file

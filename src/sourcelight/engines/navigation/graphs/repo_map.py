"""The repository map: the most important definitions of a repository, file by file.

A language model that reads it knows where to look. Files get a weight from the imports between them, as PageRank weighs
pages by their links; definitions get a weight within their file. Lines are chosen by both until a budget is used up.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from sourcelight.core.query.file_kinds import is_test
from sourcelight.engines.navigation.documentation import LineTable, signature_of
from sourcelight.engines.navigation.graphs.imports import imports_in
from sourcelight.engines.navigation.model import Document
from sourcelight.engines.navigation.named import outline_of, tables_of
from sourcelight.engines.symbols import Definition

if TYPE_CHECKING:
    from sourcelight.engines.navigation.model import Project
    from sourcelight.engines.navigation.workspace import Workspace

_KINDS = frozenset({"function", "class", "struct", "interface", "enum", "method", "constructor", "module", "namespace"})
"""Kinds of definitions in the map: no variables, which are many and say little."""

_MAX_LINE_CHARS = 160
"""Characters of the signature of a definition."""

_ROUNDS = 12
"""Rounds of PageRank. Each passes weights on by one more step of imports."""

_DAMPING = 0.85
"""Part of a file's weight that goes to the files that it imports, as in the paper of PageRank."""

_TEST_WEIGHT = 0.05
"""Weight of a test, compared with other files: tests come last."""


@dataclass(frozen=True, slots=True)
class MapLine:
    """A line of the map; `definition` is None for the line that names the file."""

    document: Document
    definition: Definition | None
    text: str
    score: float


@dataclass(frozen=True, slots=True)
class _WeightedDefinition:
    definition: Definition
    weight: float


def map_lines(project: Project, budget_lines: int, workspace: Workspace) -> list[MapLine]:
    """Choose at most `budget_lines` lines: files by how much others import them, definitions by kind and place.

    A file counts more if imported files import it. A file's own public classes and functions come before its methods;
    tests come last.
    """
    weights = _weigh_files(project, workspace)
    selected = _select_definitions(project, weights, budget_lines, workspace)
    lines: list[MapLine] = []
    for number in sorted(selected):
        document = project.document_at(number)
        text = LineTable(document.text)
        lines.append(MapLine(document=document, definition=None, text=document.shown_path, score=weights[number]))
        for weighted in sorted(selected[number], key=lambda weighted: weighted.definition.offset):
            line = _definition_line(weighted.definition, text)
            lines.append(MapLine(document, weighted.definition, line, weighted.weight))

    return lines


def _select_definitions(
    project: Project, weights: dict[int, float], budget_lines: int, workspace: Workspace
) -> dict[int, list[_WeightedDefinition]]:
    """Return the definitions to show of each file, the heaviest first, until the budget is used up."""
    selected: dict[int, list[_WeightedDefinition]] = {}
    remaining = budget_lines
    for number in sorted(weights, key=lambda number: (-weights[number], number)):
        # A file takes at least two lines: its path and one definition.
        if remaining < 2:
            break

        workspace.budget.check()
        weighted = _weigh_definitions(outline_of(project.document_at(number), workspace), weights[number])
        if not weighted:
            continue

        # Twice the share by weight, as most files need less than theirs; at least three, or a file says nothing.
        share = max(3, int(budget_lines * weights[number] * 2))
        selected[number] = weighted[: min(share, remaining - 1)]
        remaining -= 1 + len(selected[number])

    return selected


def _definition_line(definition: Definition, text: LineTable) -> str:
    """Return the signature of a definition, indented below its file, and a member below its class."""
    signature = signature_of(text.between(definition.line, definition.end_line), definition.kind)
    is_member = definition.parent >= 0 or bool(definition.container)
    indent = "    " if is_member else "  "
    return indent + (signature or definition.name)[:_MAX_LINE_CHARS]


def _weigh_definitions(outline: list[Definition], file_weight: float) -> list[_WeightedDefinition]:
    """Return the definitions of a file that a map can show, the heaviest first."""
    # Members that the map doesn't show, such as fields, don't count either.
    member_counts = Counter(definition.parent for definition in outline if definition.kind in _KINDS)
    weighted = [
        _WeightedDefinition(definition, file_weight * _weigh_definition(definition, member_counts[index]))
        for index, definition in enumerate(outline)
        if definition.kind in _KINDS
    ]
    return sorted(weighted, key=lambda weighted: -weighted.weight)


def _weigh_definition(definition: Definition, member_count: int) -> float:
    """Weigh a definition within its file: public ones, types and functions at the top, and long ones come first."""
    weight = 1.0 if definition.parent < 0 else 0.4
    if definition.kind in {"class", "struct", "interface", "enum"}:
        weight *= 1.5

    if definition.name.startswith("_"):
        weight *= 0.3

    if definition.declaration:
        weight *= 0.5

    return float(weight * (1.0 + np.log1p(definition.end_line - definition.begin_line) / 10 + member_count / 50))


def _weigh_files(project: Project, workspace: Workspace) -> dict[int, float]:
    """Return the weight of each file from the imports among them; without imports, from definition counts."""
    imports = _count_imports(project, workspace)
    counts = _definition_counts(project, workspace)
    files = {*counts, *imports}
    for targets in imports.values():
        files.update(targets)

    if not files:
        return {}

    position_of = {number: index for index, number in enumerate(sorted(files))}
    base = np.zeros(len(position_of))
    for number, index in position_of.items():
        base[index] = np.sqrt(1.0 + counts.get(number, 0))
        if is_test(project.paths[number].decode("utf-8", "replace")):
            base[index] *= _TEST_WEIGHT

    base /= base.sum()
    weights = base.copy()
    for _ in range(_ROUNDS):
        next_weights = (1 - _DAMPING) * base
        for number, targets in imports.items():
            total = sum(targets.values())
            for target, count in targets.items():
                next_weights[position_of[target]] += _DAMPING * weights[position_of[number]] * count / total

        # Files that import nothing pass on no weight. It is spread over all files, so that the sum stays 1.
        next_weights += (1.0 - next_weights.sum()) * base
        weights = next_weights

    return {number: round(float(weights[index]), 6) for number, index in position_of.items()}


def _count_imports(project: Project, workspace: Workspace) -> dict[int, Counter[int]]:
    """Return for each file that imports others how often it imports which, within the project."""
    counts: dict[int, Counter[int]] = defaultdict(Counter)
    for file_imports in imports_in(project, workspace):
        for file_import in file_imports:
            target = file_import.target
            if target is not None and target.project.key == project.key:
                counts[file_import.document.number][target.number] += 1

    return counts


def _definition_counts(project: Project, workspace: Workspace) -> dict[int, int]:
    """Return how many definitions each file has that has some, as far as tables of the index are built."""
    if project.snapshot is None:
        return {}

    counts_by_file: dict[int, int] = {}
    for shard, table in enumerate(tables_of(project, workspace)):
        if table is None:
            continue

        # Counts per document become counts per file: files of equal content share a document.
        placement = project.snapshot.placement(shard)
        counts = np.diff(table.doc_first.astype(np.int64))[placement.documents]
        nonzero = np.flatnonzero(counts)
        counts_by_file.update(zip(placement.files[nonzero].tolist(), counts[nonzero].tolist(), strict=True))

    return counts_by_file

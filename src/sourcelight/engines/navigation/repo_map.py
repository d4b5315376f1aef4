"""A repository on a page: the definitions that matter most, in the order of their files."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from sourcelight.engines.navigation.definitions import is_test
from sourcelight.engines.navigation.graphs import imports_in
from sourcelight.engines.navigation.locations import LineTable, signature_of
from sourcelight.engines.navigation.model import Document
from sourcelight.engines.navigation.named import outline_of, tables_of
from sourcelight.engines.symbols import Definition

if TYPE_CHECKING:
    from sourcelight.engines.navigation.model import Project
    from sourcelight.engines.navigation.workspace import Workspace

_CODE = frozenset({"function", "class", "struct", "interface", "enum", "method", "constructor", "module", "namespace"})
_LONGEST = 160
_ROUNDS = 12
_DAMPING = 0.85


@dataclass(frozen=True, slots=True)
class MapLine:
    """A line of the map; `one` is None for the line that names the file."""

    document: Document
    one: Definition | None
    text: str
    score: float


def map_lines(project: Project, budget_lines: int, workspace: Workspace) -> list[MapLine]:
    """Choose at most `budget_lines` lines: files by how much others import them, definitions by kind and place.

    Files get a weight as pages do from links: what is imported by files that are imported. A file's own public classes
    and functions come before its methods; tests come last.
    """
    weights = _file_weights(project, workspace)
    ordered = sorted(weights, key=lambda number: (-weights[number], number))
    chosen: dict[int, list[tuple[Definition, float]]] = {}
    left = budget_lines
    for number in ordered:
        if left < 2:
            break
        workspace.budget.check()
        document = project.document_at(number)
        rows = [one for one in outline_of(document, workspace) if one.kind in _CODE]
        if not rows:
            continue
        share = max(3, int(budget_lines * weights[number] * 2))
        scored = sorted(((one, weights[number] * _importance(one, rows)) for one in rows), key=lambda pair: -pair[1])[
            : min(share, left - 1)
        ]
        chosen[number] = scored
        left -= 1 + len(scored)
    lines: list[MapLine] = []
    for number in sorted(chosen):
        document = project.document_at(number)
        text = LineTable(document.text)
        lines.append(MapLine(document, None, document.shown_path, weights[number]))
        for one, score in sorted(chosen[number], key=lambda pair: pair[0].offset):
            signature = signature_of(text.between(one.line, one.end_line), one.kind) or one.name
            indent = "    " if one.parent >= 0 or one.container else "  "
            lines.append(MapLine(document, one, indent + signature[:_LONGEST], score))
    return lines


def _importance(one: Definition, rows: list[Definition]) -> float:
    """Weigh a definition within its file: public ones, types and functions at the top, and long ones come first."""
    weight = 1.0 if one.parent < 0 else 0.4
    if one.kind in {"class", "struct", "interface", "enum"}:
        weight *= 1.5
    if one.name.startswith("_"):
        weight *= 0.3
    if one.declaration:
        weight *= 0.5
    held = sum(1 for other in rows if 0 <= other.parent < len(rows) and rows[other.parent] is one)
    return float(weight * (1.0 + np.log1p(one.end_line - one.begin_line) / 10 + held / 50))


def _file_weights(project: Project, workspace: Workspace) -> dict[int, float]:
    """Weigh files by the imports among them; without any known import, by how many definitions they have."""
    targets: dict[int, Counter[int]] = defaultdict(Counter)
    for found in imports_in(project, workspace):
        for one in found:
            if one.target is not None and one.target.project.key == project.key:
                targets[one.document.number][one.target.number] += 1
    counts = _definition_counts(project, workspace)
    files = sorted({*counts, *targets, *(to for held in targets.values() for to in held)})
    if not files:
        return {}
    place = {number: at for at, number in enumerate(files)}
    base = np.array([np.sqrt(1.0 + counts.get(number, 0)) for number in files])
    base[[at for at, number in enumerate(files) if is_test(project.paths[number])]] *= 0.05
    base /= base.sum()
    weight = base.copy()
    for _ in range(_ROUNDS):
        following = (1 - _DAMPING) * base
        for number, held in targets.items():
            total = sum(held.values())
            for to, count in held.items():
                following[place[to]] += _DAMPING * weight[place[number]] * count / total
        following += (1.0 - following.sum()) * base
        weight = following
    return {number: round(float(weight[at]), 6) for number, at in place.items()}


def _definition_counts(project: Project, workspace: Workspace) -> dict[int, int]:
    snapshot = project.snapshot
    found: dict[int, int] = {}
    if snapshot is None:
        return found
    for shard, table in enumerate(tables_of(project, workspace)):
        if table is None:
            continue
        placement = snapshot.placement(shard)
        counts = np.diff(table.doc_first.astype(np.int64))[placement.documents]
        held = np.flatnonzero(counts)
        found.update(zip(placement.files[held].tolist(), counts[held].tolist(), strict=True))
    return found

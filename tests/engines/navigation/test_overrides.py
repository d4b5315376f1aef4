"""Members of TypeScript that implement or override each other are found together, as its language service has it."""

from __future__ import annotations

from typing import Any

import pytest

from engines.navigation.sample import call, open_engine, rows
from sourcelight.engines.execution import LocalEngine
from sourcelight.testing import make_repo

FILES = {
    "base.ts": "export interface Feature { start(): void }\nexport interface More extends Feature { stop(): void }\n"
    "export abstract class Base<T> implements More {\n  abstract start(): void\n  stop() {}\n  static start() {}\n}\n",
    "one.ts": "import { Base } from './base'\nexport class One extends Base<string> {\n  start() {}\n}\n",
    "two.ts": "import { Base } from './base'\n"
    "export class Two extends Base<number> {\n  start() { new Two().stop() }\n}\n",
    "alone.ts": "export class Alone {\n  start() {}\n}\n",
    "use.ts": "import { Feature, Base } from './base'\nimport { One } from './one'\nimport { Alone } from './alone'\n"
    "export function run(feature: Feature, one: One, alone: Alone) {\n"
    "  feature.start()\n  one.start()\n  alone.start()\n  Base.start()\n}\n",
    "round.ts": "export class A extends B { turn() {} }\nexport class B extends A { turn() {} }\n",
}


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> LocalEngine:
    """One repository."""
    folder = tmp_path_factory.mktemp("overrides")
    make_repo(folder / "code" / "app", FILES)
    engine = open_engine(folder)
    engine.store.update_symbols([engine.target_of(repository) for repository in engine.catalog.repositories])
    return engine


def locations(engine: LocalEngine, path: str, symbol: str, line: int | None = None) -> set[tuple[str, int, str]]:
    """Where something is used, with the role."""
    extra: dict[str, Any] = {} if line is None else {"line": line}
    result = rows(call(engine, "find_references", repo="app", path=path, symbol=symbol, **extra))
    return {(row["path"], row["line_number"], row["role"]) for row in result}


def test_uses_of_what_a_method_overrides_are_its_own(engine: LocalEngine) -> None:
    assert locations(engine, "one.ts", "start") == {
        ("one.ts", 3, "definition"), ("two.ts", 3, "name"), ("base.ts", 1, "name"), ("base.ts", 4, "name"),
        ("use.ts", 5, "call"), ("use.ts", 6, "call"),
    }  # fmt: skip


def test_the_top_has_the_uses_of_all_below(engine: LocalEngine) -> None:
    result = locations(engine, "base.ts", "start", line=1)
    assert result >= {("one.ts", 3, "name"), ("two.ts", 3, "name"), ("use.ts", 5, "call"), ("use.ts", 6, "call")}
    assert not {path for path, *_ in result} & {"alone.ts"}


def test_what_is_alone_stays_alone(engine: LocalEngine) -> None:
    assert locations(engine, "alone.ts", "start") == {("alone.ts", 2, "definition"), ("use.ts", 7, "call")}


def test_static_members_are_no_part_of_it(engine: LocalEngine) -> None:
    assert locations(engine, "base.ts", "start", line=6) == {("base.ts", 6, "definition"), ("use.ts", 8, "call")}


def test_the_reason_says_so(engine: LocalEngine) -> None:
    result = rows(call(engine, "find_references", repo="app", path="one.ts", symbol="start"))
    reasons = {(row["path"], row["line_number"]): row["reason"] for row in result}
    assert reasons["two.ts", 3] == reasons["use.ts", 5] == "implements or overrides the same member"
    assert reasons["use.ts", 6] == "type of the object"


def test_classes_that_extend_each_other_come_to_an_end(engine: LocalEngine) -> None:
    assert locations(engine, "round.ts", "turn") == {("round.ts", 1, "definition"), ("round.ts", 2, "definition")}

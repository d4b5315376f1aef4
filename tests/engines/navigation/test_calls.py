"""Callers and callees are what go/types and TypeScript's call hierarchy call a call."""

from __future__ import annotations

import pytest

from engines.navigation.sample import call, open_engine, rows
from sourcelight.engines.execution import LocalEngine
from sourcelight.testing import make_repo

GO = {
    "go.mod": "module example.com/calls\n\ngo 1.22\n",
    "calls.go": """package calls

type Count int

type Box[T any] struct{ value T }

func (b *Box[T]) Get() T { return b.value }

func Wrap[T any](value T) *Box[T] { return &Box[T]{value} }

func Pair[K, V any](key K, value V) K { return key }

func plain() int { return 1 }

func all() {
	Wrap[int](plain()).Get()
	box, _ := Wrap[string]("x"), 1
	box.Get()
	Pair[string, int]("x", 1)
	(plain)()
	_ = Count(plain())
	table := map[string]func(){}
	table["x"]()
	go func() { plain() }()
}
""",
}
TYPESCRIPT = {
    "package.json": '{"name": "calls"}',
    "calls.tsx": """import * as parts from './parts'

export function plain(): number { return 1 }
export function Button(props: { label: string }) { return <b>{props.label}</b> }
function tag(text: TemplateStringsArray): string { return text[0] }
function sealed(target: unknown): void {}

@sealed
export class Panel {
  handle = () => plain()
  render() {
    tag`x`;
    (plain as any)();
    plain!()
    this.handle()
    return <div><Button label="x" /><parts.Row>{(plain satisfies Function)()}</parts.Row></div>
  }
}
""",
    "parts.tsx": """export function Row(props: object) { return <i /> }
function pick(from: string): string
function pick(from: number): number
function pick(from: unknown): unknown { return from }
export class Cache { flush(): void {} }
export function read(file: unknown): string { file.flush(); return pick('x') }
""",
}


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> LocalEngine:
    """Return an engine over a repository of each language."""
    folder = tmp_path_factory.mktemp("calls")
    make_repo(folder / "code" / "go", GO)
    make_repo(folder / "code" / "ts", TYPESCRIPT)
    engine = open_engine(folder)
    engine.store.update_symbols([engine.target_of(repository) for repository in engine.catalog.repositories])
    return engine


def _callees(engine: LocalEngine, repo: str, path: str, symbol: str) -> list[tuple[int, str]]:
    result = rows(call(engine, "callees", repo=repo, path=path, symbol=symbol))
    return [(row["line_number"], row["callee"]) for row in result]


def _callers(engine: LocalEngine, repo: str, path: str, symbol: str) -> list[tuple[int, str]]:
    result = rows(call(engine, "callers", repo=repo, path=path, symbol=symbol))
    return sorted((row["line_number"], row["caller"]) for row in result)


def test_callees_of_go_have_generic_functions_and_no_conversions(engine: LocalEngine) -> None:
    """Type arguments, parentheses and literals around a call hide nothing; the conversion to a type is no call."""
    assert _callees(engine, "go", "calls.go", "all") == [
        (16, "Wrap"), (16, "plain"), (16, "Get"), (17, "Wrap"), (18, "Get"), (19, "Pair"), (20, "plain"), (21, "plain"),
        (23, "table"), (24, "plain"),
    ]  # fmt: skip


def test_callers_of_go_have_calls_with_type_arguments(engine: LocalEngine) -> None:
    """The grammar calls these conversions."""
    assert _callers(engine, "go", "calls.go", "Wrap") == [(16, "all"), (17, "all")]
    assert _callers(engine, "go", "calls.go", "Get") == [(16, "all"), (18, "all")]
    assert _callers(engine, "go", "calls.go", "plain") == [(16, "all"), (20, "all"), (21, "all"), (24, "all")]


def test_calls_of_typescript_are_elements_templates_and_decorators_too(engine: LocalEngine) -> None:
    """As in the call hierarchy of an editor; elements of the platform are no calls."""
    assert _callees(engine, "ts", "calls.tsx", "render") == [
        (12, "tag"), (13, "plain"), (14, "plain"), (15, "handle"), (16, "Button"), (16, "Row"), (16, "plain"),
    ]  # fmt: skip
    assert _callers(engine, "ts", "calls.tsx", "Button") == [(16, "render")]
    assert _callers(engine, "ts", "parts.tsx", "Row") == [(16, "render")]
    assert _callers(engine, "ts", "calls.tsx", "sealed") == [(8, "")]


def test_an_overload_leads_to_the_function_with_the_body(engine: LocalEngine) -> None:
    """And a method of a library that has the name of one here is no callee, but counted as left out."""
    answer = call(engine, "callees", repo="ts", path="parts.tsx", symbol="read")
    assert [(row["callee"], row["callee_line"]) for row in rows(answer)] == [("pick", 4)]
    assert any("1 further place left out" in str(notice) for notice in answer.notices)

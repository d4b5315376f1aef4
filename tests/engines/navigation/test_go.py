"""Names of Go files lead to what go/types says they mean; § marks the name in each line."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import pytest

from engines.navigation.marked import Marked, offset
from sourcelight.engines.navigation import ResolvedDefinition
from sourcelight.engines.navigation.languages import resolver_of
from sourcelight.engines.navigation.languages.go import GoLanguage
from sourcelight.engines.navigation.languages.go.packages import is_built

SERVER = {
    "go.mod": "module example.com/server\n\ngo 1.22\n",
    "main.go": """package main

import (
	"fmt"

	"example.com/server/store"
	ids "example.com/library/v2/ids"
	. "example.com/library/v2"
)

type handler struct {
	*store.Store
	name, title string
	seen        map[ids.ID][]entry
}

type entry struct{ when int }

type reader interface {
	Read(p []byte) (n int, err error)
}

var limit, rest = 10, "x"

func (h *handler) serve(name string) (count int, err error) {
	h.seen[1] = append(h.seen[1], entry{when: limit})
	for id, held := range h.seen {
		fmt.Println(id, held[0].when)
	}
	value, err := h.Load(name)
	if value, err := h.Load(h.title); err == nil {
		return value.Size, nil
	}
	switch found := any(value).(type) {
	case *store.Item:
		return found.Size, err
	}
	last := Last([]entry{{when: 1}})
	_ = last.when
	grouped := store.List[entry]{Items: []entry{{when: 2}}}
	_ = grouped.First().when
	func(count string) { _ = count }("")
outer:
	for {
		break outer
	}
	return count, platform()
}
""",
    "platform_linux.go": "package main\n\nfunc platform() error { return nil }\n",
    "platform_windows.go": "package main\n\nfunc platform() error { return nil }\n",
    "main_test.go": "package main\n\nvar limit2 = limit\n\nfunc helper() {}\n",
    "store/store.go": """// Package store keeps items.
package store

type Store struct{ base }

type base struct{ items map[string]*Item }

type Item struct{ Size int }

func (b *base) Load(name string) (*Item, error) { return b.items[name], nil }

type List[T any] struct{ Items []T }

func (l List[E]) First() E { return l.Items[0] }
""",
}
LIBRARY = {
    "go.mod": "module example.com/library/v2\n",
    "last.go": "package library\n\nfunc Last[T any](items []T) T { return items[len(items)-1] }\n",
    "ids/ids.go": "package ids\n\ntype ID int\n",
}
CLAIMS = [
    ("return §count, platform()", "main.go", "(§count int, err error)", "scope"),
    ("_ = §count }", "main.go", "func(§count string)", "scope"),
    ("value, §err := h.Load(name)", "main.go", "(count int, §err error)", "scope"),
    ("if §value, err := h.Load", "main.go", "if §value, err", "scope"),
    ("return §value.Size", "main.go", "if §value, err", "scope"),
    ("any(§value)", "main.go", "\t§value, err := h.Load(name)", "scope"),
    ("return §found.Size", "main.go", "switch §found :=", "scope"),
    ("found.§Size, err", "store/store.go", "Item struct{ §Size int }", "type"),
    ("return value.§Size", "store/store.go", "Item struct{ §Size int }", "type"),
    ("h.§Load(name)", "store/store.go", "(b *base) §Load", "type"),
    ("h.§seen[1] = ", "main.go", "\t§seen        map", "type"),
    ("range h.§seen", "main.go", "\t§seen        map", "type"),
    ("held[0].§when", "main.go", "struct{ §when int }", "type"),
    ("entry{§when: limit}", "main.go", "struct{ §when int }", "type"),
    ("when: §limit}", "main.go", "var §limit, rest", "scope"),
    ("[]entry{{§when: 1}}", "main.go", "struct{ §when int }", "type"),
    ("last.§when", "main.go", "struct{ §when int }", "type"),
    ("First().§when", "main.go", "struct{ §when int }", "type"),
    ("grouped.§First", "store/store.go", ") §First() E", "type"),
    ("store.List[entry]{§Items", "store/store.go", "struct{ §Items []T }", "type"),
    ("*store.§Item:", "store/store.go", "type §Item struct", "import"),
    ("§platform()", "platform_linux.go", "func §platform", "scope"),
    ("break §outer", "main.go", "§outer:", "scope"),
    ("h.§title", "main.go", "name, §title string", "type"),
    ("map[ids.§ID]", "ids/ids.go", "type §ID int", "import"),
    ("last := §Last", "last.go", "func §Last", "scope"),
]


@pytest.fixture(scope="module")
def marked_text(tmp_path_factory: pytest.TempPathFactory) -> Marked:
    """Two modules in two repositories."""
    return Marked(tmp_path_factory.mktemp("go"), {"server": SERVER, "library": LIBRARY})


@pytest.fixture(scope="module")
def ask(marked_text: Marked) -> Callable[[str, str], list[ResolvedDefinition]]:
    """Definitions of the marked name in a file of the server."""
    return partial(marked_text.ask, "server")


@pytest.mark.parametrize(("use", "path", "definition", "method"), CLAIMS, ids=[c[0].strip() for c in CLAIMS])
def test_a_name_leads_to_its_definition(
    ask: Callable[[str, str], list[ResolvedDefinition]], use: str, path: str, definition: str, method: str
) -> None:
    answer = ask("main.go", use)[0]
    assert answer.document.shown_path == path
    assert answer.start == offset(answer.document.text, definition)
    assert answer.rule == method


def test_a_package_leads_to_its_files(ask: Callable[[str, str], list[ResolvedDefinition]]) -> None:
    answer = ask("main.go", "*§store.Store")[0]
    assert (answer.document.shown_path, answer.kind, answer.rule) == ("store/store.go", "module", "import")


def test_a_package_that_is_nowhere_is_its_import_and_says_so(
    ask: Callable[[str, str], list[ResolvedDefinition]],
) -> None:
    answer = ask("main.go", "§fmt.Println")[0]
    assert answer.document.shown_path == "main.go"
    assert "fmt, which is in no repository here" in answer.reason


def test_a_member_of_a_package_that_is_nowhere_has_no_definition(
    ask: Callable[[str, str], list[ResolvedDefinition]],
) -> None:
    assert ask("main.go", "fmt.§Println") == []


def test_tests_see_the_package_and_not_the_other_way_round(ask: Callable[[str, str], list[ResolvedDefinition]]) -> None:
    assert ask("main_test.go", "= §limit")[0].document.shown_path == "main.go"


def test_a_function_for_another_system_is_the_same(
    marked_text: Marked, ask: Callable[[str, str], list[ResolvedDefinition]]
) -> None:
    answer = ask("main.go", "§platform()")[0]
    resolver = resolver_of("Go")
    assert resolver is not None
    locations = [other.document.shown_path for other in resolver.bindings(answer, marked_text.workspace)]
    assert locations == ["platform_linux.go", "platform_windows.go"]


def test_other_repositories_can_import_modules_by_their_path(marked_text: Marked) -> None:
    project = marked_text.workspace.project("library")
    assert GoLanguage().exports(project) == {"example.com/library/v2": b""}
    document = project.document(b"ids/ids.go")
    assert document is not None
    assert GoLanguage().module_names(document) == ("example.com/library/v2/ids",)


@pytest.mark.parametrize(
    ("path", "head", "expected"),
    [
        (b"a/x_windows.go", b"", False),
        (b"a/x_linux_amd64_test.go", b"", True),
        (b"a/x_linux_arm64.go", b"", False),
        (b"a/windows.go", b"", True),
        (b"a/x.go", b"//go:build !windows && (amd64 || arm64)\n", True),
        (b"a/x.go", b"//go:build ignore || darwin\n", False),
        (b"a/x.go", b"//go:build go1.21\n", True),
        (b"a/x.go", b"//go:build ((((\n", False),
    ],
)
def test_files_that_linux_builds_are_known_by_name_and_constraint(path: bytes, head: bytes, *, expected: bool) -> None:
    assert is_built(path, head) is expected

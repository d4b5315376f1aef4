"""However a definition was found, what is one with it is found with it, and says the same of how."""

from __future__ import annotations

from typing import get_args

import pytest

from engines.navigation.marked import Marked
from sourcelight.engines.navigation.languages import resolver_of
from sourcelight.engines.navigation.model import ResolutionRule

FILES = {
    "a.py": "def §f(): ...\ndef f(): ...\n",
    "a.ts": "export function §f(a: string): void\nexport function f(a: number): void\nexport function f(a: any) {}\n",
    "a.go": "//go:build linux\n\npackage p\n\nfunc §f() {}\n",
    "b.go": "//go:build windows\n\npackage p\n\nfunc f() {}\n",
    "a.h": "int §f(int x);\n",
    "a.c": '#include "a.h"\nint f(int x) { return x; }\n',
}


@pytest.fixture(scope="module")
def marked_text(tmp_path_factory: pytest.TempPathFactory) -> Marked:
    """One repository."""
    return Marked(tmp_path_factory.mktemp("same"), {"r": {path: text.replace("§", "") for path, text in FILES.items()}})


@pytest.mark.parametrize("method", get_args(ResolutionRule))
@pytest.mark.parametrize("path", ["a.py", "a.ts", "a.go", "a.h"])
def test_what_is_one_with_a_definition_was_found_as_it_was(
    marked_text: Marked, path: str, method: ResolutionRule
) -> None:
    answer = marked_text.ask("r", path, FILES[path].splitlines()[-1 if path == "a.go" else 0])[0].resolve_by(
        method, "why"
    )
    resolver = resolver_of(answer.document.language)
    assert resolver is not None
    same = resolver.bindings(answer, marked_text.workspace)
    assert len(same) == (3 if path == "a.ts" else 2)
    assert answer in same
    assert {(item.rule, item.reason) for item in same} == {(method, "why")}

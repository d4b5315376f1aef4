"""Every sentence that is stated as a fact has a row in the table of claims, and no other one is stated."""

from __future__ import annotations

import ast
import time
from pathlib import Path

import pytest

from sourcelight.engines import deepsearch
from sourcelight.engines.deepsearch.evidence.claims import CLAIMS, UNREAD, claim_of, is_proven, numbers_of
from sourcelight.engines.deepsearch.evidence.model import FileEvidence, Finding, Statement

_FOLDER = Path(deepsearch.__file__).parent
_MODULES = [
    path for room in ("analyses", "facts", "lookups", "passages") for path in sorted((_FOLDER / room).rglob("*.py"))
]
_MAKERS = {maker for claim in CLAIMS for maker in claim.made_by}


def _functions(path: Path) -> dict[str, ast.FunctionDef]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}


def _makes_sentences(function: ast.FunctionDef) -> bool:
    """Return whether a function makes a finding or a fact, or sets the sentence of one."""
    for node in ast.walk(function):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in {"Finding", "Fact"}:
            return True
        targets = (
            node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AugAssign) else []
        )
        if any(isinstance(target, ast.Attribute) and target.attr in {"headline", "subject"} for target in targets):
            return True
    return False


@pytest.mark.parametrize("path", _MODULES, ids=lambda path: path.stem)
def test_every_function_that_makes_sentences_has_a_claim(path: Path) -> None:
    makers = {f"{path.stem}.{name}" for name, function in _functions(path).items() if _makes_sentences(function)}
    assert sorted(makers - _MAKERS) == []


def test_claims_name_functions_that_exist() -> None:
    names = {f"{path.stem}.{name}" for path in _MODULES for name in _functions(path)}
    assert sorted(_MAKERS - names) == []


def test_the_page_has_every_form() -> None:
    """`scripts/docs --check` compares the whole table; this needs no run of it."""
    page = (Path(__file__).parents[3] / "docs/design/deepsearch.md").read_text(encoding="utf-8")
    assert [form for claim in CLAIMS for form in claim.forms if form not in page] == []


def _line(text: str) -> FileEvidence:
    return FileEvidence("mill", "0" * 40, "src/mill.go", 1, 1, text)


@pytest.mark.parametrize(
    ("sentence", "proof", "is_stated"),
    [
        ("`Grind` is defined in `src/mill.go`, line 1, as a function", "func Grind() {}", True),
        ("`Grind` is defined in `src/mill.go`, line 1", "func Crush() {}", False),
        ("`Grind` is the best function", "func Grind() {}", False),
        ("Nothing calls `Grind`", "func Grind() {}", False),
        ("`Grind` is never used", "func Grind() {}", False),
        (f"{UNREAD}`Grind` is called by `Run` (1 call in 1 file)", "\tGrind()", True),
        ("`Grind` is called by `Run` (2 calls in 1 file)", "\tGrind()", False),
    ],
)
def test_a_sentence_needs_a_known_form_and_its_proof(sentence: str, proof: str, is_stated: bool) -> None:  # noqa: FBT001
    finding = Finding(Statement(sentence, (_line(proof),)), "definition", recounts=frozenset({1}))
    assert is_proven(finding) == is_stated


@pytest.mark.parametrize(
    ("sentence", "numbers"),
    [
        ("`Grind` is called by `Run2` (2 calls in 1 file)", {2, 1}),
        (
            "Line 1,200 of `src/mill.go` was last changed by Ada 3 on 2020-01-02 in “Use 4 stones”, 1234567 of `mill`",
            set(),
        ),
        ("`limit` is set to `12`, in `src/mill.go`, line 30", set()),
        ("1,200 lines of 3 test files have the name `Grind`, such as in `a_test.go`", {1_200, 3}),
        (f"`Grind` is called by `Run` ({'9' * 5_000} calls in 1 file)", {-1, 1}),
    ],
)
def test_numbers_that_count_are_told_from_others(sentence: str, numbers: set[int]) -> None:
    assert numbers_of(sentence) == numbers


@pytest.mark.parametrize("text", ["by x " * 40_000, "` " * 20_000 + "``" * 20_000, "9" * 100_000])
def test_a_sentence_of_any_length_is_refused_at_once(text: str) -> None:
    start_s = time.process_time()
    finding = Finding(Statement(f"`Grind` is defined in {text}", (_line("func Grind"),)), "definition")
    assert not is_proven(finding)
    assert time.process_time() - start_s < 1


def test_what_is_nowhere_needs_a_whole_search() -> None:
    text = "No searched file has `gears`: no line and no path of `mill` contains it"
    finding = Finding(Statement(text), "absence", queries=["gears"], is_negative=True)
    assert is_proven(finding)
    finding.notes.append("src/large.go was not read")
    assert not is_proven(finding)


def test_a_number_needs_a_form_too() -> None:
    assert claim_of("**12** files contain `gears`", ("count",)) is not None
    assert claim_of("12 files contain `gears`", ("count",)) is None

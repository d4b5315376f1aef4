"""Enums that a question describes in words, and what no words of it name."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from engines.deepsearch.asking import lead_of
from sourcelight.backends.embedded import open_engine
from sourcelight.engines.deepsearch.question.lookups.member_wording import read_member_question
from sourcelight.engines.execution import LocalEngine
from sourcelight.testing import RepositoryBuilder

FILES: dict[str | bytes, str | bytes | None] = {
    "src/corn.rs": (
        "pub(crate) enum GrindKey {\n    Fine,\n    Coarse,\n}\n\npub(in crate::mill) enum Sieve { Wide, Narrow }\n"
    ),
    "src/wheel/state.rs": "pub enum State {\n    Still,\n    Turning,\n}\n",
    "Sources/Stone.swift": (
        "#if os(macOS)\nenum StoneKind {\n    case hard\n}\n"
        "#else\nenum StoneKind {\n    case hard\n    case soft\n}\n#endif\n"
    ),
    "lib/grain.py": "import enum\n\n\nclass FlourGrades(enum.Enum):\n    WHITE = 1\n    DARK = 2\n",
    "Sluice/Sluice.m": (
        "#import <Foundation/Foundation.h>\n\ntypedef NS_ENUM(NSInteger, WMSluiceStatus) {\n    WMSluiceOpen = 1,\n"
        "    WMSluiceShut,\n};\n"
    ),
    "tests/levels.rs": "enum WaterLevel {\n    Low,\n}\n",
    "src/Belt.java": "class Belt {\n  enum Mode { SLOW, FAST }\n}\nclass Strap {\n}\n",
    "lib/Mill/Log.hs": "module Mill.Log where\n\ndata Verbosity\n  = Quiet\n  | Loud\n",
}


@pytest.fixture(scope="module")
def mill(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalEngine]:
    root = tmp_path_factory.mktemp("members")
    RepositoryBuilder(root / "mill").commit(FILES)
    engine = open_engine([root], index=root / "index", workers=1)
    yield engine
    engine.close()


@pytest.mark.parametrize(
    ("question", "sentence"),
    [
        ("Which grind keys are supported?", "The body of `GrindKey` lists 2 members: `Fine` and `Coarse` in"),
        ("What are the members of Sieve?", "The body of `Sieve` lists 2 members: `Wide` and `Narrow` in"),
        ("Which states can the wheel have?", "The body of `State` lists 2 members: `Still` and `Turning` in"),
        ("What wheel states exist?", "The body of `State` lists 2 members: `Still` and `Turning` in"),
        (
            "What kinds of stones are there?",
            "The body of `StoneKind` lists 1 member: `hard` in `Sources/Stone.swift`, line 2; 2 members: `hard` and",
        ),
        ("Which stone options are there?", "The body of `StoneKind` lists 1 member: `hard` in"),
        ("Which verbosity levels are there?", "The body of `Verbosity` lists 2 members: `Quiet` and `Loud` in"),
        ("Which mode types does the Belt have?", "The body of `Mode` lists 2 members: `SLOW` and `FAST` in"),
        ("Which sluice statuses are there?", "The body of `WMSluiceStatus` lists 2 members: `WMSluiceOpen` and"),
        ("What are the values of WMSluiceStatus?", "The body of `WMSluiceStatus` lists 2 members: `WMSluiceOpen` and"),
        ("List the flour grades", "The body of `FlourGrades` lists 2 members: `WHITE` and `DARK` in"),
    ],
)
def test_an_enum_is_named_by_words(mill: LocalEngine, question: str, sentence: str) -> None:
    assert lead_of(mill, question).startswith(sentence)


@pytest.mark.parametrize(
    "question",
    ["Which water levels are there?", "Which states can the stone have?", "Which corn keys are there?"],
)
def test_other_enums_are_not_stated(mill: LocalEngine, question: str) -> None:
    assert "The body of" not in lead_of(mill, question)


@pytest.mark.parametrize(
    "text",
    [
        "Which packages are supported", "What languages are supported", "Which tests are there", "What is a grind key",
        "Which keys does it use up", "Which options are there", "List the contributors", "Which log files are there",
    ],
)  # fmt: skip
def test_questions_for_other_things_name_no_enum(text: str) -> None:
    assert read_member_question(text) is None

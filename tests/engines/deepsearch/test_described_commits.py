"""Commits that a question describes in its own words: stated only if the subject says so by itself."""

from __future__ import annotations

import pytest

from engines.deepsearch.asking import engine_of_subjects, research
from sourcelight.engines.execution import LocalEngine

SUBJECTS = (
    ("Start the mill", "Ada <ada@mill.example>"),
    ("Add tests for the flour chart", "Bob <bob@mill.example>"),
    ("[charts/flour] Initial flour chart (#12)", "Cyd <cyd@mill.example>"),
    ("Add flour chart to README", "Bob <bob@mill.example>"),
    ("feat(grain): expose numThreads in newSettings (#31)", "Dee <dee@mill.example>"),
    ("Make setHeader public", "Eve <eve@mill.example>"),
    ("Add a -q flag to the grind command", "Fay <fay@mill.example>"),
    ("Introduce path display option", "Gil <gil@mill.example>"),
    ("Migrate from gravel to pebble", "Hal <hal@mill.example>"),
    ("Replace barley with oats", "Ida <ida@mill.example>"),
    ("Add sieve cache support", "Jo <jo@mill.example>"),
    ('Revert "Add sieve cache support"', "Kim <kim@mill.example>"),
    ("Don't remove the husk filter", "Lea <lea@mill.example>"),
    ("Add wheel guard", "Max <max@mill.example>"),
    ("Add wheel guard for rivers", "Ned <ned@mill.example>"),
    ("Add #chaff", "Oda <oda@mill.example>"),
    ("feat(gate): add river support (#40)", "Pia <pia@mill.example>"),
    ("fixed #chaff, broken in 1.1.4", "Quy <quy@mill.example>"),
    ("Fix #52 - add spin command (#53)", "Ray <ray@mill.example>"),
    ("feat: add new `--dusty` / `-d` flag (#54)", "Sol <sol@mill.example>"),
    ("Use StoneRunner in place of WheelRunner (#55)", "Tia <tia@mill.example>"),
    ("Switch from MudRunner to hand work", "Uma <uma@mill.example>"),
    ("Add bran cache", "Vic <vic@mill.example>"),
    ("Bump stones/sieve from 1 to 4 (#60)", "Wyn <wyn@mill.example>"),
    ("Bump stones/sieve from 4 to 5 (#61)", "Xia <xia@mill.example>"),
    ("Bump version: 1.0.1 → 1.1.0", "Zoe <zoe@mill.example>"),
    ("Bump version: 1.1.0 → 1.1.1", "Abe <abe@mill.example>"),
    ("Add simple built-in support for eels", "Bea <bea@mill.example>"),
    ("raise MSRV to 1.85", "Cal <cal@mill.example>"),
    ("Fix an issue with open_gate/4 return values", "Yul <yul@mill.example>"),
)


@pytest.fixture(scope="module")
def mill(tmp_path_factory: pytest.TempPathFactory) -> LocalEngine:
    return engine_of_subjects(tmp_path_factory.mktemp("mill"), SUBJECTS)


@pytest.mark.parametrize(
    ("question", "start"),
    [
        ("Who added the flour chart, and when?", "The commit “[charts/flour] Initial flour chart (#12)” is by Cyd on "),
        ("When was the flour chart introduced, and who did it?", "The commit “[charts/flour] Initial flour chart"),
        ("Which commit exposed numThreads in newSettings?", "The commit “feat(grain): expose numThreads in newSet"),
        ("Who made setHeader public, and when?", "The commit “Make setHeader public” is by Eve on "),
        ("Which commit added the -q flag, and when was it written?", "The commit “Add a -q flag to the grind command”"),
        (
            "Which commit introduced the path display option, and who wrote it?",
            "The commit “Introduce path display opt",
        ),
        (
            "When was gravel replaced by pebble, and by whom?",
            "The commit “Migrate from gravel to pebble” is by Hal on ",
        ),
        ("Who replaced barley with oats?", "The commit “Replace barley with oats” is by Ida on "),
        ("Who added the wheel guard?", "The commit “Add wheel guard” is by Max on "),
        ("Who added the #chaff tag and when?", "The commit “Add #chaff” is by Oda on "),
        ("Who added river support to the gate role?", "The commit “feat(gate): add river support (#40)” is by Pia on "),
        ("Who fixed the chaff tag after it got broken in 1.1.4?", "The commit “fixed #chaff, broken in 1.1.4” is by Q"),
        ("Which commit introduced the spin command?", "The commit “Fix #52 - add spin command (#53)” is by Ray on "),
        ("Who bumped sieve to 4?", "The commit “Bump stones/sieve from 1 to 4 (#60)” is by Wyn on "),
        (
            "Who fixed the open_gate return values?",
            "The commit “Fix an issue with open_gate/4 return values” is by Yul",
        ),
        ("Who bumped the version to 1.1.0?", "The commit “Bump version: 1.0.1 → 1.1.0” is by Zoe on "),
        ("When was support for eels added?", "The commit “Add simple built-in support for eels” is by Bea on "),
        ("Which change raised the minimum Rust version to 1.85?", "The commit “raise MSRV to 1.85” is by Cal on "),
        ("Who added the --dusty flag?", "The commit “feat: add new `--dusty` / `-d` flag (#54)” is by Sol on "),
        ("Which commit switched the tests to StoneRunner?", "The commit “Use StoneRunner in place of WheelRunner"),
    ],
)
def test_a_subject_with_all_words_is_stated(mill: LocalEngine, question: str, start: str) -> None:
    assert research(mill, question).text.replace("\\", "").startswith(start)


@pytest.mark.parametrize(
    "question",
    [
        "When was pebble replaced by gravel, and by whom?",
        "Who replaced oats with barley?",
        "Who added sieve cache support?",
        "Who removed the husk filter?",
        "Who last added the flour chart?",
        "Why was the flour chart added, and by whom?",
        "Who added the flour chart tests to the grind command?",
        "Who added the wheel?",
        "Who added the bran tag?",
        "Who fixed the chaff tag after it got broken in 1.1.3?",
        "Which commit switched the tests to MudRunner?",
        "Which commit switched the tests to WheelRunner?",
    ],
)
def test_other_subjects_are_not_stated(mill: LocalEngine, question: str) -> None:
    assert not research(mill, question).text.startswith("The commit “")


def test_the_first_of_several_is_called_so(mill: LocalEngine) -> None:
    text = research(mill, "Who added the wheel guard?").text
    assert "the first of several that fit" in text
    assert "“Add wheel guard for rivers” by Ned" in text

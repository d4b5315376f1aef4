"""Wordings of questions for callers and places come out as the forms that are read for them."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from engines.deepsearch.asking import lead_of
from sourcelight.backends.embedded import open_engine
from sourcelight.engines.deepsearch.question.lookups import read_lookup
from sourcelight.engines.deepsearch.question.lookups.caller_wording import expand_caller_wording
from sourcelight.testing import RepositoryBuilder


@pytest.mark.parametrize(
    "wording",
    [
        "Is grind_corn called anywhere", "List all callers of grind_corn", "Find usages of grind_corn",
        "Which files use grind_corn", "Who is calling grind_corn", "Show me where grind_corn gets called",
        "Which classes use grind_corn", "Does anything call grind_corn()", "What depends on grind_corn",
        "Which functions in the code base invoke grind_corn", "From which functions is grind_corn called",
        "In which files is grind_corn used", "What are all the places where grind_corn is called",
        "Which parts of the code use grind_corn", "What uses the function grind_corn", "Where is grind_corn referenced",
        "Which functions call grind_corn directly", "Which callers does grind_corn have", "Is grind_corn used anywhere",
        "What references `grind_corn`", "Where is grind_corn registered", "Who uses the grind_corn property",
        "Where is the grind_corn hook attached", "Which modules use grind_corn", "Give me the callers of grind_corn",
        "what makes use of the grind_corn local", "what triggers grind_corn", "where do we use grind_corn",
        "what ends up using grind_corn", "does anything still call grind_corn", "is there code that uses grind_corn",
        "what uses grind_corn outside of its tests", "where else is grind_corn used", "who still depends on grind_corn",
        "are there any callers of grind_corn left", "by whom is grind_corn called", "where's grind_corn used",
        "grind_corn gets called from where", "grind_corn is used where",
        "does grind_corn get called anywhere", "what is grind_corn called by", "in which places do we call grind_corn",
    ],
)  # fmt: skip
def test_wordings_for_callers_are_read(wording: str) -> None:
    lookup = read_lookup(wording)
    assert lookup is not None
    assert (lookup.kind, lookup.name, lookup.owner) == ("callers", "grind_corn", "")


@pytest.mark.parametrize(
    "wording",
    [
        "In which module is grind_corn implemented", "Which class defines grind_corn", "Where's the code of grind_corn",
        "What file contains the definition of grind_corn", "On which line is grind_corn defined",
        "where can i see grind_corn", "Where does the repository define grind_corn", "Which line defines grind_corn",
        "Is grind_corn still defined anywhere", "whereabouts does grind_corn live",
        "where does the macro grind_corn live?",
        "Which file is grind_corn in", "In which module does grind_corn live", "Which script has grind_corn",
        "Where in the code is grind_corn", "where is grind_corn kept", "point me to grind_corn",
    ],
)  # fmt: skip
def test_wordings_for_places_are_read(wording: str) -> None:
    lookup = read_lookup(wording)
    assert lookup is not None
    assert (lookup.kind, lookup.name) == ("definition", "grind_corn")


@pytest.mark.parametrize(
    ("wording", "kind", "name"),
    [
        ("Where is the Mill instantiated", "callers", "Mill"), ("Where is the mill created", "", ""),
        ("Is there a grind_corn", "existence", "grind_corn"), ("Is there a mill", "", ""),
        ("Is there a Get-Corn command", "existence", "Get-Corn"), ("Is there a corn-mill", "", ""),
        ("Does it have a corn-mill-mode", "existence", "corn-mill-mode"), ("Is there any caching", "", ""),
        ("Where is var.corn-count used", "callers", "var.corn-count"),
        ("Who calls corn--mill>=", "callers", "corn--mill>="),
        ("Which templates include mill.labels", "callers", "mill.labels"),
        ("What does grind_corn use", "", ""), ("Is PyYAML still used", "dependency", "PyYAML"),
        ("Which file includes corn.h", "", ""), ("What do we use grind_corn for", "", ""),
    ],
)  # fmt: skip
def test_names_of_code_are_told_from_words(wording: str, kind: str, name: str) -> None:
    lookup = read_lookup(wording)
    assert (lookup.kind, lookup.name) == (kind, name) if lookup is not None else not kind


@pytest.mark.parametrize(
    ("wording", "owner"),
    [
        ("Where in src/mill.py is grind_corn called", "src/mill.py"),
        ("Which code in mill.py uses grind_corn", "mill.py"),
        ("Is grind_corn used in mill.py", "mill.py"),
        ("Which function calls grind_corn in src/mill.py", "src/mill.py"),
    ],
)
def test_a_file_stays_a_part_of_the_question(wording: str, owner: str) -> None:
    lookup = read_lookup(wording)
    assert lookup is not None
    assert (lookup.kind, lookup.name, lookup.owner) == ("callers", "grind_corn", owner)


@pytest.mark.parametrize(
    "text",
    [
        "What uses authentication", "Which files use tabs", "What depends on requests", "Is black used anywhere",
        "Which classes use inheritance", "Which tests use grind_corn", "What happens when grind_corn is called",
        "Which functions does grind_corn call", "Which class implements Miller", "Find usages of memory",
    ],
)  # fmt: skip
def test_other_questions_stay_as_they_are(text: str) -> None:
    assert expand_caller_wording(text) == text


@pytest.mark.parametrize(
    "part", ["which code of the code ", "the ", "in which ", "a.b", "A", "_1", "where is all the "]
)
def test_long_questions_are_read_in_linear_time(part: str) -> None:
    start = time.perf_counter()
    expand_caller_wording((part * 300)[:300])
    expand_caller_wording("which other other functions use " + (part * 300)[:250])
    assert time.perf_counter() - start < 0.5


def test_callers_are_those_in_the_file_of_a_question(tmp_path: Path) -> None:
    repo = RepositoryBuilder(tmp_path / "mill")
    repo.commit({
        "src/stone.py": "def turn_stone():\n    return 1\n",
        "src/mill.py": "from stone import turn_stone\n\n\ndef grind():\n    return 8 // turn_stone()\n",
        "src/wheel.py": "import stone\n\n\nclass Wheel:\n    def run(self):\n        return stone.turn_stone()\n",
        "tests/test_stone.py": "from stone import turn_stone\n\n\ndef test_stone():\n    assert turn_stone()\n",
    })  # fmt: skip
    engine = open_engine([repo.path], index=tmp_path / "index", workers=1)

    lead = lead_of(engine, "Which functions call turn_stone in src/mill.py?")
    assert lead.startswith("`turn_stone` is called by name in `grind` (line 5 of `src/mill.py`)")
    assert "wheel" not in lead
    lead = lead_of(engine, "Where in tests/test_stone.py is turn_stone called?")
    assert lead.startswith("`turn_stone` is called by name in `test_stone` (line 5 of `tests/test_stone.py`)")
    assert "is called" not in lead_of(engine, "What calls turn_stone in src/stone.py?")

"""Entries of lists that begin with a name: what the name means, and the difference of two of them."""

from __future__ import annotations

import time

import pytest

from engines.deepsearch.asking import research
from sourcelight.backends.embedded import open_engine
from sourcelight.engines.deepsearch.passages.entries import entry_form
from sourcelight.engines.execution import LocalEngine
from sourcelight.testing import RepositoryBuilder

CONF = """# How the mill forgets:
#
# volatile-old -> Forget the oldest sack with a label.
# every-old -> Forget the oldest sack.
#
# The default is every-old.
forget every-old
"""
GUIDE = """# Mill

## Sacks

There are sacks of two types:

* Source sacks (`.src`): they hold corn that must be ground first.
* Binary sacks (`.bin`, `.bin.old`): they hold flour.

## Marks

  - `<%=`    Prints the weight on the sack
  - `<%-`    Prints the weight without a unit

The mode matters.

- **slow mode**: the stones turn once a minute
- **fast mode**: the stones turn all the time

```yaml
quick-old: this is only an example of a file
```
"""
CODE = """FORGET = {"volatile-old": 1, "every-old": 2}
# quick-new is written here: nobody knows what it means, and the sentence has the name within.
"""
HEADER = """//
//  WheelTurner.swift Mill
//
//  Created by a miller.

/// Turns the wheel of the mill by hand.
struct WheelTurner {}
"""


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> LocalEngine:
    root = tmp_path_factory.mktemp("entries")
    repo = RepositoryBuilder(root / "mill")
    files = {"mill.conf": CONF, "docs/guide.md": GUIDE, "mill.py": CODE, "WheelTurner.swift": HEADER}
    repo.commit(files, "Build a mill")
    return open_engine([repo.path], index=root / "index", workers=1)


@pytest.mark.parametrize(
    ("question", "sentences"),
    [
        ("What is volatile-old?", ["`mill.conf` says", "volatile-old -> Forget the oldest sack with a label."]),
        ("What does every-old do?", ["every-old -> Forget the oldest sack."]),
        ("What's the difference between volatile-old and every-old?", ["sack with a label.” and “every-old -> Forget"]),
        (
            "What is the difference between a source sack and a binary sack?",
            [
                "`docs/guide.md` says under “Sacks”",
                "they hold corn that must be ground first.” and “",
                "they hold flour.",
            ],
        ),
        ("What's the difference between <%= and <%-?", ["weight on the sack” and “", "without a unit”"]),
        ("How does fast mode differ from slow mode?", ["all the time” and “", "once a minute”"]),
        ("What's the difference between slow and fast mode?", ["once a minute” and “", "all the time”"]),
    ],
)
def test_entries_that_begin_with_a_name_are_stated(engine: LocalEngine, question: str, sentences: list[str]) -> None:
    lead = research(engine, question).text.split("\n\n")[0].replace("\\", "")
    assert all(sentence in lead for sentence in sentences)


@pytest.mark.parametrize(
    "question",
    [
        "What is quick-old?",
        "What is quick-new?",
        "What is volatile?",
        "What is the difference between a source sack and fast mode?",
        "What is the difference between every-old and very-old?",
        "What does the mode do?",
    ],
)
def test_other_lines_with_a_name_are_not_stated(engine: LocalEngine, question: str) -> None:
    assert " says" not in research(engine, question).text.split("\n\n")[0]


def test_the_header_of_a_file_explains_nothing(engine: LocalEngine) -> None:
    text = research(engine, "Why would I use a WheelTurner?").text.split("\n\n## ")[0]
    assert "“WheelTurner.swift Mill" not in text


@pytest.mark.parametrize(
    "line", ["(" * 4_000, "a " * 4_000, "`" * 4_000, "- " * 2_000, "* `a" + " " * 4_000, "a(" * 2_000]
)
def test_hostile_lines_take_linear_time(line: str) -> None:
    started_s = time.process_time()
    for _ in range(100):
        entry_form(["a"]).match(line)
    assert time.process_time() - started_s < 1.0

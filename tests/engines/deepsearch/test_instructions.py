"""Questions of somebody who wants to do something: the sentence, section or function that says how is stated."""

from __future__ import annotations

import pytest

from engines.deepsearch.asking import research
from sourcelight.backends.embedded import open_engine
from sourcelight.engines.execution import LocalEngine
from sourcelight.testing import RepositoryBuilder

GUIDE = """# Guide

## Pausing

To pause a loom, call `pause_loom`. To pause a loom group, use `pause_all`.

Use `throw_shuttle` to move the thread to the left side.

You can change the colors by passing `palette`. If you want to weave without a pattern, pass `None`.

To clean the reed, wait.

## Removing old knots

```python
remove_knots()
```

## knot_warp

Is sent when a knot is in the warp.

## Dyeing wool for children

Wool is dyed at night.
"""
LOOM = '''"""Weave."""


def wind_bobbin(thread):
    """Wind a bobbin."""
    return thread


def mark_thread(thread):
    """Mark a thread for the dyer."""
    return thread


def wind_spool_rack(thread):
    """Wind a spool rack of oak."""
    return thread
'''


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> LocalEngine:
    root = tmp_path_factory.mktemp("instructions")
    repo = RepositoryBuilder(root / "loom")
    repo.commit({"docs/guide.md": GUIDE, "loom.py": LOOM}, "Build a loom")
    return open_engine([repo.path], index=root / "index", workers=1)


@pytest.mark.parametrize(
    ("question", "sentence"),
    [
        ("How can I pause a loom?", "says under “Pausing”: “To pause a loom, call `pause\\_loom`.”"),
        ("how to pause a loom", "“To pause a loom, call `pause\\_loom`.”"),
        ("How do I pause a loom group?", "“To pause a loom group, use `pause\\_all`.”"),
        ("How do I move the thread to the left side?", "“Use `throw\\_shuttle` to move the thread to the left side.”"),
        ("How can I change the colors?", "“You can change the colors by passing `palette`.”"),
        ("How can I weave without a pattern?", "“If you want to weave without a pattern, pass `None`.”"),
        ("How do I remove old knots?", "`docs/guide.md` has the section “Removing old knots”"),
        ("How do I wind a bobbin?", "The documentation of `wind_bobbin` in `loom.py`, line 5, says: “Wind a bobbin.”"),
    ],
)
def test_what_says_how_is_stated(engine: LocalEngine, question: str, sentence: str) -> None:
    assert sentence.replace("\\_", "_") in research(engine, question).text.split("\n\n")[0].replace("\\", "")


@pytest.mark.parametrize(
    "question",
    [
        "How do I pause a pattern?",
        "How do I move the thread to the right side?",
        "How do I move the thread from the left side?",
        "How can I weave with a pattern?",
        "How do I wind a spool?",
        "How do I clean the reed?",
        "How do I mark a thread?",
        "How do I knot a warp?",
        "How do I dye wool?",
        "How do I pause a loom before the night?",
        "How does the loom pause the colors?",
    ],
)
def test_what_says_something_else_is_not_stated(engine: LocalEngine, question: str) -> None:
    lead = research(engine, question).text.split("\n\n")[0]
    assert "says" not in lead
    assert "has the section" not in lead

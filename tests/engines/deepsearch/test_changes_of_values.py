"""Questions for the commit of a value, words that narrow nothing, dates by the author's clock, and tests of Lisp."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from engines.deepsearch.asking import research
from sourcelight.backends.embedded import open_engine
from sourcelight.engines.execution import LocalEngine
from sourcelight.testing import RepositoryBuilder

ADA, BO, CY = "Ada <ada@example.org>", "Bo <bo@example.org>", "Cy <cy@example.org>"


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalEngine]:
    root = tmp_path_factory.mktemp("locks")
    builder = RepositoryBuilder(root / "lock")
    builder.commit({"src/lock.py": "MAX_BOATS = 5_000\n"}, "Add the lock", author=ADA)
    builder.commit({"src/lock.py": "MAX_BOATS = 20_000\n"}, "Let more boats in", author=BO)
    builder.commit(
        {
            "src/lock.py": "MAX_BOATS = 20_000\n\n\ndef open_lock():\n    return MAX_BOATS\n",
            "src/gate.py": "# MAX_BOATS = 7_000\nratio = MAX_BOATS / 120_000\nmore = MAX_BOATS + 9_000\n",
            "notes.txt": "MAX_BOATS was 5_000 before.\n",
        },
        "Open the lock at requests of boats",
        author=CY,
    )
    builder.commit(
        {
            "test/lock_test.clj": (
                "(ns lock-test)\n\n(deftest opens\n  (is true))\n\n(t/deftest closes\n  (is true))\n\n"
                "#_(deftest never)\n; (deftest nothing)\n(deftestish other)\n"
            )
        },
        "Test it",
        author=CY,
    )
    engine = open_engine([root], index=root / "index", workers=1)
    yield engine
    engine.close()


def headline(engine: LocalEngine, question: str) -> str:
    """The text of an answer before its first section."""
    return research(engine, question).text.split("\n## ")[0]


@pytest.mark.parametrize(
    ("question", "sentence"),
    [
        ("Who raised MAX_BOATS to 20_000 and when?", "A line with `MAX_BOATS` set to `20_000` was first"),
        ("When was MAX_BOATS set to 5_000?", "A line with `MAX_BOATS` set to `5_000` was first added by Ada"),
        ("Who raised MAX_BOATS to 20_000?", "A line with `MAX_BOATS` set to `20_000` was first added by Bo"),
        ("Who bumped MAX_BOATS?", "A line with `MAX_BOATS` was last changed by Cy"),
        ("Who added the MAX_BOATS key, and who did it?", "A line with `MAX_BOATS` was first added by Ada"),
        ("When was MAX_BOATS added, and who added it?", "A line with `MAX_BOATS` was first added by Ada"),
        ("Who added MAX_BOATS, and when was it added?", "A line with `MAX_BOATS` was first added by Ada"),
        ("Who added MAX_BOATS, and when did they add it?", "A line with `MAX_BOATS` was first added by Ada"),
        ("When was src/lock.py added, and by whom was it added?", "`src/lock.py` was added by Ada"),
        ("Who last changed the line that defines MAX_BOATS, and when?", "Line 1 of `src/lock.py` was last changed"),
        ("Who added open_lock to requests?", "A line with `open_lock` was first added by Cy"),
    ],
)  # fmt: skip
def test_the_commit_of_a_value_is_found(engine: LocalEngine, question: str, sentence: str) -> None:
    assert headline(engine, question).startswith(sentence)


def test_a_value_within_a_longer_number_is_another_value(engine: LocalEngine) -> None:
    # 120_000 has these digits at its end.
    assert "set to `0_000`" not in headline(engine, "Who raised MAX_BOATS to 0_000?")
    assert "was first added" not in headline(engine, "Who raised MAX_BOATS to 5?")


def test_a_comment_or_a_calculation_sets_no_value(engine: LocalEngine) -> None:
    for value in ("7_000", "120_000", "9_000"):
        assert "set to `" not in headline(engine, f"Who raised MAX_BOATS to {value}?")


def test_a_word_that_narrows_is_not_dropped(engine: LocalEngine) -> None:
    text = headline(engine, "Who added MAX_BOATS for submarines?")
    assert text.startswith("This can't be answered as asked, because `submarines` was not understood")


def test_tests_of_clojure_are_counted(engine: LocalEngine) -> None:
    assert headline(engine, "How many tests are in lock_test.clj?").startswith("**2** tests are defined")


def test_what_holds_by_default_is_no_list(engine: LocalEngine) -> None:
    text = headline(engine, "What root directory does open_lock serve from by default?")
    assert "can't be listed" not in text
    assert "folders have files" not in text


def test_dates_are_those_of_git_log(tmp_path_factory: pytest.TempPathFactory) -> None:
    root = tmp_path_factory.mktemp("night")
    builder = RepositoryBuilder(root / "night")
    # Half past ten in the evening in Denver is the next day in UTC.
    builder.commit({"a.py": "lamp_size = 1\n"}, "Light the lamp", author=ADA)
    moment = "2023-09-07T22:30:00 -0600"
    clock = {"GIT_COMMITTER_DATE": moment, "GIT_COMMITTER_NAME": "Ada", "GIT_COMMITTER_EMAIL": "ada@example.org"}
    builder.git("commit", "-q", "--amend", "--no-edit", f"--date={moment}", env=clock)
    engine = open_engine([root], index=root / "index", workers=1)
    try:
        for question in ("who added lamp_size?", "why was the lamp changed?", "when was lamp_size introduced and why?"):
            text = research(engine, question).text
            assert "2023-09-07" in text, text
            assert "2023-09-08" not in text, text
    finally:
        engine.close()

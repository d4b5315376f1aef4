"""The progress box shows every state, for eyes and for screen readers, and nothing of it runs."""

from __future__ import annotations

import re
from typing import Any

import pytest

from sourcelight.display.notebook import Phase, ProgressSnapshot
from sourcelight.display.notebook.progress_box import ProgressBox, bar_html, notices_html, status_html

HOSTILE = "<img src=x onerror=alert(1)>\"'</code><script>x</script>\x1b[31m\u202e"
PHASES: list[Phase] = ["running", "complete", "limited", "interrupted", "failed"]
WORDS = {
    "running": "Searching",
    "complete": "Complete",
    "limited": "Limited",
    "interrupted": "Interrupted",
    "failed": "Failed",
}


def snapshot(phase: Phase, *, total: int | None = None, title: str = "foo", notices: Any = ()) -> ProgressSnapshot:
    """A moment with 1,234 matches."""
    facts = (("repositories", "2"), ("s", "1.5"), ("matches/s", "823"))
    return ProgressSnapshot(title, phase, 1.5, 1234, total, "matches", facts, notices)


@pytest.mark.parametrize("phase", PHASES)
def test_every_state_has_its_word_and_numbers(phase: Phase) -> None:
    html = status_html(snapshot(phase))
    assert f"</span> {WORDS[phase]}</b>" in html
    assert "<b>1,234</b> matches" in html
    assert "823\u202fmatches/s" in html
    assert 'role="status" aria-live="polite"' in html
    assert f'aria-label="{WORDS[phase]}: foo"' in bar_html(snapshot(phase))
    assert 'role="progressbar"' in bar_html(snapshot(phase))


def test_an_index_is_not_called_a_search() -> None:
    shot = ProgressSnapshot("~/src", "running", 1.0, 1, 4, "repositories", (("files", "3"),), activity="Indexing")
    assert "</span> Indexing</b> <b>1</b> of 4 repositories" in status_html(shot)


def test_the_bar_is_indeterminate_without_a_total() -> None:
    html = bar_html(snapshot("running"))
    assert 'aria-busy="true"' in html
    assert "aria-valuenow" not in html
    assert "sl-unknown" in html


def test_the_bar_is_determinate_with_a_total_and_full_at_the_end() -> None:
    assert 'aria-valuenow="62"' in bar_html(snapshot("running", total=2000))
    assert 'aria-valuenow="100"' in bar_html(snapshot("complete", total=2000))
    assert 'aria-valuenow="62"' in bar_html(snapshot("interrupted", total=2000))
    assert 'aria-valuenow="100"' in bar_html(snapshot("failed"))
    assert "1,234</b> of 2,000 matches" in status_html(snapshot("running", total=2000))


def test_colours_follow_the_theme_with_fallbacks() -> None:
    for phase in PHASES:
        html = bar_html(snapshot(phase)) + status_html(snapshot(phase))
        assert re.findall(r"#[0-9a-f]{6}", html)
        assert all(re.fullmatch(r"var\(--jp-[\w-]+,\s*[^()]+\)", v) for v in re.findall(r"var\([^()]*\)", html))
        assert not re.search(r"color:\s*(black|white|#000|#fff)", html)


def test_notes_name_their_severity_and_are_limited() -> None:
    notices = [("info", "a"), ("warn", "b"), ("error", "c")] + [("new", "d")] * 7
    html = notices_html(snapshot("limited", notices=tuple(notices)))
    assert re.findall(r"<b>(\w+)</b>", html)[:4] == ["info", "warning", "error", "info"]
    assert "and 2 more" in html
    assert notices_html(snapshot("limited")) == ""


def test_hostile_text_stays_text() -> None:
    shot = snapshot("running", title=HOSTILE, notices=(("warn", HOSTILE),))
    html = bar_html(shot) + status_html(shot) + notices_html(shot)
    assert "<img" not in html
    assert "<script" not in html
    assert "\x1b" not in html
    assert "\u202e" not in html


@pytest.fixture
def shown(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What is displayed, collected where IPython would publish it."""
    from sourcelight.display.notebook import progress_box

    found: list[Any] = []
    monkeypatch.setattr(progress_box, "display", found.append)
    return found


def test_the_box_is_displayed_once_and_follows_every_state(shown: list[Any]) -> None:
    box = ProgressBox()
    for phase in PHASES:
        box.draw(snapshot(phase))
        assert WORDS[phase] in box.status.value
    assert shown == [box]
    assert box.button is None


def test_a_bar_that_stays_the_same_sends_nothing(shown: list[Any]) -> None:
    box = ProgressBox()
    changes: list[Any] = []
    box.bar.observe(changes.append, "value")
    for _ in range(5):
        box.draw(snapshot("running"))
    assert len(changes) == 1
    assert len(shown) == 1


def test_stop_is_there_while_it_can_work(shown: list[Any]) -> None:
    pressed: list[int] = []
    box = ProgressBox(lambda: pressed.append(1))
    box.draw(snapshot("running"))
    button = box.button
    button.click()
    assert pressed == [1]
    assert button.layout.display != "none"
    box.draw(snapshot("interrupted"))
    assert button.layout.display == "none"
    assert len(shown) == 1


def test_the_stored_text_never_changes(shown: list[Any]) -> None:
    box = ProgressBox()
    assert repr(box) == "sourcelight progress"
    box.draw(snapshot("complete"))
    assert box._repr_mimebundle_()["text/plain"] == "sourcelight progress"
    assert shown

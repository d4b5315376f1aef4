"""The progress box shows every state, for eyes and for screen readers, and nothing of it runs."""

from __future__ import annotations

import json
import re
import threading
from typing import Any

import pytest

from display.front_end import say
from sourcelight.display.notebook import Phase, ProgressSnapshot
from sourcelight.display.notebook.programs import style
from sourcelight.display.notebook.progress_box import ProgressBox
from sourcelight.display.notebook.progress_drawing import html_of, progress_html, progress_parts

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
    info = (("repositories", "2"), ("s", "1.5"), ("matches/s", "823"))
    return ProgressSnapshot(title, phase, 1.5, 1234, total, "matches", info, notices)


def bar_html(shot: ProgressSnapshot) -> str:
    return html_of(progress_parts(shot)[0])


def status_html(shot: ProgressSnapshot) -> str:
    return html_of(progress_parts(shot)[1])


def notices_html(shot: ProgressSnapshot) -> str:
    return html_of(progress_parts(shot)[2])


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


@pytest.mark.parametrize("name", ["progress", "explorer", "facets"])
def test_colours_follow_the_theme_with_fallbacks(name: str) -> None:
    css = style(name)
    defined = set(re.findall(r"(--sl-[a-z]+):", css))
    assert set(re.findall(r"var\((--sl-[a-z]+)\)", css)) <= defined
    for item in re.findall(r"var\(--(?:jp|vscode)-[^;]*;", css):
        assert re.search(r"(#[0-9a-f]{3,6}|monospace|sans-serif)\)+", item), item
    assert not re.search(r"color:\s*(black|white|#000|#fff)", css)
    assert "@import" not in css
    assert "url(" not in css


def test_notes_name_their_severity_and_are_limited() -> None:
    notices = [("info", "a"), ("warn", "b"), ("error", "c")] + [("new", "d")] * 7
    html = notices_html(snapshot("limited", notices=tuple(notices)))
    assert re.findall(r"<b>(\w+)</b>", html)[:4] == ["info", "warning", "error", "info"]
    assert "and 2 more" in html
    assert notices_html(snapshot("limited")) == ""


def test_hostile_text_stays_text() -> None:
    shot = snapshot("running", title=HOSTILE, notices=(("warn", HOSTILE),))
    html = progress_html(shot)
    assert "<img" not in html
    assert "<script" not in html
    # The widget's page sets texts as text, so hidden characters have to be visible before.
    for text in (html, json.dumps(progress_parts(shot), ensure_ascii=False)):
        assert not {"\x1b", "\u202e"} & set(text)


@pytest.fixture
def displays(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What is displayed, collected where IPython would publish it; updates are pairs of the output and its bundle."""
    results: list[Any] = []

    class Handle:
        def __init__(self, output: Any) -> None:
            self._output = output

        def update(self, bundle: Any, **_: Any) -> None:
            results.append((self._output, bundle))

    def display(shown_object: Any, **_: Any) -> Handle:
        results.append(shown_object)
        return Handle(shown_object)

    monkeypatch.setattr("IPython.display.display", display)
    monkeypatch.delenv("SOURCELIGHT_PROGRESS", raising=False)
    return results


def box_text(box: ProgressBox) -> str:
    return "".join(map(html_of, box.drawing))


def test_the_box_is_displayed_once_and_follows_every_state(displays: list[Any]) -> None:
    box = ProgressBox()
    for phase in PHASES:
        box.draw(snapshot(phase))
        assert WORDS[phase] in box_text(box)
    assert displays[0] is box
    assert displays.count(box) == 1
    assert not box.stoppable


def test_a_box_that_stays_the_same_sends_nothing(displays: list[Any]) -> None:
    box = ProgressBox()
    changes: list[Any] = []
    box.observe(changes.append, "drawing")
    for _ in range(5):
        box.draw(snapshot("running"))
    assert len(changes) == 1
    assert displays == [box]


def test_stop_is_there_while_it_can_work(displays: list[Any]) -> None:
    pressed: list[int] = []
    box = ProgressBox(lambda: pressed.append(1))
    box.draw(snapshot("running"))
    assert box.stoppable
    for message in ({"kind": "stop"}, {"kind": "absent"}, "no mapping", None):
        say(box, message)
    assert pressed == [1]
    box.draw(snapshot("interrupted"))
    assert not box.stoppable
    assert displays.count(box) == 1


def test_the_stored_text_never_changes(displays: list[Any]) -> None:
    box = ProgressBox()
    assert repr(box) == "sourcelight progress"
    box.draw(snapshot("running"))
    bundle = box._repr_mimebundle_()
    data = bundle[0] if isinstance(bundle, tuple) else bundle
    assert data["text/plain"] == "sourcelight progress"
    assert displays


def test_a_front_end_without_widgets_sees_a_page_that_lives(
    displays: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [100.0]
    monkeypatch.setattr("time.monotonic", lambda: now[0])
    box = ProgressBox()
    for _ in range(30):
        now[0] += 0.1
        box.draw(snapshot("running"))
    assert 2 <= len(displays) <= 4, "at most a page in a second"
    box.draw(snapshot("limited", notices=(("warn", "one"),)))
    box_shown, page, *updates = displays
    assert box_shown is box
    assert "Searching" in page["text/html"]
    assert f"sl-page-{box.page}" in page["text/html"]
    *_, (emptied, nothing), (last_display, final) = updates
    assert emptied is box
    assert nothing == {"text/html": "", "text/plain": ""}
    assert last_display is page
    assert "Limited" in final["text/html"]
    assert "sl-page-" not in final["text/html"], "nothing hides it"
    assert {page["text/plain"], final["text/plain"]} == {"sourcelight progress"}


def test_where_widgets_are_drawn_the_page_replaces_the_box_at_the_end(
    displays: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [100.0]
    monkeypatch.setattr("time.monotonic", lambda: now[0])
    draws = threading.Event()
    say(ProgressBox(front_end_draws=draws), {"kind": "drawn"})
    box = ProgressBox(front_end_draws=draws)
    for _ in range(30):
        now[0] += 0.1
        box.draw(snapshot("running"))
    assert displays == [box]
    box.draw(snapshot("complete"))
    replaced, page = displays[1]
    assert replaced is box
    assert "Complete" in page["text/html"]
    assert len(displays) == 2


def test_notebooks_that_are_compared_get_widgets_alone(displays: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOURCELIGHT_PROGRESS", "widget")
    box = ProgressBox()
    box.draw(snapshot("complete"))
    assert displays == [box]


def test_the_state_of_a_box_is_small_whatever_it_is_told(displays: list[Any]) -> None:
    box = ProgressBox()
    box.draw(snapshot("failed", title="x" * 10**6, notices=(("error", "y" * 10**6),) * 1000))
    state = box.get_state()
    sizes = {name: len(json.dumps(value)) for name, value in state.items() if name not in {"layout", "comm"}}
    assert sizes["drawing"] < 6_000, sizes
    assert sum(sizes.values()) < 20_000, sizes
    assert displays

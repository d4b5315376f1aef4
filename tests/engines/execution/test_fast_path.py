"""Small searches that are answered at once say, byte for byte, what the long way says."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from backends.cluster.processes import wait_until
from sourcelight.backends.embedded import open_engine
from sourcelight.core.batches import Event, MatchBatch
from sourcelight.core.batches.codecs.encode import encode_matches
from sourcelight.core.batches.codecs.raw_matches import RawMatchBatch
from sourcelight.core.cancellation import Cancellation
from sourcelight.core.errors import QueryError
from sourcelight.core.wire.events import Progress
from sourcelight.core.wire.request import SearchRequest
from sourcelight.engines.execution import LocalEngine
from sourcelight.engines.execution.fast_path.answers import IN_THREAD
from sourcelight.engines.search.scan.candidates import MAX_UNNARROWED_UNITS
from sourcelight.engines.search.scan.corpus import LISTS_UNMADE
from sourcelight.repos import Viewer
from sourcelight.server.http.pacing import Cadence, EncodedMatches, Pacer
from sourcelight.testing import RepositoryBuilder

WORDS = ("lamp", "Lamp", "LAMP", "kiosk", "KIOSK", "beam", "tower", "lamps", "lam", "as", "k", "nowhere", "Sea", "_x1")
ODD = ("\u212aiosk", "bea\u017fm", "caf\u00e9", "lamp\u00e9", "\u00e9", "\t", "\r", "<&>", "\x7f", "\u2028")
FILTERS = (
    "case:yes", "lang:python", "-lang:python", "file:test", "-file:test", "file:\\.py$", "repo:tower", "-repo:tower",
    "type:file", "type:path", "type:repo", "type:file type:path", "fork:yes", "content:sea", "select:file", "count:3",
    "timeout:5s", "repo:has.path(README)", "visibility:public", "type:symbol",
)  # fmt: skip
PATTERNS = (
    "{0}", "{0}", "{0}", "{0} {1}", "{0} AND {1}", "{0} AND NOT {1}", "NOT {0}", "{0} OR {1}", "({0} OR {1}) AND {2}",
    '"{0}"', "/({0}|{1})/", "/{0}|{1}/", "/({0}|{1}|{2})/", "/{0}\\w+/", "content:{0}", "{0}.{1}", "{0}(", "{0} and",
    "/({0}|{1})/ case:yes", "/({0}|{1})/ case:yes", "/({0}|{1}|{2})/ case:yes type:file",
    "type:file {0} AND NOT {1} case:yes", "{0} AND {1} AND NOT {2} case:yes", "type:file {0} AND {1} AND NOT {2}",
)  # fmt: skip


def random_text(chance: random.Random) -> str:
    lines = []
    for _ in range(chance.choice((0, 1, 3, 40, 400))):
        words = [chance.choice(WORDS if chance.random() < 0.85 else ODD) for _ in range(chance.randrange(6))]
        lines.append(chance.choice((" ", "", ".")).join(words))
    if chance.random() < 0.05:
        lines.append("beam " * 3000 + chance.choice(WORDS))
    return "\n".join(lines) + chance.choice(("\n", "", "\r\n"))


def random_files(chance: random.Random) -> dict[str, str | bytes]:
    folders = ("", "src/", "test/", "lamp/", "vendor/beam/", "caf\u00e9/")
    names = ("README", "a.py", "lamp.py", "beam_test.go", "kiosk.min.js", "x.ipynb", "sea.md")
    files: dict[str, str | bytes] = {}
    for _ in range(chance.randrange(2, 14)):
        path = chance.choice(folders) + chance.choice(names)
        files[path] = random_text(chance) if chance.random() < 0.9 else b"lamp\0beam"
    return files


@pytest.fixture(scope="module", params=range(4))
def engine(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> LocalEngine:
    chance = random.Random(request.param)  # noqa: S311 - to draw the same again
    folder = tmp_path_factory.mktemp("fleet")
    for name in ("tower", "acme/Beam", "harbour", "quay")[: request.param + 1]:
        builder = RepositoryBuilder(folder / name)
        for number in range(chance.randrange(1, 4)):
            builder.commit(random_files(chance), f"change {number}")
    if request.param == 3:
        (folder / "repos.toml").write_text('[repositories."quay"]\nfork = true\n', "utf-8")
    fleet = open_engine([folder], index=tmp_path_factory.mktemp("index"))
    if request.param == 1:
        # More shards, whose files lie between those of others.
        for number in range(2):
            RepositoryBuilder(folder / "tower").commit(random_files(chance), f"later change {number}")
            fleet.refresh()
    return fleet


def frames(events: list[Event] | None) -> bytes | None:
    """The bytes of a stream, without the time it took."""
    if events is None:
        return None
    pacer = Pacer(Cadence(), start_s=0.0)
    for event in events:
        if isinstance(event, MatchBatch):
            infos = {info.name: info for info in event.repositories}
            for payload in encode_matches(event, infos, chunk_text="both"):
                pacer.add(EncodedMatches(payload))
        # A slow machine adds progress.
        elif not isinstance(event, Progress) or event.done:
            pacer.add(event)  # type: ignore[arg-type]
    return re.sub(rb'"durationMs":\d+', b'"durationMs":0', b"".join(pacer.take(0.0)))


def matches_of(events: list[Event] | None) -> list[Any]:
    """The matches of a stream, however they are divided into events."""
    data = frames(events) or b""
    return [match for line in data.splitlines() if line.startswith(b'data: [{"type"') for match in json.loads(line[6:])]


def test_paths_are_listed_for_the_fourth_answer(tmp_path: Path) -> None:
    RepositoryBuilder(tmp_path / "src" / "tower").commit({"a.py": "lamp\n", "test/b.py": "lamp\n"})
    engine = open_engine([tmp_path / "src"], index=tmp_path / "index")
    request = SearchRequest("lamp count:all")
    answers = [list(engine.stream(request, Viewer.owner(), Cancellation())) for _ in range(6)]
    # One answer asks for the paths once, though it writes them and counts the usual excludes.
    batches = [event for events in answers for event in events if isinstance(event, RawMatchBatch)]
    assert [batch.raw.path_json is not None for batch in batches] == [False] * LISTS_UNMADE + [True] * 3
    assert len({frames(events) for events in answers}) == 1


def test_another_case_is_found_after_a_search_for_the_same_text_beside_another(tmp_path: Path) -> None:
    files = {f"beam{number}.txt": f"lamp {number}\n" for number in range(MAX_UNNARROWED_UNITS + 1)}
    RepositoryBuilder(tmp_path / "src" / "tower").commit(files)
    engine = open_engine([tmp_path / "src"], index=tmp_path / "index")

    def answer(text: str) -> list[Event]:
        return list(engine.stream(SearchRequest(text), Viewer.owner(), Cancellation()))

    # The first two teach their shapes. The third looks for LAMP as it is written, and caches its candidates.
    for text in ("kiosk case:yes", "kiosk AND harbour case:yes", "LAMP AND beam case:yes"):
        answer(text)
    assert engine.fast_path.knows(SearchRequest("LAMP case:yes"), Viewer.owner())
    at_once = frames(answer("LAMP case:yes"))
    engine.forget_queries()
    assert at_once == frames(answer("LAMP case:yes"))
    assert b"A similar query has matches" in (at_once or b"")


def wait_for_answer(answer: Callable[[], bytes | None], text: str) -> bytes:
    """The first answer at once: on a busy machine, the look at the repositories may be too long ago."""
    answers: list[bytes] = []

    def is_answered() -> bool:
        answers.extend(filter(None, [answer()]))
        return bool(answers)

    wait_until(is_answered, text)
    return answers[0]


def test_queries_with_a_match_are_proposed_at_once(tmp_path: Path) -> None:
    files = {
        "src/one.py": "lamp Kiosk\n",
        "test/two.py": "beam\n",
        "test/three.txt": "lamp\n",
        "four": "sea beam tower\n",
    }
    RepositoryBuilder(tmp_path / "src" / "quay").commit(files)
    engine = open_engine([tmp_path / "src"], index=tmp_path / "index")

    def answer(text: str) -> list[Event]:
        return list(engine.stream(SearchRequest(text), Viewer.owner(), Cancellation()))

    def at_once(text: str) -> bytes | None:
        engine.refresh()
        small = frames(engine.fast_path.answer(SearchRequest(text), Viewer.owner()))
        if small is None:
            # On a busy machine, the index may have changed, or the look at the repositories may be too long ago.
            answer(text)
        return small

    forms = ("{0} file:test case:yes", "{0} lang:python file:test", "{0} case:yes", "{0} AND {1} -file:test case:yes")
    proposals = 0
    for form in forms:
        for word in ("BEAM", "Lamp", "lamp", "Kiosk", "KIOSK", "nowhere", "SEA", "beam"):
            text = form.format(word, "tower")
            engine.forget_queries()
            # Teaches its shape, and those of the queries that it tries.
            events = answer(text)
            answer(form.format("BEAM", "nowhere"))
            small = wait_for_answer(lambda text=text: at_once(text), text)  # type: ignore[misc]
            assert small == frames(events), text
            proposals += small.count(b'"proposedQueries"')
    assert proposals > 5, proposals


def test_queries_that_no_search_has_tried_are_proposed_at_once(tmp_path: Path) -> None:
    files = {"src/one.py": "lamp Kiosk\n", "test/two.py": "beam\n", "Test/three.txt": "Lamp sea\n"}
    RepositoryBuilder(tmp_path / "src" / "quay").commit(files)
    engine = open_engine([tmp_path / "src"], index=tmp_path / "index")

    def answer(text: str) -> list[Event]:
        return list(engine.stream(SearchRequest(text), Viewer.owner(), Cancellation()))

    def at_once(text: str) -> bytes | None:
        engine.forget_queries()
        # It has a match, so that it teaches its own shape alone.
        answer("beam file:test case:yes")
        engine.refresh()
        return frames(engine.fast_path.answer(SearchRequest(text), Viewer.owner()))

    proposals = 0
    for word in ("BEAM", "Kiosk", "Lamp", "nowhere", "kiosk", "sea"):
        text = f"{word} file:test case:yes"
        small = wait_for_answer(lambda text=text: at_once(text), text)  # type: ignore[misc]
        engine.forget_queries()
        assert small == frames(answer(text)), text
        proposals += small.count(b'"proposedQueries":[')
    assert proposals == 4, proposals


def test_the_first_search_in_a_repository_is_answered_at_once(tmp_path: Path) -> None:
    for name in ("quay", "pier", "dock", "lamp"):
        files: dict[str, str | bytes] = {
            "src/one.py": f"lamp\nbeam {name}\n",
            "test/two.py": "sea\n",
            "three.bin": b"lamp\0",
        }
        RepositoryBuilder(tmp_path / name).commit(files)
    (tmp_path / "repos.toml").write_text('[repositories."dock"]\nfork = true\n', "utf-8")
    engine = open_engine([tmp_path], index=tmp_path / "index")

    def stream(text: str) -> bytes | None:
        return frames(list(engine.stream(SearchRequest(text), Viewer.owner(), Cancellation())))

    def at_once(text: str) -> bytes | None:
        engine.refresh()
        return frames(engine.answer_at_once(SearchRequest(text), Viewer.owner()))

    def is_known(text: str) -> bool:
        stream(text)
        return engine.fast_path.knows(SearchRequest(text), Viewer.owner())

    for form in ("{0} repo:{1} count:all", "{0} case:yes repo:^({1})$", "type:file {0} AND NOT sea repo:{1}"):
        lesson = form.format("teach", "quay")
        for word, name in (("lamp", "pier"), ("beam", "dock|pier"), ("lamp", "pier|quay"), ("nowhere", "pier")):
            text = form.format(word, name)
            engine.forget_queries()
            # Opens all indexes.
            stream("teach fork:yes")
            wait_until(lambda lesson=lesson: is_known(lesson), "the shape is known")  # type: ignore[misc]
            assert not engine.fast_path.knows(SearchRequest(text), Viewer.owner())
            small = wait_for_answer(lambda text=text: at_once(text), text)  # type: ignore[misc]
            engine.forget_queries()
            assert small == stream(text), text

    # New shapes, predicates, revisions and alternations are left to the pipeline, and names of repositories.
    texts = ("lamp repo:pier", "lamp repo:has.path(one) count:all", "lamp repo:pier@HEAD count:all", "sea repo:dock")
    for text in (*texts, "/(lamp|sea)/ repo:pier case:yes", "lamp repo:nowhere count:all", "lamp repo:lamp count:all"):
        engine.forget_queries()
        wait_until(lambda: is_known("sea repo:quay count:all"), "the shape is known")
        assert at_once(text) is None, text


@pytest.mark.parametrize("seed", [7, 8])
def test_answers_at_once_are_those_of_the_long_way(engine: LocalEngine, seed: int) -> None:
    chance = random.Random(seed)  # noqa: S311 - to draw the same again
    at_once = without_match = 0
    # More than fifty shapes only where too few of them were answered at once to prove anything.
    for number in range(150):
        if number >= 50 and at_once > 45:
            break
        pattern = chance.choice(PATTERNS) if chance.random() < 0.6 else "{0}"
        filters = chance.sample(FILTERS, chance.choice((0, 0, 1, 1, 2)))
        count = chance.choice(("count:all", "count:all", "", "", "count:1000"))
        answered = True
        for turn in range(6):
            # The first answer teaches the shape. What isn't answered at once then has no such way.
            if turn == 3 and not answered:
                break
            text = pattern.format(*(chance.choice(WORDS) for _ in range(3)))
            request = SearchRequest(" ".join([text, *filters, count]).strip(), cells=chance.random() < 0.5)
            engine.refresh()
            small = frames(engine.fast_path.answer(request, Viewer.owner()))
            # A stream takes the fast path too, for a shape that it knows, also without a match.
            has_shape = engine.fast_path.knows(request, Viewer.owner())
            streamed = frames(list(engine.stream(request, Viewer.owner(), Cancellation()))) if has_shape else None
            engine.forget_queries()
            try:
                events = list(engine.stream(request, Viewer.owner(), Cancellation()))
            except QueryError:
                assert small is None
                break
            answered = small is not None
            if streamed is not None and not matches_of(events):
                without_match += 1
                assert streamed == frames(events), request.query
            if small is not None:
                at_once += 1
                assert small == frames(events), request.query
    assert at_once > 45, at_once
    assert without_match


@pytest.mark.parametrize("form", ["{0} count:all", "{0} AND tower count:all", "/({0}|nowhere)/ case:yes count:all"])
def test_large_answers_take_the_long_way(form: str, tmp_path: Path) -> None:
    """The thread of the event loop writes answers at once, and everybody waits for it."""
    builder = RepositoryBuilder(tmp_path / "quay")
    copies = {f"copies/{number}.txt": "copied tower\n" * 2 for number in range(2_500)}
    lines = "many tower\n" * 5_000
    builder.commit({**copies, "lines.txt": lines, "few.txt": "single tower\n"}, "all")
    engine = open_engine([tmp_path / "quay"], index=tmp_path / "index")

    def answer(word: str) -> list[Event] | None:
        request = SearchRequest(form.format(word))
        engine.refresh()
        return engine.fast_path.answer(request, Viewer.owner())

    def is_known() -> bool:
        # On a busy machine the first searches don't wait for the index, and teach nothing.
        teaching = SearchRequest(form.format("beam"))
        list(engine.stream(teaching, Viewer.owner(), Cancellation()))
        return engine.fast_path.knows(teaching, Viewer.owner())

    wait_until(is_known, "the shape is known")
    assert answer("single") is not None
    for word in ("copied", "many"):
        assert answer(word) is None, word
        # A thread of its own may take longer, up to its own limits.
        request = SearchRequest(form.format(word))
        events = engine.fast_path.answer(request, Viewer.owner(), IN_THREAD)
        few = replace(IN_THREAD, search=replace(IN_THREAD.search, matches=4_999))
        assert engine.fast_path.answer(request, Viewer.owner(), few) is None, word
        engine.fast_path.clear()
        expected = matches_of(list(engine.stream(request, Viewer.owner(), Cancellation())))
        assert matches_of(events) == expected, word
        assert len(expected) == (2_500 if word == "copied" else 1), word
        assert is_known()


def test_long_lines_are_answered_at_once_up_to_the_size_of_all_copies(tmp_path: Path) -> None:
    """A line of half a megabyte, beside a short file with many copies."""
    builder = RepositoryBuilder(tmp_path / "quay")
    copies = {f"copies/{number}.txt": "copied tower\n" for number in range(40)}
    line = '<a href="\x01">caf\u00e9 ' * 25_000 + "tower\n"
    builder.commit(
        {**copies, "one.html": line, **{f"twice/{n}.js": "x" * 1_500_000 + " beam\n" for n in range(2)}}, "all"
    )
    engine = open_engine([tmp_path / "quay"], index=tmp_path / "index")

    def answer(word: str) -> list[Event] | None:
        return engine.fast_path.answer(SearchRequest(f"{word} count:all"), Viewer.owner())

    def is_known() -> bool:
        list(engine.stream(SearchRequest("teaching count:all"), Viewer.owner(), Cancellation()))
        engine.refresh()
        return answer("nowhere") is not None

    wait_until(is_known, "the shape is known")
    events = answer("tower")
    assert events is not None
    # The same rows by way of a record batch.
    columns = [
        MatchBatch(event.batch, event.repositories) if isinstance(event, MatchBatch) else event for event in events
    ]
    assert frames(events) == frames(columns)
    # Both copies of a line of 1.5 MB are more than may be written at once.
    assert answer("beam") is None


def test_ranked_answers_at_once_have_the_order_of_the_long_way(tmp_path: Path) -> None:
    """Names, definitions, whole words, phrases, stars, and lines that aren't UTF-8."""
    chance = random.Random(11)  # noqa: S311 - to draw the same again
    words = ("lamp", "beam", "tower", "Tower", "quay", "sea")
    for name in ("one", "two"):
        files: dict[str, str | bytes] = {
            "bad.txt": b"\xff sea\n",
            "tower/README.md": "",
            "caf\u00e9/quay.go": "\u00e9quay",
        }
        for number in range(24):
            first, second = chance.sample(words, 2)
            folder = chance.choice(("src", "tests", "vendor", first))
            lines = (
                f"class {first}:\n    def {second}(self): ...\n",
                f"x = '{first} {second}'\n",
                f"# x{first}_{second}\n",
            )
            files[f"{folder}/{second}{number}.{chance.choice(('py', 'py', 'go'))}"] = "".join(chance.sample(lines, 2))
        RepositoryBuilder(tmp_path / name).commit(files, "all")
    (tmp_path / "repos.toml").write_text('[repositories."two"]\nstars = 900\n', "utf-8")
    engine = open_engine([tmp_path], index=tmp_path / "index")
    targets = [engine.target_of(repository) for repository in engine.catalog.repositories]
    for _ in engine.definitions.wait(targets, Cancellation(), None):
        pass

    def long(query: str) -> list[Event]:
        engine.fast_path.clear()
        return list(engine.stream(SearchRequest(query), Viewer.owner(), Cancellation()))

    at_once = 0
    for form in ("{0}", "{0} {1}", "{0} OR {1}", "{0} case:yes", "/({0}|{1})/ case:yes", "{0} -file:test count:99"):
        for first in words:
            second = chance.choice([word for word in words if word != first])
            query = form.format(first, second)
            long(form.format("nowhere", "sea"))
            small = frames(engine.fast_path.answer(SearchRequest(query), Viewer.owner()))
            assert small is None or small == frames(long(query)), query
            at_once += small is not None
    assert at_once > 20, at_once
    long("nowhere")
    request = SearchRequest("lamp", display=2)
    assert engine.fast_path.answer(request, Viewer.owner()) is None
    engine.close()

"""Questions for defaults as people type them, over the forms in which languages write defaults."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from engines.deepsearch.asking import research
from sourcelight.backends.embedded import open_engine
from sourcelight.engines.deepsearch.lookups.prose_values.names import is_written
from sourcelight.engines.deepsearch.lookups.prose_values.question import read_value_question
from sourcelight.engines.execution import LocalEngine
from sourcelight.testing import RepositoryBuilder

FILES: dict[str | bytes, str | bytes | None] = {
    "src/Harbor/Config.hs": (
        "module Harbor.Config where\n\n"
        "-- | Colors of buoys.\n"
        "quietBuoyColor, loudBuoyColor :: String\n"
        'quietBuoyColor = "gray" -- "#dddddd", not "blue"\n'
        'loudBuoyColor  = "red"  -- never "green"\n'
    ),
    "src/config.rs": (
        "impl Default for Lookout {\n    fn default() -> Lookout {\n        Lookout {\n"
        "            limit_sightings: 30,\n            keep_watch: true,\n        }\n    }\n}\n\n"
        "#[cfg(test)]\nmod tests {\n    fn given() -> Lookout {\n"
        "        Lookout { limit_sightings: 99, keep_watch: false }\n    }\n}\n"
    ),
    "src/signals.js": (
        "// pennant: 'never', in a comment\nconst defaults = {\n  pennant: 'QUEBEC',\n  pennant_pole: 12,\n};\n"
        "module.exports = defaults;\n"
    ),
    "src/DetectTides.cs": (
        "class DetectTidesAttribute\n{\n    public DetectTidesAttribute(bool detectTides = true)\n    {\n    }\n}\n"
    ),
    "src/net.py": "def load_cargo(path, skip_empty_crates=True):\n    return path\n",
}  # fmt: skip


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalEngine]:
    root = tmp_path_factory.mktemp("harbors")
    RepositoryBuilder(root / "harbor").commit(FILES, "Open the harbor")
    engine = open_engine([root], index=root / "index", workers=1)
    yield engine
    engine.close()


def first_sentence(engine: LocalEngine, question: str) -> str:
    """What an answer states, without links; empty if it only shows places."""
    text = research(engine, question).text.split("\n## ")[0]
    stated = re.split(r"Most relevant:|No direct answer", text)[0]
    return re.sub(r"\s*\[[^\]]*\]|\s*\([^)]*@[^)]*\)", "", stated).strip()


@pytest.mark.parametrize(
    ("question", "value"),
    [
        ("What is the default of loudBuoyColor?", '`"red"`'),
        ("what does quietBuoyColor default to", '`"gray"`'),
        ("How many sightings are shown at most by default?", "`30`"),
        ("Is keep-watch on by default?", "`true`"),
        ("Is `keep-watch` enabled by default?", "`true`"),
        ("Which pennant does harbor send by default?", "`'QUEBEC'`"),
        ("Which pennant is picked by default?", "`'QUEBEC'`"),
    ],
)
def test_a_default_is_stated(engine: LocalEngine, question: str, value: str) -> None:
    assert value in first_sentence(engine, question)


@pytest.mark.parametrize(
    "question",
    [
        # A number and a thing aren't whether something is done.
        "How many crates does load_cargo read at most by default?",
        "Which tides does tide detection try by default?",
        "What tides does it detect by default?",
    ],
)
def test_true_is_no_number_and_no_thing(engine: LocalEngine, question: str) -> None:
    sentence = first_sentence(engine, question)
    assert "`true`" not in sentence
    assert "`True`" not in sentence


def test_a_verb_that_says_nothing_is_no_word_of_a_value() -> None:
    for text in ("How many hits are shown by default?", "How many hits does it print at most by default?"):
        question = read_value_question(text)
        assert question is not None
        assert question.words == ("hits",)

    # Before a noun, the same word tells a value apart.
    question = read_value_question("What is the default send timeout?")
    assert question is not None
    assert "send" in question.words


def test_a_key_with_hyphens_is_written_in_other_ways() -> None:
    assert all(is_written("keep-watch", name) for name in ("keep_watch", "keepWatch", "KEEP_WATCH", "keep-watch"))
    assert not any(is_written("keep-watch", name) for name in ("keep_watches", "watch", "keep_watch_on"))
    # A name without hyphens is written in one way.
    assert not is_written("keepWatch", "keep_watch")

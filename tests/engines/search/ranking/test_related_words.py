"""Questions in other words than those of the code."""

from __future__ import annotations

from pathlib import Path

import pytest

from sourcelight.backends.embedded import open_engine
from sourcelight.core.cancellation import Cancellation
from sourcelight.engines.execution import LocalEngine
from sourcelight.engines.execution.natural_language import RankedSearch, rank
from sourcelight.engines.search.ranking import Ranking
from sourcelight.engines.search.ranking.question import analyze
from sourcelight.engines.search.ranking.terms import related_words
from sourcelight.engines.search.ranking.terms.related_words import RELATED_WEIGHT, related_terms, verb_of
from sourcelight.engines.search.ranking.terms.tokenizer import stem
from sourcelight.repos import Viewer
from sourcelight.testing import RepositoryBuilder

FILES: dict[str | bytes, str | bytes | None] = {
    "harbor/berths.py": "def discard_dir(berth):\n    berth.dir = berth.crane.unlink(berth.dir)\n    return berth\n",
    "harbor/tides.py": "def rise(tide):\n    # Once the moon has passed.\n    return tide.moon + 1\n",
    "harbor/locks.py": "def gate_closed(gate):\n    return gate.lowered\n",
    "harbor/remove.py": "def removed(crane):\n    return crane.hook\n",
}


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> LocalEngine:
    repo = RepositoryBuilder(tmp_path_factory.mktemp("code") / "port")
    repo.commit(FILES)
    return open_engine([repo.path], index=tmp_path_factory.mktemp("index"), workers=1)


def ask(engine: LocalEngine, text: str) -> Ranking:
    return rank(engine, RankedSearch(text, limit=10), Viewer.owner(), Cancellation())


def paths_of(ranking: Ranking) -> list[str]:
    return list(dict.fromkeys(chunk.path for chunk in ranking.chunks))


@pytest.mark.parametrize(
    "text",
    [
        "where is a folder of a berth dropped",
        "When is the folder of a berth dropped?",
        "folders of berths?",
        "how to drop a folder",
        "which berth is its folder of",
        "what if the folder is gone",
    ],
)
def test_a_question_finds_other_words_for_its_own(engine: LocalEngine, text: str) -> None:
    """A folder is a `dir`, however the question is put, and the word itself is reported as missing."""
    ranking = ask(engine, text)
    assert paths_of(ranking)[0] == "harbor/berths.py"
    assert any(word.startswith("folder") for word in ranking.unknown)


def test_a_word_of_the_question_counts_more_than_one_for_it(engine: LocalEngine) -> None:
    """The file that has the word itself is first, and one with a related word follows."""
    assert paths_of(ask(engine, "What is removed?")) == ["harbor/remove.py", "harbor/berths.py"]


@pytest.mark.parametrize(
    "text",
    [
        "folder",
        "Remove the folder when it is closed",
        "When closed, the folder is empty",
        "Where possible the folder stays",
        "`remove_folder`",
        "fix: which folder",
    ],
)
def test_a_text_that_asks_nothing_is_taken_at_its_word(text: str) -> None:
    """A sentence, a subject of a commit or a name may be quoted from the code, so it has its own words alone."""
    question = analyze(text)
    assert not question.is_asked
    assert question.scored_terms == question.terms
    assert question.related == {}


def test_a_report_that_ends_with_a_question_has_its_own_words() -> None:
    """The text of an issue is no question, whatever its last sentence."""
    report = " ".join(f"folder{letter}" for letter in "abcdefghijklmnopqrstuvwxyz") + " is removed. Any ideas?"
    assert not analyze(report).is_asked


def test_related_words_change_nothing_else_of_a_question(engine: LocalEngine) -> None:
    """Numbers of words, their weights and what is reported are those of the question's own words."""
    question = analyze("Where is the old folder of the crane kept open?")
    assert "dir" in question.related
    assert question.related.keys().isdisjoint(question.terms)
    assert question.length == len([term for term in question.terms if not term.startswith("=")])
    assert set(ask(engine, question.text).idf) <= set(question.terms)
    assert all(question.scored_terms[term] == question.terms[term] for term in ("folder", "crane", "open"))


def test_neighboring_words_of_a_long_question_are_seldom_a_name() -> None:
    """A rate limiter may be a RateLimiter; most pairs of a sentence of many words name nothing, and weigh less."""
    question = analyze("where is the rate limiter")
    assert question.scored_terms["=ratelimiter"] == question.terms["=ratelimiter"]
    question = analyze("where is the rate limiter of a request of one account made")
    assert 0.0 < question.scored_terms["=ratelimiter"] < question.terms["=ratelimiter"]
    question = analyze("where is the limit of `rateLimit` of one account checked")
    assert question.scored_terms["=ratelimit"] == question.terms["=ratelimit"] == 1.0


def test_weights_of_related_words_follow_those_of_their_words() -> None:
    """The best of several words gives the weight, a term of the question gets none, and a joined name is no word."""
    assert related_terms({"folder": 2.0, "directori": 1.0, "=folderdirectory": 9.0})["dir"] == 2.0 * RELATED_WEIGHT
    assert "dir" not in related_terms({"folder": 1.0, "dir": 1.0})
    assert related_terms({"zebra": 1.0}) == {}


def test_irregular_participles_and_other_spellings_are_related() -> None:
    """A question asks where text is *written* or *normalised*; code has `write` and `normalize`."""
    assert related_terms({"written": 1.0}) == {"write": RELATED_WEIGHT}
    assert verb_of("hidden") == "hide"
    assert verb_of("parsed") == ""
    assert related_terms({stem("normalised"): 1.0}) == {stem("normalize"): 1.0}
    assert related_terms({stem("colour"): 1.0}) == {"color": 1.0}
    assert "colour" in related_terms({"color": 1.0})
    assert related_terms({"this": 1.0}) == {}


def test_most_words_have_few_related_ones() -> None:
    """Each related word is looked up as well, so no word has more than a dozen."""
    words = Path(related_words.__file__).read_text("utf-8").lower().split()
    for word in words:
        term = word.strip(':,."')
        assert len(related_terms({term: 1.0})) <= 12, term

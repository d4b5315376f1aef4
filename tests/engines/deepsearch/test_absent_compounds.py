"""Questions for a name of two words that no line has in any spelling, although each word is somewhere."""

from __future__ import annotations

from pathlib import Path

import pytest

from engines.deepsearch.asking import research
from sourcelight.backends.embedded import open_engine
from sourcelight.engines.deepsearch.question.lookups.existence_wording import absent_compound
from sourcelight.testing import RepositoryBuilder

pytestmark = pytest.mark.timeout(90)

BASE = {
    "ferry.py": "def cross(rate, boat):\n    return boat\n\n\ndef load(boat):\n    return 1  # A size limit holds.\n",
    "page.min.js": f"{'var x=1;' * 300}var rate=1;{'y(2);' * 100}var limit=2;\n",
    "README.md": "# Ferry\n\nCrosses with boats.\n",
}
SENTENCE = (
    "No searched line has `rate limiting` in any spelling, nor `rate` and `limiting` together. Code may do it under "
    "another name"
)


def ask(folder: Path, files: dict[str, str], question: str = "Is there rate limiting?") -> str:
    """Return the first paragraph of the answer about a repository with these files."""
    repo = RepositoryBuilder(folder / "ferry")
    repo.commit({**BASE, **files}, "Start")
    engine = open_engine([repo.path], index=folder / "index", workers=1)
    return research(engine, question).text.split("\n\n")[0]


def test_a_name_of_two_words_is_absent_though_each_is_somewhere(tmp_path: Path) -> None:
    """A line of minified code has both words, far from each other."""
    assert ask(tmp_path, {}, "Does ferry come with rate limiting middleware?").startswith(SENTENCE)


@pytest.mark.parametrize(
    "files",
    [
        {"a.py": "RATE_LIMIT = 3\n"},
        {"a.go": "type RateLimiter struct{}\n"},
        {"a.md": "It is rate-limited.\n"},
        {"a.md": "The requests are rate\nlimited by the server.\n"},
        {"a.yml": "rates.limits: 3\n"},
        {"ratelimit.c": "int x;\n"},
        {"a.py": "def throttle(boat):\n    pass\n"},
        {"a.py": "bucket = TokenBucket()\n"},
        {"a.py": "max_rate = 3\n"},  # a word of the same meaning
        {"a.md": "The limit of the rate is 3.\n"},
        {"a.py": "class Limiter:\n    pass\n"},
        {"limits/a.py": "pass\n"},
    ],
)
def test_nothing_is_denied_if_a_line_may_have_it_in_other_words(tmp_path: Path, files: dict[str, str]) -> None:
    assert "No searched" not in ask(tmp_path, files)


def test_a_root_in_a_document_is_not_denied(tmp_path: Path) -> None:
    """What says "a pool of size 1" is about pooling."""
    assert "No searched" not in ask(
        tmp_path, {"b.md": "A pool of size 1.\nA connection.\n"}, "Is there connection pooling?"
    )


@pytest.mark.parametrize(
    ("question", "name"),
    [
        ("Does it ship a date picker?", "date picker"),
        ("does \u00b7 support emoji shortcodes", "emoji shortcodes"),
        ("Is there dark mode?", ""),
        ("Is there soft-delete support here?", "soft delete"),
        ("Does it fetch exchange rates?", ""),  # another verb
        ("Does it support double width characters?", ""),  # three words
        ("Is there hot reload?", ""),  # its first word only describes
        ("Who added rate limiting?", ""),
    ],
)
def test_a_name_of_two_words_is_read(question: str, name: str) -> None:
    assert absent_compound(question, frozenset({"ferry"})) == name

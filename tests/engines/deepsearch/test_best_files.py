"""Places of which no name has all words: the first file of the ranking, if names and comments in it have enough."""

from __future__ import annotations

import pytest

from engines.deepsearch.asking import research
from sourcelight.backends.embedded import open_engine
from sourcelight.engines.deepsearch.lookups.described_places.wording import read_place_question
from sourcelight.engines.execution import LocalEngine
from sourcelight.testing import RepositoryBuilder

pytestmark = pytest.mark.timeout(90)

FILES = {
    "src/calendar/spans.py": (
        '"""Spans of time."""\n\n\nclass Span:\n    """A span between two moments."""\n\n'
        '    def merge_all(self, spans):\n        """Join spans that overlap or touch each other."""\n'
        "        joined = []\n        for span in spans:\n            joined.append(span)\n        return joined\n\n"
        "    def length(self):\n        return self.end - self.start\n"
    ),
    "src/calendar/slugs.py": (
        '"""Short names."""\n\n\ndef titleize_slug(slug):\n    """Take a slug and turn it into a title."""\n'
        "    return slug.replace('-', ' ')\n"
    ),
    "src/calendar/hostkeys.py": (
        "import base64\n\n\nclass HostKeys:\n"
        '    """Keys of trusted hosts, as a file of known hosts has them."""\n\n'
        "    def load(self, filename):\n        with open(filename) as lines:\n"
        "            return [base64.b64decode(line)"
        " for line in lines]\n"
    ),
    "src/calendar/alarms.lua": (
        "-- Rings a bell when a meeting begins soon.\nlocal function ring_soon(meeting)\n  return meeting\nend\n"
        "return ring_soon\n"
    ),
    "src/calendar/left_pool.py": (
        'class LeftPool:\n    """Reuse open sockets of the left side."""\n\n    def take(self):\n        return self\n'
    ),
    "src/calendar/right_pool.py": (
        'class RightPool:\n    """Reuse open sockets of the right side."""\n\n    def take(self):\n'
        "        return self\n"
    ),
    "src/calendar/start.py": "from calendar.spans import Span\n\n\ndef start():\n    return Span()\n",
    "examples/merge_intervals.py": "def merge_intervals(a, b):\n    return a + b  # intervals that overlap\n",
    "src/calendar/overdue.py": (
        "def overdue(invoices, today):\n    return [invoice for invoice in invoices if invoice.due < today]\n\n\n"
        "def remind(invoices, today):\n    for invoice in overdue(invoices, today):\n        invoice.remind()\n"
    ),
    "src/calendar/mail.py": (
        "def mail_invoice(invoice):\n    invoice.customer.mail(invoice.text)\n\n\ndef mail(text):\n    return text\n"
    ),
    "src/calendar/queue.rs": (
        "pub fn wait_for_all(queue: &Queue) {\n    queue.wait();\n}\n\n#[cfg(test)]\nmod tests {\n"
        "    fn postponed_entries() {\n        wait_for_all(&entries());\n    }\n}\n"
    ),
    "src/calendar/choices.py": "def parsed_early_choices(line):\n    return line.choices\n",
    "src/calendar/archive.py": (
        "def is_inner_entry(entry):\n"
        '    """Tell whether an entry of an archive stays in the output directory, and can\'t escape it."""\n'
        "    return not entry.startswith('..')\n"
    ),
    "src/calendar/rooms.py": "def book(room):\n    return room.free\n",
    "src/calendar/printer.py": (
        "def prints(page):\n    # Prints a page for the printer of the office.\n    return page\n"
    ),
    "src/calendar/lib/printJson.py": "def run(value):\n    return str(value)\n",
    "docs/guide.md": "# Guide\n\nThe report lists overdue invoices of all customers once a month.\n",
    "README.md": "# Calendar\n\nA calendar for teams.\n",
}


@pytest.fixture(scope="module")
def calendar(tmp_path_factory: pytest.TempPathFactory) -> LocalEngine:
    """A repository in which each question has one place, and none of its names has all words."""
    folder = tmp_path_factory.mktemp("calendar")
    repo = RepositoryBuilder(folder / "calendar")
    repo.commit(FILES, "Start")
    return open_engine([repo.path], index=folder / "index", workers=1)


@pytest.mark.parametrize(
    ("question", "start"),
    [
        (
            "Where does it merge stretches that overlap?",
            "`merge_all` is defined in `src/calendar/spans.py`, line 7, as a method of `Span`: “Join spans",
        ),
        (
            "Which file reads the known hosts?",
            "`src/calendar/hostkeys.py` defines `HostKeys` in line 4: “Keys of trusted hosts, as a file of known",
        ),
        (
            "where is the bell rung before a meeting",
            "`src/calendar/alarms.lua` begins with “Rings a bell when a meeting begins soon.”",
        ),
        (
            "Which file lists overdue invoices of customers?",
            "`src/calendar/overdue.py` is named for `overdue`, and is the first file of the ranking",
        ),
        (
            "Where are the free ones that belong to rooms booked?",
            "`src/calendar/rooms.py` is named for `rooms`, and is the first file of the ranking",
        ),
    ],
)
def test_the_first_file_of_the_ranking_is_stated(calendar: LocalEngine, question: str, start: str) -> None:
    assert research(calendar, question).text.startswith(start)


@pytest.mark.parametrize(
    "question",
    [
        "Where are titles turned into slugs?",  # the only text turns slugs into titles
        "Which class reuses open connections?",  # two fit as well
        "Where is the password checked?",  # no file has it
        "Where does it look after postponed entries?",  # a test
        "where does it load .env files",  # one word of two
        "Where are early choices parsed?",  # the only name has what was parsed
        "where is the json printer of the office page",  # another file is named for it
        "where is the check against entries that escape the output directory",  # the only one tells of entries
    ],
)
def test_nothing_is_stated_of_a_place_without_a_lead(calendar: LocalEngine, question: str) -> None:
    first = research(calendar, question).text.split("\n\n")[0]
    assert " is defined in " not in first
    assert " defines " not in first


def test_a_file_of_code_comes_before_a_sentence_of_a_document(calendar: LocalEngine) -> None:
    text = research(calendar, "Which file mentions overdue bills of customers once a month?").text
    assert text.split("1. ", 1)[1].startswith("`overdue` in `src/calendar/overdue.py`")
    assert "docs/guide.md" in text


def test_tests_within_code_come_last(calendar: LocalEngine) -> None:
    text = research(calendar, "Where does it wait for postponed entries?").text
    assert "1. `postponed_entries`" not in text
    text = research(calendar, "Which test looks after postponed entries?").text
    assert "`postponed_entries`" in text


@pytest.mark.parametrize(
    "question",
    [
        "Where was the parser moved to?",
        "Which file was removed in March?",
        "Which files include common.h?",
        "Where do we use the parser?",
        "Which template engine does it use?",
        "Which file is the largest?",
        "Where are the colors defined?",
        "Which file does the server need?",
        "Which file is the log written to?",
        "What type is the timeout?",
        "Which plugin is used here?",
    ],
)
def test_questions_for_history_uses_and_names_are_no_places(question: str) -> None:
    assert read_place_question(question) is None


@pytest.mark.parametrize(
    ("question", "noun", "text"),
    [
        ("In which module is the retry logic?", "file", "is the retry logic"),
        ("In which file is the code that skips hidden files?", "file", "skips hidden files"),
        (
            "Where's the bit that throws away cookies when a redirect leads elsewhere?",
            "any",
            "throws away cookies when a redirect leads elsewhere",
        ),
        ("Which exception is used for duplicate keys?", "any", "exception is used for duplicate keys"),
        ("Which file measures how long an operation took?", "file", "measures how long an operation took"),
        ("the formatter that spits out a diff, what file's that", "file", "has the formatter that spits out a diff"),
        ("the bit that joins quoted lines - where's that", "any", "joins quoted lines"),
        ("the thing that finds the config on windows", "any", "finds the config on windows"),
        ("what file has the code that uses an HttpClient?", "file", "uses an HttpClient"),
        ("Which file does gzip compression?", "file", "does gzip compression"),
        ("which class is a map that ignores case", "type", "is a map that ignores case"),
        ("Which rule finds empty loops?", "any", "rule finds empty loops"),
    ],
)
def test_clauses_describe_a_place(question: str, noun: str, text: str) -> None:
    read = read_place_question(question)
    assert read is not None
    assert (read.noun, read.text) == (noun, text)

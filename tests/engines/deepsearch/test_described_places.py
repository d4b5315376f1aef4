"""Places that a question describes: files by their paths and first comments, definitions by names and documentation."""

from __future__ import annotations

import pytest

from engines.deepsearch.asking import research
from sourcelight.backends.embedded import open_engine
from sourcelight.engines.deepsearch.facts.model import Work
from sourcelight.engines.deepsearch.facts.searches import find_rows, has_row, make_queries
from sourcelight.engines.deepsearch.lookups.described_places.concepts import forms_of, read_description, words_of_name
from sourcelight.engines.deepsearch.lookups.described_places.wording import read_place_question
from sourcelight.engines.deepsearch.question.request import FactRequest
from sourcelight.engines.deepsearch.requests import open_inquiry
from sourcelight.engines.execution import LocalEngine
from sourcelight.engines.tools import ToolContext
from sourcelight.repos import Viewer
from sourcelight.testing import RepositoryBuilder

pytestmark = pytest.mark.timeout(90)

FILES = {
    "src/shop/sse.py": '"""Decode server-sent events."""\n\n\ndef decode(stream):\n    return list(stream)\n',
    "src/shop/net/errorpages.py": "PAGE = '<html>%s</html>'\n\n\ndef write(text):\n    return PAGE % text\n",
    "src/shop/labels.py": (
        '"""Labels of goods."""\n\n\ndef check_label_name(text):\n    return text.isalpha()\n\n\n'
        'def parse_hex4(text):\n    """Parse a hexadecimal number of 4 digits."""\n    return int(text[:4], 16)\n\n\n'
        "def read_label(text):\n    return chr(parse_hex4(text))\n"
    ),
    "src/shop/guard.py": (
        '"""Guards."""\n\n\nclass Recoverer:\n    """Middleware that recovers from panics and logs them."""\n\n'
        "    def run(self, handler):\n        return handler()\n"
    ),
    "src/shop/home.lua": "-- Paths.\nlocal function expand_home(path)\n  return path\nend\nreturn expand_home\n",
    "src/shop/merge_rows.py": "def merge_rows(left, right):\n    return left + right\n",
    "src/shop/merge_rows_again.py": "def rows_merge(left, right):\n    return right + left\n",
    "src/shop/rules/no_trailing_space.py": "def check(line):\n    return not line.endswith(' ')\n",
    "src/shop/draw.py": "class RateLimiter:\n    pass\n\n\nclass Bars:\n    def draw(self):\n        return self\n",
    "src/shop/panels.py": "def panels():\n    return ['sidebar']\n",
    "src/shop/panels/left.py": "def left():\n    return 1\n",
    "src/shop/hardening/ctrlaltdel.sh": "#!/bin/sh\nsystemctl mask ctrl-alt-del.target\n",
    "src/shop/exchange.py": (
        "def convert_price_list(prices, rate):\n    return [price * rate for price in prices]\n\n\n"
        "def price_of_list(prices):\n    return sum(prices)\n"
    ),
    "src/shop/refunds.py": (
        "import math\nimport time\n\nfrom shop import labels\n\n# Prints refunds to the till of a branch.\n\n\n"
        "def write(refund):\n    return math.floor(refund)\n"
    ),
    "src/shop/receiptlist.py": "def show(items):\n    return list(items)\n",
    "src/shop/shelves.py": (
        "def sync_stock(stock):\n"
        '    """Complete the generation of the stock by accepting, of all members, what is assigned to shelves."""\n'
        "    return stock\n"
    ),
    "src/shop/coupons.py": "def discard_old_coupons(coupons):\n    return coupons[:9]\n",
    "_examples/label-forward/labelforward.py": "print('label')\n",
    "src/shop/types.ts": "export interface UrlResolver {\n  resolve(base: string): string\n}\n",
    "src/shop/Sink.cs": (
        "namespace Shop;\n\npublic interface ISink\n{\n    Task EmitBillsAsync(IReadOnlyCollection<Bill> bills);\n}\n"
    ),
    "scripts/generate-codeowners.sh": "#!/bin/sh\necho '* @shop' > .github/CODEOWNERS\n",
    ".github/CODEOWNERS": "* @shop\n",
    "tests/test_labels.py": "def test_check_label_name():\n    assert check_label_name('a')\n",
}


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> LocalEngine:
    """A repository with a file or a function for each question."""
    folder = tmp_path_factory.mktemp("shop")
    repo = RepositoryBuilder(folder / "shop")
    repo.commit(FILES, "Start")
    return open_engine([repo.path], index=folder / "index", workers=1)


@pytest.mark.parametrize(
    ("question", "start"),
    [
        ("Which file handles server-sent events?", "`src/shop/sse.py` begins with “Decode server-sent events.”"),
        (
            "which script generates the CODEOWNERS file",
            "`scripts/generate-codeowners.sh` is the only file of code outside",
        ),
        (
            "In what file do I find the HTML of the error pages?",
            "`src/shop/net/errorpages.py` is the only file of code",
        ),
        ("Where do we check that a label's name is legal?", "`check_label_name` is defined in `src/shop/labels.py`"),
        (
            "where is the middleware that recovers from panics",
            "The documentation of `Recoverer` in `src/shop/guard.py`, line 5",
        ),
        (
            "whereabouts does it expand a leading ~ to the home directory",
            "`expand_home` is defined in `src/shop/home.lua`, line 2",
        ),
        ("Which function expands the home path?", "`expand_home` is defined in `src/shop/home.lua`, line 2"),
        (
            "Which file checks for trailing space?",
            "`src/shop/rules/no_trailing_space.py` is the only file of code outside",
        ),
        ("Where is the rate limiter for redraws", "`RateLimiter` is defined in `src/shop/draw.py`, line 1"),
        ("Which file disables ctrl-alt-del?", "`src/shop/hardening/ctrlaltdel.sh` is named for `ctrlaltdel`"),
        (
            "which file draws the list of receipts",
            "`src/shop/receiptlist.py` is the only file of code outside of tests whose path has the words `receipt`",
        ),
        ("which function throws away old coupons", "`discard_old_coupons` is defined in `src/shop/coupons.py`"),
        ("which file prints refunds to the till", "`src/shop/refunds.py` says in line 6: “Prints refunds to"),
        (
            "where is the list of prices converted when the newest exchange rates of a bank arrive",
            "`convert_price_list` is defined in `src/shop/exchange.py`, line 1",
        ),
        ("who calls the function that parses four hex digits?", "`parse_hex4` is called by `read_label`"),
        ("where's the hex4 parser called from?", "`parse_hex4` is called by `read_label`"),
    ],
)
def test_the_only_place_with_the_words_is_stated(shop: LocalEngine, question: str, start: str) -> None:
    assert research(shop, question).text.startswith(start)


@pytest.mark.parametrize(
    "question",
    [
        "Where are rows merged?",  # two functions fit as well
        "Where is the message about illegal labels made?",  # no name has its words
        "Which file handles sessions?",
        "which file has the sidebar panel",  # a folder gives another file the word, too
        "which file draws several bars at once",  # one word is no name of it
        "where are members of the stock generation assigned to shelves",  # a sentence that says something else
        "Which file does label forwarding?",  # an example
        "where are urls resolved",  # an interface does nothing
        "where are bills sent",  # an interface only declares it
        "where is the price list of the newest exchange rates printed",  # no name has what is done
    ],
)
def test_nothing_is_stated_without_the_only_place(shop: LocalEngine, question: str) -> None:
    first = research(shop, question).text.split("\n\n")[0]
    assert " is defined in " not in first
    assert " is the only file " not in first
    assert " is the only file " not in first


@pytest.mark.parametrize(
    ("question", "noun", "text", "asks_callers"),
    [
        ("Which file parses the output of lsof?", "file", "parses the output of lsof", False),
        ("Whereabouts is the retry logic?", "any", "the retry logic", False),
        ("Where is the code that quotes a shell argument?", "any", "quotes a shell argument", False),
        ("who uses the helper that expands a tilde, apart from tests?", "function", "expands a tilde", True),
        ("From where is the stack printer used?", "function", "the stack printer", True),
    ],
)
def test_a_question_is_read_without_its_form(question: str, noun: str, text: str, asks_callers: bool) -> None:  # noqa: FBT001
    read = read_place_question(question)
    assert read is not None
    assert (read.noun, read.text, read.asks_callers) == (noun, text, asks_callers)


@pytest.mark.parametrize(
    "question",
    [
        "Which file was changed last?",
        "Which header does the id middleware read its id from?",
        "Which file does it write its log to?",
        "Where is the timeout set to 5 by default?",
        "Who wrote the parser?",
    ],
)
def test_questions_for_history_and_defaults_describe_no_place(question: str) -> None:
    assert read_place_question(question) is None


def test_irregular_participles_are_verbs() -> None:
    assert forms_of("write") <= forms_of("written")
    read = read_place_question("Where are logs written?")
    assert read is not None
    assert read.passive_verb == "written"


def test_words_are_compared_by_stem_initials_and_pairs() -> None:
    description = read_description("decodes server-sent events in camel case", frozenset())
    assert description is not None
    assert description.coverage(["sse"]) == {1, 2, 3}
    assert description.coverage(words_of_name("camelcase_decoder")) == {0, 4, 5}
    assert forms_of("normaliser") & forms_of("normalize")
    assert "tilde" in words_of_name("a leading ~/")
    assert "dotenv" in words_of_name("reads .env files")


def test_a_search_with_too_many_rows_ends_early(shop: LocalEngine) -> None:
    context = ToolContext(shop, Viewer.owner())
    work = Work(FactRequest("lookup"), open_inquiry("", "", context), lambda _: None)
    queries = make_queries(work, "type:file case:no /def/")
    lines = find_rows(work, queries).lines
    assert len(lines) > 3
    assert find_rows(work, queries, max_rows=len(lines)).lines == lines
    too_many = find_rows(work, queries, max_rows=len(lines) - 1)
    assert too_many.is_cut
    assert not find_rows(work, queries, max_rows=len(lines)).is_cut
    assert has_row(work, queries, lambda row: row["path"].endswith("sse.py"))
    assert not has_row(work, queries, lambda row: row["path"].endswith("sse.rs"))

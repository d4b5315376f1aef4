"""Facts that a question asks for: what becomes scope, what is said of what does not, and what a model gets."""

from __future__ import annotations

import re
import shutil
import subprocess
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import sourcelight
from engines.deepsearch.asking import OPEN, SECRET, research
from engines.deepsearch.test_model import ask as ask_model
from engines.deepsearch.test_model import sent
from sourcelight.backends.embedded import open_engine
from sourcelight.engines.deepsearch.question import RepositoryNames, read_request, read_scope
from sourcelight.engines.deepsearch.question.request import PathScope, past_scope
from sourcelight.engines.execution import LocalEngine
from sourcelight.repos import Viewer
from sourcelight.testing import RepositoryBuilder
from sourcelight.testing.scripted_model import Say

pytestmark = pytest.mark.timeout(90)

NAMES = (
    "host.example/blue/express",
    "host.example/blue/requests",
    "host.example/red/requests-old",
    "host.example/red/vault",
)
NOW = datetime(2024, 5, 15, 12, tzinfo=UTC)


class Tree:
    """A tree with a few paths, in place of a repository's."""

    def find(self, text: str) -> PathScope | None:
        exists = text.strip("/") in {"docs", "src/app.py", "vault"}
        return PathScope(text, f"^{text}", text, "." in text) if exists else None

    def is_folder(self, text: str) -> bool:
        return text.strip("/") in {"docs", "vault"}

    def folders_called(self, names: frozenset[str]) -> tuple[str, ...]:
        return tuple(folder for folder in ("docs", "vault") if folder in names)

    def has_folder(self, scope: PathScope) -> bool:
        return scope.glob in {"docs/", "vault/"}

    def find_named(self, name: str) -> PathScope | None:
        return self.find(name) if name.startswith("src/") else None

    def find_past(self, text: str) -> PathScope | None:
        return past_scope(text, text, was_there=True) if text == "lib/old" else None

    def is_one_repository(self) -> bool:
        return False

    def find_revision(self, text: str) -> str:
        return text if re.fullmatch(r"v\d(\.\d)*", text) else ""


@pytest.mark.parametrize(
    ("question", "names"),
    [
        ("How many files are in express?", ["host.example/blue/express"]),
        ("How many Go files does requests have?", ["host.example/blue/requests"]),
        ("What are the names of requests' tests?", ["host.example/blue/requests"]),
        ("How many requests commits are there since 2023?", ["host.example/blue/requests"]),
        (
            "How many files in express and requests are tests?",
            ["host.example/blue/express", "host.example/blue/requests"],
        ),
        ("How many files have the repositories of red?", ["host.example/red/requests-old", "host.example/red/vault"]),
        ("Who wrote most of red/vault?", ["host.example/red/vault"]),
        ("How many requests are retried?", []),
        ("Which files import requests?", []),
        ("Which repositories depend on express?", []),
        ("How many files mention the word vault?", []),
        ("How many files express doubt?", []),
    ],
)
def test_names_become_scope_where_the_sentence_says_so(question: str, names: list[str]) -> None:
    """By their place: a word that happens to be a name, and what is imported or mentioned, is no scope."""
    scope = read_scope(question, RepositoryNames(NAMES, frozenset(NAMES)), by_word=True)
    assert sorted({name for part in scope.parts for name in part.values}) == names


def test_prose_needs_more_than_a_word() -> None:
    """A question that asks for no fact is narrowed by full names, and by what is called a repository."""
    names = RepositoryNames(NAMES, frozenset(NAMES))
    assert read_scope("How are requests in express retried?", names, by_word=False).parts == ()
    at_the_end = read_scope("How are requests retried in express?", names, by_word=False)
    assert [part.source_text for part in at_the_end.parts] == ["express"]
    assert read_scope("How does blue/express route?", names, by_word=False).named_scope
    assert read_scope("How does the express repository route?", names, by_word=False).named_scope


@pytest.mark.parametrize(
    ("words", "after", "before"),
    [
        ("since 2023", "2022-12-31T23:59:59Z", ""),
        ("after 2022", "2022-12-31T23:59:59Z", ""),
        ("before 2023", "", "2023-01-01T00:00:00Z"),
        ("until 2022", "", "2023-01-01T00:00:00Z"),
        ("in 2023", "2022-12-31T23:59:59Z", "2024-01-01T00:00:00Z"),
        ("between 2021 and 2022", "2020-12-31T23:59:59Z", "2023-01-01T00:00:00Z"),
        ("in March 2023", "2023-02-28T23:59:59Z", "2023-04-01T00:00:00Z"),
        ("in Q2 2023", "2023-03-31T23:59:59Z", "2023-07-01T00:00:00Z"),
        ("on 2023-05-01", "2023-04-30T23:59:59Z", "2023-05-02T00:00:00Z"),
        ("since 1 May 2023", "2023-04-30T23:59:59Z", ""),
        ("last year", "2022-12-31T23:59:59Z", "2024-01-01T00:00:00Z"),
        ("this month", "2024-04-30T23:59:59Z", "2024-06-01T00:00:00Z"),
        ("in the last 30 days", "2024-04-14T23:59:59Z", ""),
        ("in the past two years", "2022-05-14T23:59:59Z", ""),
    ],
)
def test_spans_of_time_are_read(words: str, after: str, before: str) -> None:
    """Both ends count, in UTC, and nothing of the words is left."""
    request = read_request(f"How many commits were made {words}?", Tree(), NOW)
    assert request is not None
    assert (request.period.after, request.period.before) == (after, before)
    assert request.ignored == ()
    assert request.period.is_relative is bool(re.search("last|past|this", words))


@pytest.mark.parametrize(
    ("question", "ignored"),
    [
        ("How many public functions are in src/app.py?", ("public",)),
        ("How many files in the frontend mention `x`?", ("frontend",)),
        ("How many enum constants are there?", ("enum",)),
        ("How many of them are tests?", ("them",)),
        ("How many commits in 2023 fix bugs?", ("fix", "bugs")),
        ("Who changed docs most carefully?", ("most", "carefully")),
        ("How many commits are not by bots?", ("not",)),
    ],
)
def test_words_that_were_not_applied_are_named(question: str, ignored: tuple[str, ...]) -> None:
    request = read_request(question, Tree(), NOW)
    assert request is not None
    assert set(ignored) <= set(request.ignored)


@pytest.mark.parametrize(
    ("question", "kind"),
    [
        ("Which method releases a write lock?", "definitions"),
        ("Which function branches on errors?", "definitions"),
        ("Which releases fix bugs?", "tags"),
        ("How many releases are there?", "tags"),
        ("Which release branches are there?", "branches"),
    ],
)
def test_a_noun_behind_another_one_may_be_a_verb(question: str, kind: str) -> None:
    request = read_request(question, Tree(), NOW)
    assert request is not None
    assert request.kind == kind


@pytest.mark.parametrize(
    ("question", "is_count"),
    [
        ("How can I limit the number of files?", False),
        ("How do I set the number of authors?", False),
        ("Where is the number of files limited?", False),
        ("Why is the number of commits capped?", False),
        ("What is the number of files?", True),
        ("The number of files in src?", True),
        ("How many files have the number of lines?", True),
    ],
)
def test_a_number_named_in_passing_is_not_asked_for(question: str, *, is_count: bool) -> None:
    request = read_request(question, Tree(), NOW)
    assert (request is not None and request.kind == "files") == is_count


_WORDS = """
how many which who when list all count number of files lines commits authors functions tests in of by since not `a.b`
"x y" docs src/app.py v1.0 2023 between and most last changed added TODO Go the ⟨L0⟩ · ' ` ( |
"""
WORDS = st.lists(st.sampled_from(_WORDS.split()), max_size=14)


@given(WORDS)
def test_no_question_is_too_odd_to_be_read(words: list[str]) -> None:
    """Whatever stands in it, reading ends, and no mark of ours is among the words that are named."""
    question = " ".join(words)
    scope = read_scope(question, RepositoryNames(NAMES, frozenset(NAMES)), by_word=True)
    request = read_request(scope.remaining_text, Tree(), NOW)
    assert request is None or not any("⟨" in word for word in request.ignored)


def test_a_count_tells_its_scope_and_its_query(engine: LocalEngine) -> None:
    answer = research(engine, "How many functions does shop/prices.py define in shop?")
    assert answer.text.startswith("**2** functions are defined in `shop/prices.py`")
    assert f"`shop` in the question means the repository `{OPEN}`" in answer.text
    assert "To reproduce: `repo:^example\\.org/team/shop$" in answer.text
    assert answer.finished.stats["complete"] is True


def test_binary_and_large_files_lack_a_text_as_for_git(tmp_path: Path) -> None:
    repo = RepositoryBuilder(tmp_path / "src" / "demo")
    large = "x" * 3_000_000
    repo.commit(
        {"a.py": "needle\n", "b.py": "hay\n", "c.bin": b"\0needle", "d.bin": b"\0hay", "e.txt": f"{large}needle\n",
         "f.txt": large}, "begin",
    )  # fmt: skip
    lines = subprocess.run(
        ["git", "grep", "-L", "needle", "HEAD"], cwd=repo.path, capture_output=True, check=True, text=True, timeout=30
    ).stdout.split()
    engine = open_engine([tmp_path / "src"], index=tmp_path / "home" / "index", workers=1)
    answer = research(engine, "How many files don't contain `needle`?")
    assert answer.finished.stats["count"] == len(lines) == 3
    assert answer.finished.stats["complete"] is True
    assert [f"HEAD:{path}" for path in ("b.py", "d.bin", "f.txt")] == lines
    assert "Binary and large files are searched by their bytes" in answer.text


def test_negated_questions_count_what_does_not_hold(engine: LocalEngine) -> None:
    having = research(engine, "How many Python files contain `round`?").finished.stats["count"]
    lacking = research(engine, "How many Python files don't contain `round`?").finished.stats["count"]
    total = research(engine, "How many Python files are there?").finished.stats["count"]
    assert having + lacking == total
    assert having > 0
    assert lacking > 0


@pytest.mark.parametrize(
    ("question", "line"),
    [
        ("How many open issues are there?", "Issues can't be counted here"),
        (
            "how many functions handle refunds?",
            "This can't be counted exactly, because `handle`",
        ),
        (
            "How many wonders are in the cart?",
            "This can't be counted exactly: the question names nothing that git or the index counts.",
        ),
    ],
)
def test_what_nothing_counts_is_said_in_the_first_line(engine: LocalEngine, question: str, line: str) -> None:
    answer = research(engine, question)
    assert answer.text.startswith(line)
    assert "count" not in answer.finished.stats


@pytest.mark.parametrize(
    "question",
    [
        "How long is the price kept before it is rounded?",
        "Which files take part in the checkout?",
        "When was the cart last updated by a customer?",
        "Who worked on the rounding of prices?",
        "How much does an item cost at checkout?",
    ],
)
def test_prose_is_answered_with_code(engine: LocalEngine, question: str) -> None:
    """Words such as "how long" and "which files" alone make no question for a number."""
    answer = research(engine, question)
    assert "count" not in answer.finished.stats
    assert answer.text.startswith(("Most relevant:", "No searched file has", "No direct answer", "This can't"))
    assert "## How it works" in answer.text or "## Closest code" in answer.text


def test_a_version_that_is_not_there_is_said(engine: LocalEngine) -> None:
    answer = research(engine, "How many Python files did shop have at v9.9.9?")
    assert "has the revision `v9.9.9`, so the default branches are searched" in answer.text
    assert "v9.9.9" in answer.finished.stats["not_applied"]
    assert "The count covers everything" not in answer.text


def test_a_number_tells_nobody_of_repositories_that_it_counted(engine: LocalEngine) -> None:
    """The sentence with a number is about all repositories that are in it, so that readers of few don't get it."""
    answer = research(engine, "Which repositories contain `checkout_total`?")
    assert set(answer.finished.segments[0].repositories) == {OPEN, SECRET}
    public_answer = research(engine, "Which repositories contain `checkout_total`?", viewer=Viewer.anonymous())
    assert SECRET not in public_answer.text
    assert public_answer.finished.stats["count"] == 1


def test_a_model_gets_what_was_counted(engine: LocalEngine) -> None:
    """In a frame; and the answer shows it, whatever the model makes of it."""
    question = "How many functions are there in Python files?"
    truth = research(engine, question).finished.stats["count"]
    answer, server = ask_model(engine, [Say("There are 99 of them [E1].")], question=question)
    assert f"**{truth}** functions" in sent(server)
    assert 'origin=\\"facts\\"' in sent(server) or 'origin="facts"' in sent(server)
    assert answer.draft.researcher == "model"
    assert "## Counted by the engine" in answer.text
    assert f"**{truth}** functions" in answer.text
    assert answer.finished.stats["count"] == truth
    assert answer.draft.tables
    other_answer, server = ask_model(engine, [Say("It is a sum [E1].")])
    assert "Counted by the engine" not in other_answer.text + sent(server)


def test_answers_that_may_change_are_not_kept(tmp_path: Path) -> None:
    """The same commits give another number tomorrow, or after a new tag."""
    repo = RepositoryBuilder(tmp_path / "tree")
    repo.commit({"a.py": "def one():\n    pass\n"})
    with sourcelight.open(tmp_path / "tree", index_dir=tmp_path / "index") as code:
        for question, is_cached in (
            ("How many functions are in a.py?", True),
            ("How many commits in the last 30 days?", False),
            ("How many tags are there?", False),
        ):
            first = code.deepsearch(question)
            assert "count" in first.stats
            assert code.deepsearch(question).cached is is_cached


def test_events_of_names_and_paths_are_looked_up(tmp_path: Path) -> None:
    """What came, went and came again; what is still there is said to be."""
    repo = RepositoryBuilder(tmp_path / "tree")
    repo.commit({"a.py": "def pause():\n    pass\n", "b.py": "x = 1\n"}, "Add pause", author="Ada <ada@example.org>")
    repo.commit({"a.py": "def wait():\n    pass\n"}, "Rename it", author="Grace <grace@example.org>")
    repo.commit({"b.py": None}, "Drop b", author="Lin <lin@example.org>")
    engine = open_engine([repo.path], index=tmp_path / "index", workers=1)
    lead = {
        question: research(engine, question).text.split("\n\n## ")[0]
        for question in (
            "Who added `pause`?",
            "Who removed `pause`?",
            "Who removed `wait`?",
            "When was b.py deleted?",
            "Who last changed a.py?",
        )
    }
    assert "first added by Ada" in lead["Who added `pause`?"]
    assert "last removed by Grace" in lead["Who removed `pause`?"]
    assert "no searched line has it anymore" in lead["Who removed `pause`?"]
    assert lead["Who removed `wait`?"].startswith("No commit removed a line with `wait`")
    assert "was removed by Lin" in lead["When was b.py deleted?"]
    assert "last changed by Grace" in lead["Who last changed a.py?"]


def test_commits_that_a_fork_shares_with_its_origin_are_told(tmp_path: Path) -> None:
    origin = RepositoryBuilder(tmp_path / "tree" / "origin")
    origin.commit({"a.py": "a = 1\n"}, "Add a")
    origin.commit({"a.py": "a = 2\n"}, "Change a")
    shutil.copytree(origin.path, tmp_path / "tree" / "fork")
    engine = open_engine([tmp_path / "tree"], index=tmp_path / "index", workers=1)
    for question in ("How many commits changed a.py?", "Who has the most commits?"):
        assert "Only 2 of 4 commits are distinct" in research(engine, question).text.split("\n\n## ")[0]


@pytest.fixture(scope="module")
def town(tmp_path_factory: pytest.TempPathFactory) -> LocalEngine:
    """A small repository with a folder that went away on one branch while another one changed it."""
    folder = tmp_path_factory.mktemp("town")
    repo = RepositoryBuilder(folder / "town")
    old = "line one\nline two\nline three\nline four\n"
    repo.commit({"lib/old/one.py": old, "a.py": "import isatty\n"}, "Start", author="Ada <ada@example.org>")
    repo.commit({"a.py": "import isatty\nx = 1\n", "api.h": "int x;\n"}, "Change a", author="Ada <ada@example.org>")
    repo.commit({"tests/test_a.py": "import isatty\n" * 4}, "Test", author="Lin <lin@example.org>")
    repo.commit({"lib/old/one.py": None}, "Drop the old", author="Grace <grace@example.org>")
    repo.commit({"b.py": "y = 2\n"}, "Add b", author="fixer[bot] <fixer[bot]@example.org>")
    return open_engine([repo.path], index=folder / "index", workers=1)


@pytest.mark.parametrize("question", ["When was lib/old/one.py deleted?", "Who removed lib/old?"])
def test_a_removal_is_the_commit_that_removes(town: LocalEngine, question: str) -> None:
    answer = research(town, question)
    assert "was removed by Grace" in answer.text.split("\n\n")[0]
    assert answer.finished.stats["not_applied"] == []


@pytest.mark.parametrize(
    "question",
    ["What did commit {} do?", "what changed in {}", "Who made commit {}?", "when was commit {} made", "explain {}"],
)
def test_a_commit_is_known_by_its_id(town: LocalEngine, question: str) -> None:
    folder = town.catalog.repositories[0].git_dir
    log = ["git", "-C", folder, "log", "--format=%h", "--grep=Drop the old"]
    name = subprocess.check_output(log, text=True).strip()
    answer = research(town, question.format(name))
    assert answer.text.startswith(f"The commit `{name}` is by Grace on "), answer.text
    assert "“Drop the old”" in answer.text.split("\n\n")[0]
    other = research(town, question.format("0123abc"))
    assert "The commit" not in other.text.split("\n\n")[0], "there is no such commit"


def test_a_change_on_another_branch_is_no_removal(tmp_path: Path) -> None:
    """A side branch changes a file after it was removed; the merge keeps the removal."""
    repo = RepositoryBuilder(tmp_path / "tree")
    repo.commit({"gone.py": "a = 1\n", "kept.py": "b = 1\n"}, "Start", author="Ada <ada@example.org>")
    start = repo.git("rev-parse", "HEAD").strip()
    branch = repo.git("rev-parse", "--abbrev-ref", "HEAD").strip()
    repo.commit({"gone.py": None}, "Drop it", author="Grace <grace@example.org>")
    repo.git("checkout", "-q", "-b", "side", start)
    repo.commit({"gone.py": "a = 2\n"}, "Mend it", author="Lin <lin@example.org>")
    repo.git("checkout", "-q", branch)
    repo.git(
        "-c",
        "user.name=Ada",
        "-c",
        "user.email=ada@example.org",
        "merge",
        "-q",
        "-s",
        "ours",
        "-m",
        "Merge side",
        "side",
    )
    engine = open_engine([repo.path], index=tmp_path / "index", workers=1)
    assert "was removed by Grace" in research(engine, "When was gone.py deleted?").text.split("\n\n")[0]


def test_blame_says_that_it_reads_no_tests_alone(town: LocalEngine) -> None:
    answer = research(town, "Who wrote the most tests?")
    assert answer.finished.stats["complete"] is False
    assert "tests" in answer.finished.stats["not_applied"]
    assert "Files of tests count alone" not in answer.text


@pytest.mark.parametrize(
    ("question", "sentence"),
    [
        ("Which authors have exactly one commit?", "have exactly 1 commit"),
        ("How many authors made exactly one commit?", "have exactly 1 commit"),
        ("How many authors have at least 2 commits?", "has at least 2 commits"),
    ],
)
def test_exact_bounds_are_read_and_said(town: LocalEngine, question: str, sentence: str) -> None:
    answer = research(town, question)
    assert sentence in answer.text.split("\n\n")[0], answer.text
    assert answer.finished.stats["count"] == (3 if "exactly" in question else 1)
    assert answer.finished.stats["not_applied"] == []


@pytest.mark.parametrize("who", ["humans", "users", "women", "developers", "people"])
def test_words_for_groups_are_no_names(town: LocalEngine, who: str) -> None:
    answer = research(town, f"How many commits did {who} make?")
    assert f"by `{who}`" not in answer.text
    assert answer.finished.stats.get("count") in {5, None}
    if who in {"humans", "users", "women"}:
        assert answer.finished.stats["not_applied"] == [who]


def test_bots_are_read_wherever_they_stand(town: LocalEngine) -> None:
    for question in ("How many commits did bots make?", "How many commits are by bots?"):
        answer = research(town, question)
        assert answer.finished.stats["count"] == 1, answer.text
        assert answer.finished.stats["not_applied"] == []


def test_the_fewest_stand_first_and_none_is_left_out_silently(tmp_path: Path) -> None:
    repo = RepositoryBuilder(tmp_path / "tree")
    for number in range(7):
        repo.commit({"a.py": f"x = {number}\n"}, f"Set {number}", author=f"Dev{number} <dev{number}@example.org>")
    repo.commit({"a.py": "x = 9\n"}, "Again", author="Dev0 <dev0@example.org>")
    engine = open_engine([repo.path], index=tmp_path / "index", workers=1)
    answer = research(engine, "Who has the fewest commits?")
    assert "and 1 more have the fewest commits: 1 each" in answer.text.split("\n\n")[0], answer.text
    table = next(table for table in answer.draft.tables if table.title == "Authors")
    assert [row[2] for row in table.rows] == [1, 1, 1, 1, 1, 1, 2]
    by = next(table for table in answer.draft.tables if table.title == "By repository")
    assert by.columns == ("repository", "commits")


@pytest.mark.parametrize(
    ("question", "count"),
    [
        ("How many lines mention isatty outside tests?", 1),
        ("How many lines mention isatty excluding tests?", 1),
        ("How many lines mention isatty except in tests?", 1),
        ("How many files mention isatty today?", 2),
        ("How many files use isatty currently?", 2),
    ],
)
def test_a_bare_name_ends_where_the_sentence_goes_on(town: LocalEngine, question: str, count: int) -> None:
    answer = research(town, question)
    assert answer.finished.stats.get("count") == count, answer.text
    assert answer.finished.stats["not_applied"] == []


def test_what_follows_a_bare_name_is_named_where_it_is_no_part_of_it(town: LocalEngine) -> None:
    answer = research(town, "How many files mention isatty sometimes?")
    assert answer.text.startswith(
        "This can't be counted as asked, because `sometimes` was not understood.\n\nWithout that: 2 files"
    )
    assert answer.finished.stats["not_applied"] == ["sometimes"]
    assert "count" not in answer.finished.stats
    assert "The count covers everything" not in answer.text


@pytest.mark.parametrize(
    "question",
    ["Which file mentions isatty the most?", "Which files mention isatty most often?", "Which file uses isatty most?"],
)
def test_the_file_with_most_mentions_is_named(town: LocalEngine, question: str) -> None:
    answer = research(town, question)
    assert "tests/test_a.py` has the most occurrences: 4" in answer.text.split("\n\n")[0], answer.text
    assert answer.finished.stats["not_applied"] == []


def test_kinds_of_files_are_no_files_at_large(town: LocalEngine) -> None:
    assert research(town, "How many headers are there?").finished.stats["count"] == 1
    assert research(town, "How many notebooks are there?").finished.stats["count"] == 0
    assert research(town, "How many source files are there?").text.startswith("**4** files of programming languages")
    for word in ("scripts", "pages", "documents"):
        answer = research(town, f"How many {word} are there?")
        assert "count" not in answer.finished.stats, answer.text
        assert answer.text.startswith("This can't be counted exactly")
    answer = research(town, "How many headers are in lib/old/?")
    assert answer.finished.stats.get("complete") is not True


@pytest.mark.parametrize(
    ("question", "word"),
    [
        ("How many commits are not by bots?", "not"),
        ("How many authors have no commits in 2021?", "no"),
        ("How many commits touched lib/ but not tests/?", "not"),
        ("How many classes inherit from `Base` and `Mixin`?", "and"),
        ("How many commits add `isatty` and `x`?", "and"),
    ],
)
def test_a_number_of_another_question_is_no_answer(town: LocalEngine, question: str, word: str) -> None:
    answer = research(town, question)
    assert answer.text.startswith("This can't be counted as asked, because ")
    assert f"`{word}`" in answer.text.split("\n\n")[0]
    assert "**" not in answer.text.split("## ")[0]
    assert "count" not in answer.finished.stats
    assert answer.finished.stats["complete"] is False


@pytest.mark.parametrize(
    ("question", "count"),
    [
        ("How many Python files do not import isatty?", 1),
        ("How many Python files don't import isatty?", 1),
        ("How many files never import isatty?", 2),
        ("How many files import isatty but not tests?", 1),
        ("Which repositories do not import isatty?", 0),
        ("Which repositories do not import `curses`?", 1),
        ("How many repositories don't have a README.md?", 1),
        ("How many repositories have no README.md?", 1),
        ("Which Python files have no `isatty`?", 1),
        ("How many files use isatty and x?", 1),
        ("How many files use `import` but not `x`?", 1),
        ("How many files mention isatty and nothing_else?", 0),
        ("How many files use isatty or y?", 3),
        ("How many files use isatty and x, but not in tests?", 1),
        ("How many Python files are not tests?", 2),
        ("How many lines are in town/a.py?", 2),
        ("How many commits touched town/lib/old?", 2),
    ],
)
def test_and_or_not_and_paths_below_a_repository(town: LocalEngine, question: str, count: int) -> None:
    answer = research(town, question)
    assert answer.finished.stats.get("count") == count, answer.text
    assert answer.finished.stats["not_applied"] == []
    assert answer.finished.stats["complete"] is True


def test_a_path_that_never_was_is_said_to_be_none(town: LocalEngine) -> None:
    """With a slash alone it may be a text, such as HTTP/2; with an ending too, it can only be a file."""
    answer = research(town, "How many commits touched foo/bar?")
    assert "`foo/bar` was never a path in the searched repositories, so it was searched as text." in answer.text
    assert "The count covers everything" not in answer.text
    answer = research(town, "When was foo/bar.py deleted?")
    assert "`foo/bar.py` was never a path in the searched repositories." in answer.text


def test_a_removal_from_an_old_root_is_none_of_the_file_below_src(tmp_path: Path) -> None:
    repo = RepositoryBuilder(tmp_path / "click")
    text = "def echo():\n    return 1\n" * 5
    repo.commit({"click/utils.py": text}, "Start", author="Ada <ada@example.org>")
    repo.commit({"click/utils.py": None, "src/click/utils.py": text}, "Move", author="Grace <grace@example.org>")
    repo.commit({"src/click/utils.py": text * 2}, "Change", author="Lin <lin@example.org>")
    engine = open_engine([repo.path], index=tmp_path / "index", workers=1)
    lead = research(engine, "When was click/utils.py removed?").text.split("\n\n## ")[0]
    assert "`click/utils.py` was renamed to `src/click/utils.py` by Grace" in lead
    assert "last changed by Lin" in research(engine, "Who last changed click/utils.py?").text


def test_questions_that_were_not_read_name_what_was_not(tmp_path: Path) -> None:
    """A commit that shares words with the question is no answer to who did most of something in a year."""
    repo = RepositoryBuilder(tmp_path / "tree")
    repo.commit({"a.py": "def fixed_bug(bug):\n    return bug\n", "b.py": "x = 1\n"}, "Fixed a bug in the docs")
    engine = open_engine([repo.path], index=tmp_path / "index", workers=1)
    text = research(engine, "Who fixed the most bugs in 2019?").text
    assert text.startswith("This can't be answered as asked, because "), text
    assert "`2019`" in text.split("\n\n")[0]


def test_one_commit_is_said_as_one(town: LocalEngine) -> None:
    assert "that changes `a.py` is" in research(town, "When was the last commit to a.py?").text


def test_a_count_at_a_tag_says_so(tmp_path: Path) -> None:
    repo = RepositoryBuilder(tmp_path / "tree")
    repo.commit({"a.py": "x = 1\n"}, "Start")
    repo.tag("8.0.0")
    repo.commit({"b.py": "x = 1\n"}, "More")
    engine = open_engine([repo.path], index=tmp_path / "index", workers=1)
    answer = research(engine, "How many Python files were there at 8.0.0?")
    assert answer.text.startswith("**1** Python file at `8.0.0`."), answer.text


def test_handles_are_read_behind_by(town: LocalEngine) -> None:
    answer = research(town, "How many commits are by fixer?")
    assert (answer.finished.stats["count"], answer.finished.stats["not_applied"]) == (1, [])


def test_the_directories_that_changed_most_are_directories(tmp_path: Path) -> None:
    builder = RepositoryBuilder(tmp_path / "one")
    for step in range(6):
        files = {"api/a.py": f"a = {step}\n", "README.md": "r\n"} | ({"api/v2/b.py": f"b = {step}\n"} if step else {})
        builder.commit(files | ({"docs/d.md": f"{step}\n"} if step % 2 else {}), message=f"step {step}")
    engine = open_engine([tmp_path], index=tmp_path / "index", workers=1)
    answer = research(engine, "Which directories changed most?").text
    below = research(engine, "Which directory in api changed most?").text
    truth = len(subprocess.check_output(["git", "-C", builder.path, "log", "--format=%h", "--", "api"]).split())
    assert f"`api/` has the most commits: {truth}." in answer
    assert "Every word of the question was applied." in answer
    assert "3 folders were changed by commits" in answer  # api, docs, and the files at the top
    assert "`api/*` has the most commits: 6." in below


def test_test_files_of_go_are_told_by_their_names(tmp_path: Path) -> None:
    files = {
        "a.go": "package a\n",
        "a_test.go": "package a\n",
        "testdata/b.go": "package b\n",
        "tests/c.go": "package c\n",
    }
    RepositoryBuilder(tmp_path / "one").commit(files, message="all")
    engine = open_engine([tmp_path], index=tmp_path / "index", workers=1)
    assert "**1** Go " in research(engine, "How many Go test files are there?").text


def test_macros_are_no_functions(tmp_path: Path) -> None:
    text = "#define TWICE(x) ((x) * 2)\n#define FREE(p) free(p)\n\nint one(void) {\n    return 1;\n}\n"
    RepositoryBuilder(tmp_path / "one").commit({"a.c": text}, message="all")
    engine = open_engine([tmp_path], index=tmp_path / "index", workers=1)
    answer = research(engine, "How many functions does a.c define?").text
    assert "**1** function " in answer
    assert "2 macros with parameters are left out" in answer


def test_files_of_a_language_say_by_which_endings_they_count(tmp_path: Path) -> None:
    """C has headers: the number is that of `lang:c`, and the answer says how many of each ending it holds."""
    sources: dict[str | bytes, str | bytes | None] = {f"src/{name}": "int x;\n" for name in ("a.c", "b.c", "a.h")}
    RepositoryBuilder(tmp_path / "lib", origin="https://host.example/lib.git").commit(
        {**sources, "src/x.py": "x = 1\n"}
    )
    engine = open_engine([tmp_path], index=tmp_path / "index")
    answer = research(engine, "How many C files are in src?")
    assert answer.finished.stats["count"] == 3
    assert "**3** C files in `src/`: 2 `.c` and 1 `.h`" in answer.text.split("\n")[0]
    assert "counted as" not in research(engine, "How many Python files are in src?").text.split("\n")[0]


def test_files_that_import_without_a_grammar_keep_a_count_of_importers_from_being_all(tmp_path: Path) -> None:
    repo = RepositoryBuilder(tmp_path / "parser")
    repo.commit(
        {
            "src/a.c": '#include "jv_alloc.h"\n',
            "src/lexer.l": '%{\n#include "jv_alloc.h"\n%}\n',
            "docs/notes.md": "include jv_alloc.h when you allocate\n",
            "src/jv_alloc.h": "void jv_mem_free(void *);\n",
        }
    )
    engine = open_engine([repo.path], index=tmp_path / "index", workers=1)
    try:
        answer = research(engine, 'Which files include "jv_alloc.h"?')
    finally:
        engine.close()
    assert answer.finished.stats["count"] == 1, answer.text
    assert "src/lexer.l has such a line" in answer.text
    assert "notes.md" not in answer.text
    assert answer.finished.stats["complete"] is False

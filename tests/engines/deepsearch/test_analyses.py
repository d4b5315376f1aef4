"""Questions for analyses reach them, and their numbers are those of git and of the sources."""

from __future__ import annotations

import ast
import itertools
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import pytest

from engines.deepsearch.asking import Researched, research
from sourcelight.backends.embedded import open_engine
from sourcelight.engines.deepsearch.question.lookups.analyses import read_analysis_question
from sourcelight.engines.execution import LocalEngine
from sourcelight.testing import RepositoryBuilder

ADA, BOB, EVE = "Ada <ada@example.org>", "Bob <bob@example.org>", "Eve <eve@example.org>"
GATE = '''"""Gates."""

from mill.wheel import turn


def lift(level, limit, slack, tide):
    if level > limit:
        for step in range(level):
            if step > slack and tide:
                return step
    return turn(level)


def drop(level):
    return level
'''
WHEEL = '"""Wheels."""\n\nimport mill.gate\n\n\ndef turn(speed):\n    return mill.gate.drop(speed)\n'
TESTS = (
    "from mill.gate import lift\n\n\ndef test_lift():\n    for _ in range(3):\n        assert lift(1, 2, 3, 4) == 1\n"
)


def _seconds(year: int, month: int = 1) -> int:
    return int(datetime(year, month, 2, tzinfo=UTC).timestamp())


@dataclass(frozen=True, slots=True)
class Mill:
    """A repository of three people over five years, opened."""

    builder: RepositoryBuilder
    engine: LocalEngine

    def ask(self, question: str) -> Researched:
        return research(self.engine, question)

    def lead(self, question: str) -> str:
        """Return the first sentence of an answer."""
        return self.ask(question).text.split("\n", 1)[0]


@pytest.fixture(scope="module")
def mill(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Mill]:
    builder = RepositoryBuilder(tmp_path_factory.mktemp("fleet") / "mill")
    builder.commit({"mill/gate.py": GATE, "mill/__init__.py": ""}, "begin", author=ADA, date=_seconds(2020))
    for number in range(11):
        builder.commit(
            {"mill/log.py": f"LEVEL = {number}\n"}, f"log {number}", author=ADA, date=_seconds(2021, number + 1)
        )
    builder.tag("v1.0")
    builder.commit({"mill/wheel.py": WHEEL, "tests/test_gate.py": TESTS}, "wheel", author=BOB, date=_seconds(2022))
    for number in range(12):
        text = f"{GATE}\n\nDEPTH = {number}\n"
        tests = f"{TESTS}\n\nDEPTH = {number}\n"
        files: dict[str | bytes, str | bytes | None] = {"mill/gate.py": text}
        if number % 2:
            files["tests/test_gate.py"] = tests
        builder.commit(files, f"gate {number}", author=EVE if number else BOB, date=_seconds(2023, number + 1))
    builder.commit(
        {"mill/wheel.py": WHEEL + "\n\ndef stop():\n    return 0\n"}, "stop", author=BOB, date=_seconds(2024)
    )
    builder.tag("v1.1")
    engine = open_engine([builder.path], index=tmp_path_factory.mktemp("index"), workers=1)
    yield Mill(builder, engine)
    engine.close()


def test_the_most_complex_and_the_longest_function(mill: Mill) -> None:
    tree = ast.parse((mill.builder.path / "mill/gate.py").read_text("utf-8"))
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    longest = max(functions, key=lambda node: (node.end_lineno or 0) - node.lineno)
    lines = (longest.end_lineno or 0) - longest.lineno + 1
    # SonarSource: if 1, for 2 (nested once), if 3 (nested twice), and one for "and".
    lead = mill.lead("What's the most complex function?")
    assert lead.startswith(
        "`lift` in `mill/gate.py` is the most complex function outside of tests: a cognitive complexity of 7, "
    )
    assert mill.lead("What is the longest function?") == (
        f"`lift` in `mill/gate.py` is the longest function outside of tests: {lines} lines."
    )
    parameters = len(longest.args.args)
    assert mill.lead("Which function has the most parameters?") == (
        f"`lift` in `mill/gate.py` is the function with the most parameters outside of tests: {parameters} parameters."
    )
    assert mill.lead("Which functions are the longest in mill/wheel.py?") == (
        "`turn` in `mill/wheel.py` and `stop` in `mill/wheel.py` are the longest functions in `mill/wheel.py`: 2 lines "
        "each."
    )


def test_languages_beside_a_directory_say_nothing_of_it(tmp_path: Path) -> None:
    repo = RepositoryBuilder(tmp_path / "river")
    repo.commit({"dam/gate.py": GATE, "dam2/gate.jl": "f(x) = x\n", "sluice/a.py": GATE, "sluice/b.jl": "f(x) = x\n"})
    engine = open_engine([repo.path], index=tmp_path / "index", workers=1)
    answers = [research(engine, f"What is the longest function in {path}?").text for path in ("dam", "sluice")]
    engine.close()
    assert ["Julia files were not read" in text for text in answers] == [False, True]


def test_the_bus_factor_is_that_of_blame(mill: Mill) -> None:
    lines: Counter[str] = Counter()
    for path in mill.builder.git("ls-files").split():
        blame = mill.builder.git("blame", "--line-porcelain", path)
        lines.update(line.removeprefix("author ") for line in blame.splitlines() if line.startswith("author "))
    factor, owned = 0, 0
    for factor, (_, number) in enumerate(lines.most_common(), 1):  # noqa: B007 - the last one counts
        owned += number
        if 2 * owned > lines.total():
            break
    lead = mill.lead("What is the bus factor?")
    assert lead.startswith(f"The bus factor of `mill` is **{factor}**: ")
    assert lead.endswith(f" {100 * owned / lines.total():.1f} % of {lines.total()} current lines.")


def test_people_without_a_recent_commit(mill: Mill) -> None:
    log = [line.split("|") for line in mill.builder.git("log", "--format=%an|%cI").splitlines()]
    newest = max(date for _, date in log)
    before = f"{int(newest[:4]) - 1}{newest[4:]}"
    counts = Counter(name for name, _ in log)
    last = {name: max(date for other, date in log if other == name) for name in counts}
    regular = [name for name in counts if counts[name] >= 10]
    inactive = [name for name in regular if last[name] < before]
    assert mill.lead("Who is no longer active?") == (
        f"**{len(inactive)}** of {len(regular)} authors with at least 10 commits has none since {before[:10]}: "
        f"{inactive[0]} (last on {last[inactive[0]][:10]})."
    )
    assert mill.lead("Who left the project?") == mill.lead("Which contributors are inactive?")


def test_a_new_address_is_no_absence(tmp_path: Path) -> None:
    builder = RepositoryBuilder(tmp_path / "mill")
    for number in range(12):
        builder.commit(
            {"a.txt": f"{number}\n"}, f"a {number}", author="Ada <ada@old.example.org>", date=_seconds(2020, number + 1)
        )
    builder.commit({"a.txt": "new\n"}, "new", author="Ada <ada@new.example.org>", date=_seconds(2024))
    engine = open_engine([builder.path], index=tmp_path / "index", workers=1)
    assert research(engine, "Who is no longer active?").text.startswith("**0** of 1 author with at least 10 commits")
    assert research(engine, "How many authors per year?").text.startswith("**1** author has commits in 2020, ")
    engine.close()


def test_authors_and_commits_by_year(mill: Mill) -> None:
    log = [line.split("|") for line in mill.builder.git("log", "--format=%an|%cs").splitlines()]
    authors = Counter(year for _, year in {(name, date[:4]) for name, date in log})
    commits = Counter(date[:4] for _, date in log)
    year = max(authors, key=lambda key: (authors[key], -int(key)))
    assert mill.lead("How has the number of contributors developed?").startswith(
        f"**{authors[year]}** authors have commits in {year}, the most of a year; "
    )
    year = max(commits, key=lambda key: (commits[key], -int(key)))
    answer = mill.ask("How has the number of commits changed over time?")
    assert answer.text.startswith(f"**{commits[year]}** commits in {year}, the most of a year; ")
    (table,) = [table for table in answer.finished.tables if table.title == "By year"]
    assert {row[0]: row[3] for row in table.rows} == dict(commits)


def _commits_of(mill: Mill, path: str) -> set[str]:
    return set(mill.builder.git("log", "--no-merges", "--format=%H", "--", path).split())


def test_files_that_change_together(mill: Mill) -> None:
    gate, tests = _commits_of(mill, "mill/gate.py"), _commits_of(mill, "tests/test_gate.py")
    assert mill.lead("Which files change together with mill/gate.py?") == (
        f"`tests/test_gate.py` changes most often together with `mill/gate.py`: {len(gate & tests)} of the "
        f"{len(gate)} commits that changed `mill/gate.py` changed both."
    )
    pairs = {
        pair: len(_commits_of(mill, pair[0]) & _commits_of(mill, pair[1]))
        for pair in itertools.combinations(mill.builder.git("ls-files").split(), 2)
    }
    (first, second), number = max(pairs.items(), key=lambda item: item[1])
    assert mill.lead("Which files change together?") == (
        f"`{first}` and `{second}` change together most often: {number} commits changed both."
    )
    assert mill.lead("What changes together with mill/log.py?") == (
        "No file was changed together with `mill/log.py` in 2 commits."
    )


def test_hotspots(mill: Mill) -> None:
    lines = len((mill.builder.path / "mill/gate.py").read_text("utf-8").splitlines())
    for question in ("What are the hotspots?", "Which files are risky?"):
        assert mill.lead(question) == (
            f"`mill/gate.py` is the first hotspot: {len(_commits_of(mill, 'mill/gate.py'))} commits changed it, and it "
            f"has {lines} lines."
        )


def test_files_with_the_most_commits(mill: Mill) -> None:
    number = len(_commits_of(mill, "mill/gate.py"))
    for question in ("Which files change most often?", "Which files are most often changed?"):
        assert mill.lead(question) == f"`mill/gate.py` was changed by the most commits: {number}."


def test_commits_of_and_since_a_release(mill: Mill) -> None:
    mill.builder.git("tag", "release-0.9", "v1.0~3")
    git = mill.builder.git
    since = len(git("rev-list", "v1.0..v1.1").split())
    for question in ("What's new in the last release?", "What changed in the latest version?"):
        assert mill.lead(question).startswith(
            f"**{since}** commits reachable from `v1.1` and not reachable from `v1.0`"
        )
    assert mill.lead("What's the previous version?").startswith("The tag before `v1.1` is `v1.0`, of the commit by Ada")
    assert mill.lead("What has changed since the last release?").startswith("**0** commits not reachable from `v1.1`")
    # A candidate is no release before the newest one.
    mill.builder.git("tag", "v1.1rc1", "v1.1~1")
    assert mill.lead("What's the previous version?").startswith("The tag before `v1.1` is `v1.0`, of the commit by Ada")
    # Tags are found by their versions: with a prefix, and without.
    span = len(git("rev-list", "release-0.9..v1.0").split())
    for question in ("What changed between 0.9 and 1.0?", "What is the difference between 0.9 and v1.0?"):
        assert mill.lead(question).startswith(
            f"**{span}** commits reachable from `v1.0` and not reachable from `release-0.9`"
        )
    # Two tags of one version are none.
    git("tag", "other-0.9", "v1.0~2")
    assert "release-0.9" not in mill.lead("What changed between 0.9 and 1.0?")


@pytest.mark.parametrize(
    "question",
    ["Which tests cover mill/gate.py?", "What are the related tests of gate.py?", "Is mill/gate.py tested?"],
)
def test_tests_of_a_file(mill: Mill, question: str) -> None:
    assert mill.lead(question) == (
        "**1** test file imports `mill/gate.py`, uses its definitions or changes together with it, "
        "`tests/test_gate.py`."
    )


def test_who_knows_a_file(mill: Mill) -> None:
    blame = mill.builder.git("blame", "--line-porcelain", "mill/gate.py")
    lines = Counter(line.removeprefix("author ") for line in blame.splitlines() if line.startswith("author "))
    (name, number), *_ = lines.most_common()
    for question in ("Who knows gate.py best?", "Who is the expert on mill/gate.py?"):
        assert mill.lead(question) == f"{name} wrote the most lines of `mill/gate.py`: {number} of {lines.total()}."


def test_oldest_lines_and_circular_imports(mill: Mill) -> None:
    years: Counter[str] = Counter()
    for path in mill.builder.git("ls-files").split():
        blame = mill.builder.git("blame", "--line-porcelain", path)
        times = [line.split()[1] for line in blame.splitlines() if line.startswith("committer-time ")]
        years.update(datetime.fromtimestamp(int(moment), UTC).strftime("%Y") for moment in times)
    oldest = min(years)
    assert mill.lead("What's the oldest code?") == (
        f"The oldest current lines are from {oldest}: {years[oldest]} of {years.total()} lines "
        f"({100 * years[oldest] / years.total():.1f} %)."
    )
    answer = mill.ask("Are there circular imports?")
    assert answer.text.startswith("`mill/gate.py` and `mill/wheel.py` import each other.")
    citations = {(source.path, source.begin_line) for source in answer.finished.sources if source.type == "file"}
    assert citations == {("mill/gate.py", 3), ("mill/wheel.py", 3)}


def test_public_symbols_between_two_tags(mill: Mill) -> None:
    assert mill.lead("What public functions were added between v1.0 and v1.1?").startswith(
        "**3** public symbols differ between `v1.0` and `v1.1`: 3 added"
    )


@pytest.mark.parametrize(
    "question",
    ["Is there dead code?", "Which functions are unused?", "What's the most called function?",
     "What's the test coverage?", "Is there duplicate code?"],
)  # fmt: skip
def test_a_question_without_an_analysis_says_so_and_lists_no_words(mill: Mill, question: str) -> None:
    answer = mill.ask(question)
    assert (
        "can't be found here" in answer.text
        or "aren't counted here" in answer.text
        or "can't be measured" in answer.text
    )
    assert "Most relevant" not in answer.text
    assert answer.finished.stats["states_fact"] is False


@pytest.mark.parametrize(
    "question",
    [
        "How does the complexity check work?", "Where is the bus factor computed?", "Which tests cover parse_config?",
        "What are the tests for login?", "Who left a comment in main.py?", "What is the longest line?",
        "Which functions are unused in tests that fail?", "How are hotspots ranked?",
        "Which files change when the user logs in?",
    ],
)  # fmt: skip
def test_questions_about_code_are_no_questions_for_analyses(mill: Mill, question: str) -> None:
    read = read_analysis_question(question, ["mill"])
    # A path that no commit has is none: such a question is left to the lookups.
    assert read is None or (read.path and "can't be" not in mill.lead(question))


def test_hostile_questions_take_little_time() -> None:
    started = time.process_time()
    for text in ("which files " * 20, "who is not active any more " * 9, "what is the most complex function in " * 5,
                 "a/" * 50_000, "which tests cover " + "a." * 70, "the " * 60):  # fmt: skip
        read_analysis_question(text, ["mill", "@", "the"])
    assert time.process_time() - started < 1

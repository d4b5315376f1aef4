"""Questions that count, and that ask who, when and which, over the sample fleet: every answer equals git's."""

from __future__ import annotations

import re
import subprocess
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

import sourcelight
from engines.deepsearch.asking import Researched, research
from sourcelight.backends.embedded import open_engine
from sourcelight.engines.execution import LocalEngine

TEAM = ("board", "gauge", "handbook.git", "hub", "pytide")
"""What is searched unless others are named: no fork and no archived repository."""


@dataclass(frozen=True)
class Git:
    """The oracle: git alone, over the fleet."""

    fleet: Path

    def __call__(self, repository: str, *arguments: str, accepted: tuple[int, ...] = (0,)) -> str:
        done = subprocess.run(
            ["git", "-c", "core.quotePath=false", "-C", str(self.fleet / repository), *arguments],
            capture_output=True, text=True, check=False, errors="replace",
        )  # fmt: skip
        assert done.returncode in accepted, done.stderr
        return done.stdout

    def lines(self, repository: str, *arguments: str) -> list[str]:
        return [line for line in self(repository, *arguments).split("\n") if line]

    def grep(self, repository: str, *arguments: str) -> list[str]:
        """Lines of ``git grep`` at HEAD; none is no failure. Arguments behind ``--`` are paths."""
        index = arguments.index("--") if "--" in arguments else len(arguments)
        done = self(repository, "grep", "-I", *arguments[:index], "HEAD", *arguments[index:], accepted=(0, 1))
        return [line for line in done.split("\n") if line]

    def files(self, repository: str, *paths: str) -> list[str]:
        return self.lines(repository, "ls-tree", "-r", "--name-only", "HEAD", *paths)

    def log(self, repository: str, form: str, *arguments: str) -> list[str]:
        return self.lines(repository, "log", f"--format={form}", *arguments)

    def first(self, repository: str, *arguments: str) -> tuple[str, str]:
        """Author, and the day by the author's clock, of the oldest commit by committer date."""
        rows = [row.split("\t") for row in self.log(repository, "%ct%x09%aN%x09%ad", "--date=short", *arguments)]
        oldest = min(rows, key=lambda row: int(row[0]))
        return oldest[1], oldest[2]

    def last(self, repository: str, *arguments: str) -> tuple[str, str]:
        """As `first`, of the newest."""
        rows = [row.split("\t") for row in self.log(repository, "%ct%x09%aN%x09%ad", "--date=short", *arguments)]
        newest = max(rows, key=lambda row: int(row[0]))
        return newest[1], newest[2]


Truth = Callable[[Git], int | tuple[str, ...] | str]


def every(count: Callable[[str], int]) -> int:
    return sum(count(repository) for repository in TEAM)


def ending(git: Git, repository: str, pattern: str) -> int:
    return len([path for path in git.files(repository) if re.search(pattern, path)])


def most_common(names: list[str]) -> str:
    (name, first), (_, second) = Counter(names).most_common(2)
    assert first > second
    return name


def people(git: Git, repository: str, *arguments: str) -> int:
    return len(set(git.log(repository, "%aE", *arguments)))


def numstat(git: Git, repository: str, column: int, *arguments: str) -> int:
    rows = [row.split("\t") for row in git.log(repository, "", "--numstat", "--no-merges", "-M", *arguments)]
    return sum(int(row[column]) for row in rows if row[column] != "-")


SINCE, UNTIL = "--since={}-01-01T00:00:00Z", "--until={}-12-31T23:59:59Z"
HISTORY = ("--no-merges", "--full-history")

NUMBERS: dict[str, Truth] = {
    "How many Go files in hub use fmt.Errorf?": lambda git: len(git.grep("hub", "-lF", "fmt.Errorf", "--", "*.go")),
    "Which repositories use fmt.Errorf?": lambda git: sum(bool(git.grep(r, "-lF", "fmt.Errorf")) for r in TEAM),
    "How many Go files are there?": lambda git: every(lambda r: ending(git, r, r"\.go$")),
    "count the Python files in pytide": lambda git: ending(git, "pytide", r"\.py$"),
    "What is the number of Markdown files in the handbook?": lambda git: ending(git, "handbook.git", r"\.md$"),
    "How many files are in hub's ingest folder?": lambda git: len(git.files("hub", "ingest/")),
    "Number of files below docs/ in the handbook repository": lambda git: len(git.files("handbook.git", "docs/")),
    "How many files named README.md are there?": lambda git: every(lambda r: ending(git, r, r"(^|/)README\.md$")),
    "How many TypeScript or JavaScript files does board have?": lambda git: ending(git, "board", r"\.(ts|js)$"),
    "How many lines of Go does hub have?": lambda git: len(git.grep("hub", "", "--", "*.go")),
    "How many lines of code are in src/pytide/client.py?": lambda git: len(
        git.grep("pytide", "", "--", "src/pytide/client.py")
    ),
    "how many lines long is README.md in gauge": lambda git: len(git.grep("gauge", "", "--", "README.md")),
    'How often does "time.Duration" occur in Go code of hub?': lambda git: len(
        git.grep("hub", "-ohF", "time.Duration", "--", "*.go")
    ),
    "How many times is `threshold` mentioned in hub?": lambda git: len(git.grep("hub", "-ohF", "threshold")),
    "count the lines that mention tide in docs/ of the handbook": lambda git: len(
        git.grep("handbook.git", "-w", "tide", "--", "docs/")
    ),
    "How many TODO comments are there?": lambda git: every(lambda r: len(git.grep(r, "-w", "TODO"))),
    "Please tell me how many FIXMEs are in gauge": lambda git: len(git.grep("gauge", "-w", "FIXME")),
    'How many files contain "harbour"?': lambda git: every(lambda r: len(git.grep(r, "-lF", "harbour"))),
    "How many C files in gauge mention `frame` outside of tests?": lambda git: len(
        [path for path in git.grep("gauge", "-lF", "frame", "--", "*.c", "*.h") if not path.startswith("HEAD:tests/")]
    ),
    "Which repositories are written in Go?": lambda git: sum(ending(git, r, r"\.go$") > 0 for r in TEAM),
    "Which repositories have a CODEOWNERS file?": lambda git: sum(
        ending(git, r, r"(^|/)CODEOWNERS$") > 0 for r in TEAM
    ),
    "How many repositories are there?": lambda git: len([path for path in git.fleet.iterdir() if path.is_dir()]),
    "How many folders are in hub?": lambda git: len(git.lines("hub", "ls-tree", "-r", "-d", "--name-only", "HEAD")),
    "How many commits does hub have?": lambda git: int(git("hub", "rev-list", "--count", "HEAD")),
    "How many commits are there altogether?": lambda git: every(lambda r: int(git(r, "rev-list", "--count", "HEAD"))),
    "How many commits since 2023 in gauge?": lambda git: len(git.log("gauge", "%H", SINCE.format(2023))),
    "How many commits were made before 2022 in pytide": lambda git: len(
        git.log("pytide", "%H", "--until=2021-12-31T23:59:59Z")
    ),
    "how many commits did Ola Nordmann make in 2021?": lambda git: every(
        lambda r: len(git.log(r, "%H", "--author=Ola Nordmann", SINCE.format(2021), UNTIL.format(2021)))
    ),
    "Number of commits by Finn in board": lambda git: len(git.log("board", "%H", "--author=Finn")),
    "How many commits are by aiko@tidewatch.example?": lambda git: every(
        lambda r: git.log(r, "%aE").count("aiko@tidewatch.example")
    ),
    "How many commits touched api/ in hub?": lambda git: len(git.log("hub", "%H", *HISTORY, "--", "api")),
    "How often was README.md changed in hub?": lambda git: len(git.log("hub", "%H", *HISTORY, "--", "README.md")),
    "How many commits in hub mention retry in their message?": lambda git: len(
        git.log("hub", "%H", "-i", "-E", r"--grep=\bretry\b")
    ),
    "How many merge commits are in hub?": lambda git: len(git.log("hub", "%H", "--merges")),
    "How many commits without merges are in gauge?": lambda git: len(git.log("gauge", "%H", "--no-merges")),
    "How many commits are there between v1.0.0 and v1.2.0 in hub?": lambda git: int(
        git("hub", "rev-list", "--count", "v1.0.0..v1.2.0")
    ),
    "How many commits since v1.2.0 in hub?": lambda git: int(git("hub", "rev-list", "--count", "v1.2.0..HEAD")),
    "How many files changed between v1.0.0 and v1.2.0 in hub?": lambda git: len(
        git.lines("hub", "diff", "-M", "--name-only", "v1.0.0", "v1.2.0")
    ),
    "How many files did Mara change in hub in 2021?": lambda git: len(
        set(
            git.log(
                "hub", "", "-M", "--name-only", "--no-merges", "--author=Mara", SINCE.format(2021), UNTIL.format(2021)
            )
        )
    ),
    "How many lines were added in 2022 in gauge?": lambda git: numstat(
        git, "gauge", 0, SINCE.format(2022), UNTIL.format(2022)
    ),
    "How many contributors does gauge have?": lambda git: people(git, "gauge"),
    "How many people have committed to hub since 2023?": lambda git: people(git, "hub", SINCE.format(2023)),
    "How many authors touched ingest/ in hub?": lambda git: people(git, "hub", *HISTORY, "--", "ingest"),
    "How many authors have more than 5 commits in hub?": lambda git: sum(
        n > 5 for n in Counter(git.log("hub", "%aE")).values()
    ),
    "How many authors made exactly one commit in hub?": lambda git: sum(
        n == 1 for n in Counter(git.log("hub", "%aE")).values()
    ),
    "How many lines mention frame outside tests in gauge?": lambda git: len(
        [line for line in git.grep("gauge", "-w", "frame") if not line.startswith("HEAD:tests/")]
    ),
    "How many files mention tide today?": lambda git: every(lambda r: len(git.grep(r, "-lw", "tide"))),
    "How many headers are in gauge?": lambda git: ending(git, "gauge", r"\.(h|hh|hpp|hxx)$"),
    "How many tags does hub have?": lambda git: len(git.lines("hub", "tag")),
    "how many branches are in gauge?": lambda git: len(git.lines("gauge", "for-each-ref", "refs/heads")),
    "How many classes are in pytide?": lambda git: len(git.grep("pytide", "-hE", r"^\s*class ", "--", "*.py")),
    "How many functions does src/pytide/cli.py define?": lambda git: len(
        git.grep("pytide", "-hE", r"^(async )?def ", "--", "src/pytide/cli.py")
    ),
    "How many methods are in src/pytide/client.py?": lambda git: len(
        git.grep("pytide", "-hE", r"^    def ", "--", "src/pytide/client.py")
    ),
    "How many Go functions in hub start with New?": lambda git: len(git.grep("hub", "-hE", r"^func New", "--", "*.go")),
    "How many structs does hub define in Go?": lambda git: len(
        git.grep("hub", "-hE", r"^type \w+ struct", "--", "*.go")
    ),
    "List all interfaces in hub": lambda git: len(git.grep("hub", "-hE", r"^type \w+ interface", "--", "*.go")),
    "How many tests does hub have?": lambda git: len(git.grep("hub", "-hE", r"^func Test", "--", "*_test.go")),
    "How many test functions are in pytide?": lambda git: len(
        git.grep("pytide", "-hE", r"^\s*def test", "--", "tests/*.py")
    ),
    "How many tests are in board?": lambda git: len(git.grep("board", "-hE", r"^\s*(it|test)\(", "--", "*.ts")),
    "Which files import pytide.errors?": lambda git: len(
        git.grep("pytide", "-lE", r"from (pytide)?\.errors import|import pytide\.errors")
    ),
    'How many files include "tidewire.h"?': lambda git: every(
        lambda r: len(git.grep(r, "-lE", r"^#include .*tidewire\.h"))
    ),
    "How many calls of DecodeFrame are there in Go code?": lambda git: every(
        lambda r: len(git.grep(r, "-ohE", r"\bDecodeFrame[ \t]*\(", "--", "*.go"))
    ),
    "Which repositories depend on hub?": lambda git: sum(
        bool(git.grep(r, "-lF", '"example.org/tidewatch/hub', "--", "*.go")) for r in TEAM if r != "hub"
    ),
    "How many commits has sol/hub?": lambda git: int(git("hub-fork", "rev-list", "--count", "HEAD")),
    "How many Go files do not import fmt?": lambda git: every(
        lambda r: ending(git, r, r"\.go$") - len(git.grep(r, "-lE", r'^(import )?\s*"fmt"$', "--", "*.go"))
    ),
    "How many Python files don't import pytide.errors?": lambda git: every(
        lambda r: (
            ending(git, r, r"\.py$")
            - len(git.grep(r, "-lE", r"from (pytide)?\.errors import|import pytide\.errors", "--", "*.py"))
        )
    ),
    "Which repositories do not import pytide?": lambda git: sum(
        not git.grep(r, "-lE", r"^(from|import) (pytide|\.)", "--", "*.py") for r in TEAM if r != "pytide"
    ),
    'How many C files don\'t include "tidewire.h"?': lambda git: every(
        lambda r: ending(git, r, r"\.[ch]$") - len(git.grep(r, "-lE", r"^#include .*tidewire\.h", "--", "*.c", "*.h"))
    ),
    "How many Go files in hub use fmt.Errorf, but not in tests?": lambda git: len(
        git.grep("hub", "-lF", "fmt.Errorf", "--", "*.go", ":!*_test.go")
    ),
    "How many functions does hub define, but not in tests?": lambda git: len(
        git.grep("hub", "-hE", r"^func \w", "--", "*.go", ":!*_test.go")
    ),
    "How many lines mention frame, but not tests, in gauge?": lambda git: len(
        git.grep("gauge", "-w", "frame", "--", ":!tests/")
    ),
    "How many Go files in hub are not tests?": lambda git: (
        ending(git, "hub", r"\.go$") - ending(git, "hub", r"_test\.go$")
    ),
    "How many files mention tide and harbour?": lambda git: every(
        lambda r: len(git.grep(r, "-lw", "--all-match", "-e", "tide", "-e", "harbour"))
    ),
    "How many files mention tide or harbour?": lambda git: every(
        lambda r: len(git.grep(r, "-lw", "-e", "tide", "-e", "harbour"))
    ),
    "How many Markdown files mention tide but not harbour?": lambda git: every(
        lambda r: len({*git.grep(r, "-lw", "tide", "--", "*.md")} - {*git.grep(r, "-lF", "harbour", "--", "*.md")})
    ),
    "How many occurrences of `tide` and `harbour` are in hub?": lambda git: len(
        git.grep("hub", "-ohF", "-e", "tide", "-e", "harbour")
    ),
    "Which repositories use fmt.Errorf and fmt.Sprintf?": lambda git: sum(
        bool(git.grep(r, "-lF", "fmt.Errorf")) and bool(git.grep(r, "-lF", "fmt.Sprintf")) for r in TEAM
    ),
    "Which repositories don't use fmt.Errorf?": lambda git: sum(not git.grep(r, "-lF", "fmt.Errorf") for r in TEAM),
    "How many commits mention `retry` and `tide`?": lambda git: every(
        lambda r: len(git.log(r, "%H", "-i", "-F", "--all-match", "--grep=retry", "--grep=tide"))
    ),
    "How many files named README.md and CODEOWNERS are there?": lambda git: every(
        lambda r: ending(git, r, r"(^|/)(README\.md|CODEOWNERS)$")
    ),
    "Which repositories have a README.md and a CODEOWNERS file?": lambda git: sum(
        ending(git, r, r"(^|/)README\.md$") > 0 and ending(git, r, r"(^|/)CODEOWNERS$") > 0 for r in TEAM
    ),
    "How many commits touched hub/api/?": lambda git: len(git.log("hub", "%H", *HISTORY, "--", "api")),
    "How many lines does hub/README.md have?": lambda git: len(git.grep("hub", "", "--", "README.md")),
    "How many Go files did hub have at v1.0.0?": lambda git: len(
        [path for path in git.lines("hub", "ls-tree", "-r", "--name-only", "v1.0.0") if path.endswith(".go")]
    ),
}


BESIDE_A_LARGE_FILE = {
    "Which repositories use fmt.Errorf?",
    "How many TODO comments are there?",
    'How many files contain "harbour"?',
    "How many files mention tide today?",
    "How many files mention tide and harbour?",
    "How many files mention tide or harbour?",
    "Which repositories use fmt.Errorf and fmt.Sprintf?",
    "Which repositories don't use fmt.Errorf?",
}
"""The handbook has a table that is too large for the index: where texts are searched, the answer says so."""


def blamed(git: Git, repository: str, path: str) -> str:
    rows = git.lines(repository, "blame", "--line-porcelain", "HEAD", "--", path)
    return most_common([row.removeprefix("author ") for row in rows if row.startswith("author ")])


PEOPLE_AND_DATES: dict[str, Truth] = {
    "Who made the first commit in gauge?": lambda git: git.first("gauge"),
    "When was the latest commit in hub?": lambda git: git.last("hub"),
    "Who last changed api/levels.go?": lambda git: git.last("hub", *HISTORY, "--", "api/levels.go"),
    "When was api/legacy.go deleted?": lambda git: git.last("hub", *HISTORY, "--diff-filter=D", "--", "api/legacy.go"),
    "When was hub/api/legacy.go removed?": lambda git: git.last(
        "hub", *HISTORY, "--diff-filter=D", "--", "api/legacy.go"
    ),
    "Who last changed tidewatch/hub/api/levels.go?": lambda git: git.last("hub", *HISTORY, "--", "api/levels.go"),
    "Who removed api/legacy.go in hub?": lambda git: git.last(
        "hub", *HISTORY, "--diff-filter=D", "--", "api/legacy.go"
    ),
    "Which file in hub mentions return the most?": lambda git: most_common(
        [line.split(":")[1] for line in git.grep("hub", "-ow", "return")]
    ),
    "Who created store/sqlite.go in hub?": lambda git: git.first(
        "hub", *HISTORY, "--diff-filter=A", "--", "store/sqlite.go"
    ),
    "When was `fmt.Errorf` added to hub?": lambda git: git.first("hub", "--no-merges", "-G", r"fmt\.Errorf"),
    "Who introduced `PredictTide` and when?": lambda git: git.first("hub", "--no-merges", "-G", "PredictTide"),
    "Since when is `frame.Resync` there in hub?": lambda git: git.first("hub", "--no-merges", "-G", r"frame\.Resync"),
    "When did Aiko Tanaka last commit to gauge?": lambda git: git.last("gauge", "--author=Aiko Tanaka"),
    "Who has the most commits in pytide?": lambda git: most_common(git.log("pytide", "%aN")),
    "Who wrote the most commits in pytide?": lambda git: most_common(git.log("pytide", "%aN")),
    "When was `fmt.Errorf` first used in hub?": lambda git: git.first("hub", "--no-merges", "-G", r"fmt\.Errorf"),
    "Who first mentioned `PredictTide`?": lambda git: git.first("hub", "--no-merges", "-G", "PredictTide"),
    "Which author made the most commits in 2021 in hub?": lambda git: most_common(
        git.log("hub", "%aN", SINCE.format(2021), UNTIL.format(2021))
    ),
    "Who wrote most of ingest/server.go in hub?": lambda git: blamed(git, "hub", "ingest/server.go"),
    "Who owns api/levels.go?": lambda git: git.grep("hub", "-h", "^/*api/", "--", ".github/CODEOWNERS")[-1].split()[1],
    "When was v1.2.0 released in hub?": lambda git: git.last("hub", "-1", "v1.2.0"),
    "Which file in hub has the most commits?": lambda git: most_common(
        git.log("hub", "", "--name-only", "--no-merges", "-M")
    ),
}


@pytest.fixture(scope="module")
def engine(fleet: Path, tmp_path_factory: pytest.TempPathFactory) -> LocalEngine:
    home = tmp_path_factory.mktemp("facts")
    return open_engine([fleet], index=home / "index", config=fleet / "repos.toml", workers=1)


@pytest.fixture(scope="module")
def git(fleet: Path) -> Git:
    return Git(fleet)


def _lead(answer: Researched) -> str:
    return answer.text.split("\n\n")[0].replace("\\", "")


@pytest.mark.parametrize("question", NUMBERS)
def test_numbers_equal_those_of_git(engine: LocalEngine, git: Git, question: str) -> None:
    """The number is git's, heads the answer, and is said to be complete unless the answer names unread files."""
    result = research(engine, question)
    truth = NUMBERS[question](git)
    assert result.finished.stats.get("count") == truth, result.text
    assert result.text.startswith(f"**{truth:,}** ")
    assert result.finished.stats["not_applied"] == []
    is_complete = question not in BESIDE_A_LARGE_FILE
    assert result.finished.stats["complete"] is is_complete
    assert ("The count covers everything" in result.text) is is_complete
    assert ("The first sentence says what could not be counted." in result.text) is not is_complete
    assert ("above the size limit" in result.text) is (question in BESIDE_A_LARGE_FILE)
    assert not result.finished.rejected


@pytest.mark.parametrize("question", PEOPLE_AND_DATES)
def test_people_and_dates_equal_those_of_git(engine: LocalEngine, git: Git, question: str) -> None:
    """The first sentence names whom git names, and the day where one is asked for."""
    result = research(engine, question)
    truth = PEOPLE_AND_DATES[question](git)
    assert isinstance(truth, str | tuple)
    for text in (truth,) if isinstance(truth, str) else truth:
        assert text in _lead(result), result.text
    assert result.finished.stats["not_applied"] == []


SEARCHED_AGAIN = [
    "How many Go files in hub use fmt.Errorf?",
    "How many Go files are there?",
    "count the lines that mention tide in docs/ of the handbook",
    "How many classes are in pytide?",
    "How many structs does hub define in Go?",
    "How many tests are in board?",
    "How many Go files did hub have at v1.0.0?",
    "How many commits does hub have?",
    "how many commits did Ola Nordmann make in 2021?",
    "How many commits are there between v1.0.0 and v1.2.0 in hub?",
    "How many commits touched api/ in hub?",
    "How many commits in hub mention retry in their message?",
    "How many files changed between v1.0.0 and v1.2.0 in hub?",
]


@pytest.fixture(scope="module")
def code(fleet: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[sourcelight.Client]:
    index = tmp_path_factory.mktemp("again")
    with sourcelight.open(fleet, index_dir=index, config=fleet / "repos.toml") as client:
        yield client


@pytest.mark.parametrize("question", SEARCHED_AGAIN)
def test_the_query_of_an_answer_gives_the_number_again(code: sourcelight.Client, question: str) -> None:
    """As it is shown: a search, or a call of the client."""
    answer = code.deepsearch(question)
    (query,) = {table.attrs["query"] for table in answer.tables.values()}
    displayed = answer.text.replace("`` ", "`").replace(" ``", "`")
    assert f"`{query}`" in displayed
    if query.startswith("code."):
        repeated = len(eval(query, {"code": code}))  # noqa: S307 - a call that we wrote
    else:
        matches = code.search(query).matches
        repeated = matches[["repository", "path"]].drop_duplicates().shape[0] if "files" in question else len(matches)
    assert repeated == answer.stats["count"]

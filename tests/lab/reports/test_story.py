"""Each number, sentence and row of the stories of a file, a directory and a definition is computed again from git."""

from __future__ import annotations

from pathlib import Path

import pytest

import sourcelight as sl
from lab.reports.report_values import values
from sourcelight.lab.reports import Report, changes, contributors, directory, file, symbol
from sourcelight.testing import RepositoryBuilder

BEN = "Ben <ben@example.org>"
BEN_AGAIN = "ben <BEN@example.org>"
BOT = "dependabot[bot] <bot@example.org>"
DAY = 86_400
START = 1_700_000_000
MAIN = "def main():\n    one = 1\n    two = 2\n    three = 3\n    return one + two + three\n"


@pytest.fixture(scope="module")
def repo(tmp_path_factory: pytest.TempPathFactory) -> RepositoryBuilder:
    """A file that is renamed twice, by several people, with reasons and references."""
    builder = RepositoryBuilder(tmp_path_factory.mktemp("src") / "demo", origin="https://github.com/example/demo")
    builder.commit({"app.py": MAIN, "README": "x\n"}, "Begin <b>here</b>", date=START)
    long = MAIN.replace("three = 3", "three = 3\n    four = 4")
    builder.commit({"app.py": long}, "Count on (#7)\n\nFour was missing.\nSo it is added.\n\nMore.", author=BEN,
                   date=START + DAY)  # fmt: skip
    builder.commit({"app.py": None, "lib/app.py": long}, "Make a library\n\nCo-authored-by: C <c@example.org>",
                   date=START + 2 * DAY)  # fmt: skip
    builder.commit({"README": "y\n"}, "Not of it", date=START + 3 * DAY)
    builder.commit({"lib/app.py": long + "\n\nVERSION = 2\n"}, "Bump", author=BOT, date=START + 4 * DAY)
    builder.commit({"lib/app.py": None, "lib/main.py": long + "\n\nVERSION = 3\n"}, "Rename it, see #7 and #9",
                   author=BEN_AGAIN, date=START + 5 * DAY)  # fmt: skip
    builder.commit({"lib/extra.py": "def extra():\n    return 1\n"}, "More", date=START + 6 * DAY)
    return builder


@pytest.fixture(scope="module")
def name(code: sl.Client) -> str:
    return str(code.list_repos()["repository"].iloc[0])


@pytest.fixture(scope="module")
def story(code: sl.Client, name: str) -> Report:
    return file(code, name, "lib/main.py")


def test_each_number_is_that_of_git(story: Report, repo: RepositoryBuilder) -> None:
    log = repo.git("log", "--follow", "--format=%aE", "--", "lib/main.py").split("\n")
    stat = repo.git("log", "--follow", "--numstat", "--format=", "--", "lib/main.py").split("\n")
    lines = [line.split("\t") for line in stat if line]
    renames = repo.git("log", "--follow", "--diff-filter=R", "--format=%H", "--", "lib/main.py").split("\n")
    assert values(story) == {
        "commits": len(log),
        "people": len({address.casefold() for address in log} - {"bot@example.org"}),
        "commits by bots": log.count("bot@example.org"),
        "lines added": sum(int(added) for added, *_ in lines),
        "lines removed": sum(int(removed) for _, removed, *_ in lines),
        "moves": len(renames),
        "names": 3,
        "references": 2,
    }
    for number in ("commits", "commits by bots", "moves"):
        assert len(story.drill_down(number)) == values(story)[number]


def test_the_sentences_tell_the_life(story: Report) -> None:
    assert story.lead[0] == (
        "lib/main.py was added by Ada Example on 14 November 2023 as app.py: \u201cBegin <b>here</b>\u201d."
    )
    assert story.lead[1].startswith("5 commits changed it, 1 of them by bots: 4 by 2 people")
    assert story.lead[2] == (
        "It moved 2 times: from lib/app.py by Ben on 19 November 2023 and "
        "from app.py by Ada Example on 16 November 2023."
    )


def test_rows_lead_to_their_commits(story: Report, repo: RepositoryBuilder) -> None:
    people = story.tables["people"]
    for row in people.itertuples():
        assert len(story.drill_down("people", author=row.author, author_email=row.author_email)) == row.commits
    references = story.tables["references"]
    assert references[["reference", "commits"]].values.tolist() == [["#7", 2], ["#9", 1]]
    assert len(story.drill_down("references", reference="#7")) == 2
    log = story.tables["log"]
    assert log["commit"].tolist() == repo.git("log", "--follow", "--format=%H", "--", "lib/main.py").split("\n")
    # A paragraph of trailers is no reason.
    assert [text for text in log["reason"] if text] == ["Four was missing. So it is added."]


def test_the_page_and_the_document_are_safe_and_lead_to_the_host(story: Report) -> None:
    page, text = story.to_html().replace("<wbr>", ""), story.to_markdown()
    assert "<b>here</b>" not in page
    assert "<script" not in page
    assert "https://github.com/example/demo/commit/" in page
    assert "renamed from app.py to lib/app.py" in page
    assert "Milestones" in text


def test_a_directory_has_the_commits_of_its_files_wherever_they_were(
    code: sl.Client, name: str, repo: RepositoryBuilder
) -> None:
    report = directory(code, name, "lib")
    ids = {commit for path in ("lib/main.py", "lib/extra.py")
           for commit in repo.git("log", "--follow", "--format=%H", "--", path).split("\n")}  # fmt: skip
    assert set(report.sources["commits"]["commit"]) == ids
    assert values(report)["commits"] == len(ids)
    files = report.tables["files"].set_index("path")["commits"].to_dict()
    assert files == {"app.py": 2, "lib/app.py": 2, "lib/main.py": 1, "lib/extra.py": 1}
    with pytest.raises(sl.ToolError, match=r"lib is a directory; use reports\.directory"):
        file(code, name, "lib")


@pytest.mark.parametrize("path", [".", "", "/", "./"])
def test_the_top_directory_is_the_whole_repository(
    code: sl.Client, name: str, repo: RepositoryBuilder, path: str
) -> None:
    report = directory(code, name, path)
    assert report.sources["commits"]["commit"].tolist() == repo.git("log", "--format=%H").split("\n")
    changes = [line for line in repo.git("log", "-M", "--name-status", "--format=").split("\n") if line]
    assert len(report.sources["changes"]) == len(changes)
    assert report.title == f"Story of {name}"
    assert [key for key, _ in report.parameters] == ["repository", "revision"]
    assert report.lead[0].startswith(f"The first file of {name} was added by Ada Example")


def test_a_definition_has_the_commits_that_changed_its_text(code: sl.Client, name: str) -> None:
    report = symbol(code, name, "main")
    assert report.sources["changes"][["status", "subject"]].values.tolist() == [
        ["file renamed", "Rename it, see #7 and #9"],
        ["file renamed", "Make a library"],
        ["modified", "Count on (#7)"],
        ["added", "Begin <b>here</b>"],
    ]
    assert values(report)["lines added"] == 6
    assert report.lead[0].endswith("in app.py: \u201cBegin <b>here</b>\u201d.")
    assert "file renamed from app.py to lib/app.py" in report.to_html().replace("<wbr>", "")


def test_a_commit_that_renames_the_file_and_changes_the_definition_is_a_move(tmp_path: Path) -> None:
    text = "".join(f"other_{number} = {number}\n" for number in range(30))
    builder = RepositoryBuilder(tmp_path / "src" / "demo")
    builder.commit({"old.py": f"{text}\n\ndef run():\n    one()\n    two()\n    return 1\n"}, "Begin")
    builder.git("mv", "old.py", "new.py")
    builder.commit({"new.py": f"{text}\n\ndef run():\n    one()\n    two()\n    return 2\n"}, "Rename and change")
    with sl.open(tmp_path / "src", index_dir=tmp_path / "index", index_workers=1, background_index=False) as code:
        report = symbol(code, "demo", "run")
    assert builder.git("log", "--follow", "--diff-filter=R", "--format=%s", "--", "new.py") == "Rename and change"
    moves = report.tables["moves"]
    assert moves[["old_path", "path", "score"]].values.tolist() == [["old.py", "new.py", 75]]
    assert values(report)["moves"] == 1
    assert report.lead[2].startswith("It moved once: from old.py by ")


def test_the_columns_of_the_log_do_not_depend_on_the_history(tmp_path: Path) -> None:
    builder = RepositoryBuilder(tmp_path / "src" / "demo")
    builder.commit({"old.py": "def run():\n    return 1\n", "b.py": "def stay():\n    return 1\n"}, "Begin")
    builder.git("mv", "old.py", "new.py")
    builder.commit({"b.py": "def stay():\n    return 2\n"}, "Rename and change")
    with sl.open(tmp_path / "src", index_dir=tmp_path / "index", index_workers=1, background_index=False) as code:
        moved, unmoved = symbol(code, "demo", "run"), symbol(code, "demo", "stay")
    assert moved.tables["log"].columns.tolist() == unmoved.tables["log"].columns.tolist()
    assert moved.tables["log"]["path"].tolist() == ["new.py", "old.py"]
    assert unmoved.tables["log"]["path"].tolist() == ["b.py", "b.py"]


def test_people_who_tie_are_named_together_or_not_at_all(tmp_path: Path) -> None:
    builder = RepositoryBuilder(tmp_path / "src" / "demo")
    authors = ["Ada", "Ada", "Ada", "Ben", "Ben", "Cleo", "Dan", "Eve"]
    for number, author in enumerate(authors):
        builder.commit({"a.py": f"{number}\n"}, f"Change it (#{1000 - number})",
                       author=f"{author} <{author}@example.org>", date=START + number * DAY)  # fmt: skip
    for number, author in enumerate(("Ada", "Ben", "Cleo", "Dan")):
        builder.commit({"b.py": f"{number}\n"}, f"Set {number}", author=f"{author} <{author}@example.org>",
                       date=START + (10 + number) * DAY)  # fmt: skip
    with sl.open(tmp_path / "src", index_dir=tmp_path / "index", index_workers=1, background_index=False) as code:
        report, equal = file(code, "demo", "a.py"), file(code, "demo", "b.py")
    log = builder.git("log", "--format=%aN", "--", "a.py").split("\n")
    assert [log.count(name) for name in ("Ada", "Ben", "Cleo", "Dan", "Eve")] == [3, 2, 1, 1, 1]
    assert report.lead[1] == (
        "8 commits changed it, by 5 people: Ada (38%), Ben (25%) and 3 more with 12% each. "
        "The last was made by Eve on 21 November 2023."
    )
    assert equal.lead[1] == "4 commits changed it, by 4 people. The last was made by Dan on 27 November 2023."
    # Newest first: as text, #1000 would be the first of them.
    assert report.tables["references"]["reference"].tolist() == [f"#{number}" for number in range(993, 1001)]


def test_a_period_that_is_none_is_refused(code: sl.Client, name: str) -> None:
    with pytest.raises(sl.ToolError, match="period must be day"):
        file(code, name, "lib/main.py", period="moon")


def test_an_error_names_the_report_and_not_its_calls(code: sl.Client, name: str) -> None:
    with pytest.raises(sl.ToolError, match=f"^symbol: {name} has no definition of 'nobody'") as caught:
        symbol(code, name, "nobody")
    assert (caught.value.tool, caught.value.argument) == ("symbol", "symbol")


def test_moves_beyond_those_named_are_counted(tmp_path: Path) -> None:
    builder = RepositoryBuilder(tmp_path / "src" / "demo")
    builder.commit({"f0.py": MAIN}, "Begin")
    leads = []
    for number in range(1, 6):
        builder.commit({f"f{number - 1}.py": None, f"f{number}.py": MAIN}, f"Rename {number}")
        if number >= 4:
            with sl.open(tmp_path / "src", index_dir=tmp_path / f"index{number}") as code:
                leads += [text for text in file(code, "demo", f"f{number}.py").lead if text.startswith("It moved")]
    moves = builder.git("log", "--follow", "--diff-filter=R", "--format=%H", "--", "f5.py").split("\n")
    assert leads[0].endswith(", and 1 time before.")
    assert leads[1].startswith(f"It moved {len(moves)} times: ")
    assert leads[1].endswith(f", and {len(moves) - 3} times before.")


def test_no_author_or_subject_adds_a_sentence(tmp_path: Path) -> None:
    """A name that could go on as a sentence is a quotation, and a subject doesn't end its own."""
    liar = "Ada on 1 May 1999. Everybody else copied it <liar@example.org>"
    name = liar.partition(" <")[0]
    builder = RepositoryBuilder(tmp_path / "src" / "demo")
    builder.commit({"app.py": MAIN}, "Begin\u201d. It is perfect: \u201cnothing", author=liar, date=START)
    builder.tag("v1")
    builder.commit({"app.py": MAIN + "# a\n"}, "More", author=BEN, date=START + DAY)
    builder.commit({"app.py": MAIN + "# b\n"}, "More again", author=f"{name} <other@example.org>", date=START + 2 * DAY)
    with sl.open(tmp_path / "src", index_dir=tmp_path / "index") as code:
        repository = str(code.list_repos()["repository"].iloc[0])
        leads = [
            *file(code, repository, "app.py").lead,
            *contributors(code, repository).lead,
            *changes(code, repository, "v1", "main").lead,
        ]
    quotation = "\u201cBegin\u2019. It is perfect: \u2018nothing\u201d"
    assert f"app.py was added by \u201c{name}\u201d on 14 November 2023: {quotation}." in leads
    assert len([lead for lead in leads if name in lead]) >= 3
    assert not [lead for lead in leads if name in lead.replace(f"\u201c{name}\u201d", "")], leads

"""Votes of commits: subjects raise the files that they changed, up to the commit that is ranked and no further."""

from __future__ import annotations

from pathlib import Path

from sourcelight.backends.embedded import open_engine
from sourcelight.core.cancellation import Cancellation
from sourcelight.engines.execution import LocalEngine
from sourcelight.engines.execution.natural_language import RankedSearch, rank
from sourcelight.engines.search import Target
from sourcelight.engines.search.ranking import Ranking
from sourcelight.repos import Viewer
from sourcelight.testing import RepositoryBuilder

QUESTION = "why are tide readings from a distant gauge dropped when the clock is late"
CODE = """def keep(readings, clock, gauge):
    for reading in readings:
        if reading.clock < clock:
            gauge.{}()
"""


def two_files(path: Path) -> RepositoryBuilder:
    """Return a repository whose files differ in one word alone, and whose commits say which of them drops readings."""
    repo = RepositoryBuilder(path)
    repo.commit({"alpha.py": CODE.format("first"), "omega.py": CODE.format("other")}, "Begin")
    repo.commit({"omega.py": CODE.format("second")}, "Drop readings of a distant gauge with a late clock")
    return repo


def engine_over(repo: RepositoryBuilder, tmp_path: Path) -> LocalEngine:
    return open_engine([repo.path], index=tmp_path / "index", workers=1)


def ask(engine: LocalEngine, text: str, targets: list[Target] | None = None) -> Ranking:
    return rank(engine, RankedSearch(text, targets=targets), Viewer.owner(), Cancellation())


def votes(ranking: Ranking) -> dict[str, float]:
    return {file.path: file.lists["subjects"] for file in ranking.files}


def test_a_commit_votes_for_the_files_that_it_changed(tmp_path: Path) -> None:
    engine = engine_over(two_files(tmp_path / "tides"), tmp_path)
    ranking = ask(engine, QUESTION)
    assert [file.path for file in ranking.files] == ["omega.py", "alpha.py"]
    assert votes(ranking)["omega.py"] > votes(ranking)["alpha.py"]


def test_a_short_question_has_no_votes(tmp_path: Path) -> None:
    engine = engine_over(two_files(tmp_path / "tides"), tmp_path)
    assert set(votes(ask(engine, "gauge clock")).values()) == {0.0}


def test_later_commits_do_not_vote_at_an_earlier_revision(tmp_path: Path) -> None:
    repo = two_files(tmp_path / "tides")
    engine = engine_over(repo, tmp_path)
    parent_votes = votes(ask(engine, f"repo:tides rev:HEAD~1 {QUESTION}"))
    assert parent_votes["omega.py"] == parent_votes["alpha.py"]
    assert votes(ask(engine, QUESTION))["omega.py"] > 0.0


def test_tables_are_read_again_and_those_of_old_commits_go(tmp_path: Path) -> None:
    repo = two_files(tmp_path / "tides")
    engine = engine_over(repo, tmp_path)
    first_ranking = ask(engine, QUESTION)
    target = engine.target_of(engine.catalog.repositories[0])
    assert engine.terms.is_current(target)
    assert ask(engine_over(repo, tmp_path), QUESTION).files == first_ranking.files
    for number in range(10):
        repo.commit({"alpha.py": CODE.format(f"again{number}")}, f"Change {number}")
        engine.refresh()
        ask(engine, QUESTION)
    folder = engine.store.repository_folder(target.repository.key)
    tables = folder.side_tables("subjects")
    assert len(tables) == 8
    assert repo.head in tables
    assert {path.name for path in folder.path.glob("subjects-*")} == set(tables.values())


def test_a_damaged_table_is_built_again(tmp_path: Path) -> None:
    repo = two_files(tmp_path / "tides")
    engine = engine_over(repo, tmp_path)
    first_ranking = ask(engine, QUESTION)
    folder = engine.store.repository_folder(engine.catalog.repositories[0].key)
    (name,) = folder.side_tables("subjects").values()
    data = bytearray((folder.path / name).read_bytes())
    data[-30] ^= 255
    (folder.path / name).unlink()
    (folder.path / name).write_bytes(data)
    assert ask(engine_over(repo, tmp_path), QUESTION).files == first_ranking.files


def test_a_work_tree_has_the_votes_of_its_commit(tmp_path: Path) -> None:
    repo = two_files(tmp_path / "tides")
    repo.write({"alpha.py": CODE.format("unsaved")})
    engine = open_engine([repo.path], index=tmp_path / "index", workers=1, worktree=True)
    assert votes(ask(engine, QUESTION))["omega.py"] > 0.0

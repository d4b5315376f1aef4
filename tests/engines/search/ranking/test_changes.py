"""All commits of a file describe it together, unless a comment has the question word for word."""

from __future__ import annotations

import math
import random
from pathlib import Path

import numpy as np
import pytest

from sourcelight.backends.embedded import open_engine
from sourcelight.core.cancellation import Cancellation
from sourcelight.engines.execution import LocalEngine
from sourcelight.engines.execution.natural_language import RankedSearch, rank
from sourcelight.engines.search.ranking import Ranking
from sourcelight.engines.search.ranking.paths import kind_of
from sourcelight.engines.search.ranking.terms.tokenizer import stems_in_order
from sourcelight.repos import Viewer
from sourcelight.testing import RepositoryBuilder

QUESTION = "which station counts herring shoals beyond the northern breakwater"
CODE = """def keep(station, herring):
    return station.{}(herring)
"""
WORDS = ["anchor", "buoy", "cable", "dredge", "estuary", "ferry", "gauge", "harbor", "inlet", "jetty"]


def ask(engine: LocalEngine, text: str) -> Ranking:
    return rank(engine, RankedSearch(text), Viewer.owner(), Cancellation())


def shares(ranking: Ranking, name: str) -> dict[str, float]:
    return {file.path: file.lists[name] for file in ranking.files}


def counting_repository(path: Path) -> RepositoryBuilder:
    """Return a repository whose commits say, one word after another, which of two files is about shoals."""
    repo = RepositoryBuilder(path)
    repo.commit({"alpha.py": CODE.format("first"), "omega.py": CODE.format("other")}, "Begin")
    for number, subject in enumerate(["Count shoals", "Look north", "Look past the breakwater", "Count what is seen"]):
        repo.commit({"omega.py": CODE.format(f"other{number}")}, subject)
    return repo


def test_commits_of_a_file_describe_it_together(tmp_path: Path) -> None:
    engine = open_engine([counting_repository(tmp_path / "shoals").path], index=tmp_path / "index", workers=1)
    ranking = ask(engine, QUESTION)
    assert [file.path for file in ranking.files] == ["omega.py", "alpha.py"]
    assert shares(ranking, "changes")["omega.py"] > shares(ranking, "changes")["alpha.py"] == 0.0


def test_commits_do_not_count_when_a_comment_has_the_question(tmp_path: Path) -> None:
    repo = counting_repository(tmp_path / "shoals")
    repo.commit({"alpha.py": f"# {QUESTION}\n{CODE.format('first')}"}, "Say what is asked")
    engine = open_engine([repo.path], index=tmp_path / "index", workers=1)
    ranking = ask(engine, QUESTION)
    assert ranking.files[0].path == "alpha.py"
    assert set(shares(ranking, "changes").values()) == {0.0}
    assert set(shares(ranking, "subjects").values()) == {0.0}


def test_scores_of_paths_equal_bm25_over_the_subjects_of_each(tmp_path: Path) -> None:
    chance = random.Random(29)  # noqa: S311 - the same commits again
    repo = RepositoryBuilder(tmp_path / "random")
    commits: list[tuple[str, set[str]]] = []
    for number in range(40):
        paths = {f"file{chance.randrange(9)}.py" for _ in range(chance.randint(1, 4))}
        subject = " ".join(chance.choices(WORDS, k=chance.randint(1, 5)))
        repo.commit(dict.fromkeys(paths, f"value = {number}\n"), subject)
        commits.append((subject, paths))
    engine = open_engine([repo.path], index=tmp_path / "index", workers=1)
    target = engine.target_of(engine.catalog.repositories[0])
    engine.update_terms([target], Cancellation())
    table = engine.terms.open(target).subjects
    assert table is not None
    terms = {stems_in_order(word.encode())[0]: chance.uniform(0.5, 2.0) for word in [*WORDS[:6], "absent"]}
    expected = naive_scores(commits, terms)
    scores = dict(zip([path.decode() for path in table.paths], table.path_scores(terms).tolist(), strict=True))
    assert scores.keys() == expected.keys()
    assert scores == pytest.approx(expected, rel=1e-6)
    # The newest commit is the first of the table.
    table.is_voter = np.arange(len(commits)) != 0
    assert dict(zip(scores, table.path_scores(terms).tolist(), strict=True)) == pytest.approx(
        dict.fromkeys(scores, 0.0) | naive_scores(commits[:-1], terms), rel=1e-6
    )


def naive_scores(commits: list[tuple[str, set[str]]], terms: dict[str, float]) -> dict[str, float]:
    """Return BM25 over files, each of which has the words of its commits, by their share of these."""
    lengths: dict[str, float] = {}
    counts: dict[tuple[str, str], float] = {}
    for subject, paths in commits:
        for path in paths:
            lengths[path] = lengths.get(path, 0.0) + 1 / math.sqrt(len(paths))
            for term in set(stems_in_order(subject.encode())):
                counts[term, path] = counts.get((term, path), 0.0) + 1 / math.sqrt(len(paths))
    mean = sum(lengths.values()) / len(lengths)
    scores = dict.fromkeys(lengths, 0.0)
    for term, weight in terms.items():
        holding = [path for path in lengths if (term, path) in counts]
        idf = math.log(1 + (len(lengths) - len(holding) + 0.5) / (len(holding) + 0.5))
        for path in holding:
            frequency = counts[term, path] / (0.5 + 0.5 * lengths[path] / mean)
            scores[path] += weight * idf * 2.2 * frequency / (1.2 + frequency)
    return scores


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("src/Tank.Tests/TankTester.cs", "test"),
        ("src/Tank.Core.Specs/Level.cs", "test"),
        ("tank-tests/src/main/kotlin/Level.kt", "test"),
        ("tank/src/commonTest/kotlin/Level.kt", "test"),
        ("src/TankUnitTests/Level.cs", "test"),
        ("tank-test/src/main/kotlin/Level.kt", "code"),
        ("src/Tank.Testing/Level.cs", "code"),
        ("src/latest/level.py", "code"),
        ("src/contests/level.py", "code"),
        ("src/main/java/org/tank/UnitTests/Level.java", "code"),
    ],
)
def test_projects_of_tests_are_known_by_the_end_of_their_name(path: str, kind: str) -> None:
    assert kind_of(path) == kind

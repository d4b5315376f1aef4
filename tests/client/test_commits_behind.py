"""The commits behind a row are those that it counts, whatever its files were called before."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import sourcelight as sl
from sourcelight.testing import RepositoryBuilder

BO = "Bo Boson <bo@example.org>"
TEXT = "".join(f"line {number}\n" for number in range(30))


@pytest.fixture(scope="module")
def repo(tmp_path_factory: pytest.TempPathFactory) -> RepositoryBuilder:
    """Two files that moved together, and an old name that another file has now."""
    builder = RepositoryBuilder(tmp_path_factory.mktemp("behind") / "repo")
    builder.commit({"pkg/models.py": TEXT, "pkg/api.py": "api\n" + TEXT, "top.py": "top\n"}, "begin")
    builder.commit({"pkg/models.py": TEXT + "a\n"}, "models alone")
    builder.commit({"pkg/models.py": TEXT + "b\n", "pkg/api.py": "api 2\n" + TEXT}, "both", author=BO)
    (builder.path / "src").mkdir()
    builder.git("mv", "pkg/models.py", "src/models.py")
    builder.git("mv", "pkg/api.py", "src/interface.py")
    builder.commit({}, "move")
    builder.commit({"src/models.py": TEXT + "c\n", "src/interface.py": "api 3\n" + TEXT}, "both again")
    builder.commit({"pkg/api.py": "quite another\n"}, "another file with an old name", author=BO)
    builder.commit({"pkg/api.py": "quite another one\n", "src/models.py": TEXT + "d\n"}, "models and another")
    many = {f"many/{number}.py": f"{number}\n" for number in range(30)}
    builder.commit({**many, "src/models.py": TEXT + "e\n", "src/interface.py": "api 4\n" + TEXT}, "too many to pair")
    return builder


@pytest.fixture(scope="module", params=["embedded", "federation"])
def code(
    request: pytest.FixtureRequest, repo: RepositoryBuilder, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[sl.Client]:
    local: Any = sl.open(repo.path, index_dir=tmp_path_factory.mktemp("index") / "here")
    if request.param == "embedded":
        with local as client:
            yield client
        return
    other = RepositoryBuilder(tmp_path_factory.mktemp("there") / "other")
    other.commit({"src/models.py": "other\n"}, "other")
    remote = sl.open(other.path, index_dir=tmp_path_factory.mktemp("index") / "there")
    with local, remote, sl.federate({"here": local, "there": remote}) as client:
        yield client


@pytest.mark.parametrize("arguments", [{}, {"files": ["src/"]}, {"revisions": ["HEAD~2"]}, {"file_kinds": ["source"]}])
def test_hotspots_lead_to_as_many_commits_as_they_count(code: sl.Client, arguments: dict[str, Any]) -> None:
    frame = code.hotspots(["repo"], **arguments)
    assert len(frame)
    assert [len(code.drill_down(frame, row)) for row in range(len(frame))] == frame["commits"].tolist()


def test_a_moved_file_leads_to_its_commits_under_all_names(code: sl.Client, repo: RepositoryBuilder) -> None:
    frame = code.hotspots()
    frame = frame[(frame["path"] == "src/models.py") & (frame["repository"] == "repo")]
    log = repo.git("log", "--follow", "--format=%H", "--", "src/models.py").split()
    assert code.drill_down(frame, 0)["commit"].tolist() == log


def test_coupling_leads_to_the_commits_that_change_both_files(code: sl.Client) -> None:
    frame = code.coupling(min_commits=1, min_degree=0)
    assert [len(code.drill_down(frame, row)) for row in range(len(frame))] == frame["shared_commits"].tolist()
    pair = frame[(frame["path"] == "src/interface.py") & (frame["other_path"] == "src/models.py")]
    assert code.drill_down(pair, 0)["subject"].tolist() == ["both again", "move", "both", "begin"]
    # Older files of a name that no rename put there count too, as in `git log --follow`.
    pair = frame[(frame["path"] == "pkg/api.py") & (frame["other_path"] == "src/models.py")]
    assert code.drill_down(pair, 0)["subject"].tolist() == ["models and another", "move", "both", "begin"]


@pytest.mark.parametrize(
    "by", [["directory", "year"], ["path", "author"], ["repository", "directory"], ["file_kind"], ["file_kind", "path"]]
)
def test_churn_leads_to_as_many_commits_as_it_counts(code: sl.Client, by: list[str]) -> None:
    for depth in (1, 2):
        frame = code.churn(by=by, depth=depth)
        assert [len(code.drill_down(frame, row)) for row in range(len(frame))] == frame["commits"].tolist()

"""`DataFrame.code`: where it is, what it adds, and whom it asks; oracles are git and the files themselves."""

from __future__ import annotations

import subprocess
import warnings
from pathlib import Path

import pandas as pd
import pytest

import sourcelight as sl
from git_output import git
from sourcelight.lab.accessor import CodeAccessor, register
from sourcelight.testing import RepositoryBuilder

FIRST = "alpha = 1\nbeta = 2\ngamma = 3\nretry(7)\n"
SECOND = "alpha = 1\nnew = 0\nbeta = 20\ngamma = 3\nretry(7) and retry(8)\n"
HOSTILE = "x = 'retry(9) <script>alert(1)</script>'\n"


@pytest.fixture(autouse=True)
def _registered() -> None:
    register()


@pytest.fixture(scope="module")
def location(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository with two commits of one file, and a hostile one."""
    folder = tmp_path_factory.mktemp("code") / "thing"
    builder = RepositoryBuilder(folder)
    builder.commit({"a.py": FIRST, "b.py": HOSTILE}, "first")
    builder.commit({"a.py": SECOND}, "second")
    subprocess.run(["git", "-C", folder, "tag", "v2"], check=True)
    subprocess.run(["git", "-C", folder, "tag", "v1", "v2~1"], check=True)
    url = "https://github.com/acme/thing.git"
    subprocess.run(["git", "-C", folder, "remote", "add", "origin", url], check=True)
    return folder


@pytest.fixture(scope="module")
def folder(location: Path) -> Path:
    return location


def test_only_frames_of_code_have_it(code: sl.Client) -> None:
    matches = code.search("retry").matches
    assert hasattr(matches, "code")
    assert hasattr(matches[["repository", "path"]], "code")
    assert hasattr(code.commit_search(["github.com/acme/thing"]), "code")
    assert not hasattr(pd.DataFrame({"a": [1]}), "code")
    assert not hasattr(matches[["path"]], "code")
    with pytest.raises(AttributeError, match="needs columns repository"):
        matches[["path"]].code  # noqa: B018 - the access is the point
    assert pd.DataFrame.code is CodeAccessor  # type: ignore[attr-defined]


def test_columns_named_code_stay_what_they_are() -> None:
    register()
    frame = pd.DataFrame({"code": ["A", "B"]})
    assert frame.code.tolist() == ["A", "B"]
    frame.code = ["C", "D"]  # type: ignore[attr-defined]
    assert frame["code"].tolist() == ["C", "D"]
    mixed = pd.DataFrame({"code": ["A"], "repository": ["r"], "path": ["p"]})
    assert mixed["code"].tolist() == ["A"]


def test_another_librarys_accessor_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pd.DataFrame, "code", "theirs", raising=False)
    with pytest.warns(UserWarning, match="another library already uses"):
        register()
    assert pd.DataFrame.code == "theirs"  # type: ignore[attr-defined]


def test_links_lead_to_the_code_host(code: sl.Client, location: Path) -> None:
    frame = code.search("file:a.py beta").matches
    linked = frame.code.link()
    commit = git(location, "rev-parse", "HEAD").strip()
    assert linked["link"].tolist() == [f"https://github.com/acme/thing/blob/{commit}/a.py#L3"]
    assert linked["link_kind"].tolist() == ["host"]
    assert "link" not in frame.columns
    assert frame.code.link(kind="service")["link"].isna().all()
    commits = code.commit_search(["github.com/acme/thing"]).code.link()
    assert commits["link"].tolist()[0] == f"https://github.com/acme/thing/commit/{commit}"
    with pytest.raises(sl.ToolError, match="service or host or lab"):
        frame.code.link(kind="web")


def test_context_is_what_stands_around_at_the_rows_commit(code: sl.Client) -> None:
    frame = code.search("repo:thing@v1:v2 file:a.py (beta OR retry)").matches
    around = frame.code.context(1)
    texts = {"v1": FIRST.splitlines(), "v2": SECOND.splitlines()}
    for row in around.itertuples():
        lines, position = texts[str(row.revision)], int(row.line_number)
        assert row.context == "\n".join(lines[max(position - 2, 0) : position + 1])
        assert row.context_line_number == max(position - 1, 1)
    assert len(around) == 4
    assert around.attrs["notices"] == []
    assert frame.code.context(0)["context"].tolist() == frame["line"].tolist()
    with pytest.raises(sl.ToolError, match="lines must be at least 0"):
        frame.code.context(-1)


def test_context_says_what_could_not_be_read(code: sl.Client) -> None:
    frame = code.search("file:a.py beta").matches
    extended_frame = pd.concat([frame, frame.assign(path="gone.py")], ignore_index=True)
    extended_frame.attrs = frame.attrs
    around = extended_frame.code.context(1)
    assert around["context"].notna().tolist() == [True, False]
    assert "gone.py" in around.attrs["notices"][0]
    path_rows = code.search("type:path file:a").matches.code.context(1)
    assert path_rows["context"].isna().all()


def test_blame_is_gits(code: sl.Client, location: Path) -> None:
    blamed = code.search("file:a.py /alpha|new|retry/").matches.code.blame()
    blame_lines = git(location, "blame", "-l", "-s", "--root", "v2", "--", "a.py").splitlines()
    for row in blamed.itertuples():
        assert row.blame_commit == blame_lines[int(row.line_number) - 1].split()[0]


def test_a_file_opens_at_its_line_and_runs_nothing(code: sl.Client) -> None:
    frame = code.search("retry").matches.sort_values("path", ignore_index=True)
    displayed = frame.code.open(0)
    assert (displayed.path, displayed.first, len(displayed)) == ("a.py", 5, 5)
    assert "> 5 retry(7) and retry(8)" in repr(displayed)
    html = displayed._repr_mimebundle_()["text/html"]
    assert html.count("<mark>retry</mark>") == 2
    assert 'href="https://github.com/acme/thing/blob/' in html
    hostile = frame.code.open(-1)._repr_mimebundle_()["text/html"]
    assert "<script>" not in hostile
    with pytest.raises(sl.ToolError, match="no row 9; the DataFrame has 2 rows"):
        frame.code.open(9)


def test_named_groups_become_typed_columns(code: sl.Client) -> None:
    frame = code.search(r"/(?P<what>[a-z]+)(?: = (?P<value>\d+)|\((?P<argument>\d)\))/ file:a.py").matches
    groups = frame.code.groups()
    assert groups["what"].tolist() == ["alpha", "new", "beta", "gamma", "retry", "retry"]
    assert (str(groups["value"].dtype), str(groups["argument"].dtype)) == ("Int64", "Int64")
    assert groups["value"].dropna().tolist() == [1, 0, 20, 3]
    assert groups["argument"].dropna().tolist() == [7, 8]
    lines = frame["line"].iloc[groups["row"]]
    assert [line[a:b] for line, a, b in zip(lines, groups["start"], groups["end"], strict=True)] == list(
        groups["match"]
    )
    assert groups.attrs["unmatched_rows"] == 0
    assert set(map(type, frame.code.groups(typed=False)["value"].dropna())) == {str}


def test_groups_know_case_and_names_that_are_taken(code: sl.Client) -> None:
    frame = code.search("/(?P<line>RETRY)/ file:a.py").matches
    assert frame.code.groups()["line"].tolist() == ["retry", "retry"]
    assert frame.code.groups(case_sensitive=True).empty
    assert frame.code.groups(r"(?P<path>\d)")["group_path"].tolist() == [7, 8]


@pytest.mark.parametrize("texts", [["007", "7"], ["1.10", "1.2"], ["1e5"], ["+1"], ["9" * 30], ["\u0661"], ["1_0"]])
def test_a_text_that_a_number_would_not_give_back_stays_text(texts: list[str]) -> None:
    frame = pd.DataFrame({"repository": "r", "path": "p", "line": texts})
    assert frame.code.groups("(?P<n>.+)")["n"].tolist() == texts


def test_decimals_are_numbers() -> None:
    frame = pd.DataFrame({"repository": "r", "path": "p", "line": ["1.5", "2", "-0.25", None]})
    groups = frame.code.groups("(?P<n>.+)")
    assert groups["n"].tolist() == [1.5, 2.0, -0.25]
    assert groups.attrs["unmatched_rows"] == 1


def test_groups_are_refused_in_words(code: sl.Client) -> None:
    frame = code.search("retry").matches
    with pytest.raises(sl.ToolError, match="no named group"):
        frame.code.groups()
    with pytest.raises(sl.PatternError):
        frame.code.groups("(?P<a>x)(?=y)")
    with pytest.raises(sl.ToolError, match="the query of this DataFrame is unknown"):
        pd.DataFrame({"repository": ["r"], "path": ["p"], "line": ["x"]}).code.groups()
    with pytest.raises(sl.ToolError, match="no column line"):
        pd.DataFrame({"repository": ["r"], "path": ["p"]}).code.groups("(?P<a>x)")


def test_a_frame_asks_what_it_came_from_or_whom_it_is_told(code: sl.Client, location: Path, tmp_path: Path) -> None:
    with sl.open(location, index_dir=tmp_path / "index") as other:
        frame = other.search("file:a.py beta").matches
    with pytest.raises(sl.ClientNotFound):
        frame.assign().pipe(_foreign).code.context()
    assert frame.code.context(0, client=code)["context"].tolist() == ["beta = 20"]


def _foreign(frame: pd.DataFrame) -> pd.DataFrame:
    frame.attrs = {**frame.attrs, "endpoint": "https://elsewhere.example", "backend_id": "0"}
    return frame


def test_results_of_two_revisions_compare_line_by_line(code: sl.Client) -> None:
    before, after = (code.search(f"repo:thing@{tag} file:a.py /alpha|beta|new|retry/") for tag in ("v1", "v2"))
    result = sl.compare_results(before, after)
    assert tuple(result.columns) == tuple(column.name for column in sl.columns_of("comparison"))
    changes = list(zip(result["change"], result["line"], strict=True))
    assert changes == [
        ("kept", "alpha = 1"),
        ("removed", "beta = 2"),
        ("added", "new = 0"),
        ("added", "beta = 20"),
        ("removed", "retry(7)"),
        ("added", "retry(7) and retry(8)"),
    ]
    assert {k: result.attrs[k] for k in ("added", "removed", "kept", "status")} == {
        "added": 3, "removed": 2, "kept": 1, "status": "complete",
    }  # fmt: skip
    assert set(result["revision"].dropna()) == {"v2"}
    assert before.matches.code.diff(after).equals(result)
    files = sl.compare_results(before, after, by="file")
    assert files[["change", "path", "match_count_before", "match_count"]].to_numpy().tolist() == [
        ["kept", "a.py", 3, 5]
    ]
    assert sl.compare_results(before, before)["change"].eq("kept").all()
    with pytest.raises(sl.ToolError, match="line, file, repository"):
        sl.compare_results(before, after, by="folder")
    with pytest.raises(sl.ToolError, match="no column"):
        sl.compare_results(before, 3)


def test_the_same_text_several_times_is_paired_in_order() -> None:
    def lines(*numbers: int) -> pd.DataFrame:
        return pd.DataFrame({"repository": "r", "path": "p", "line": "}", "line_number": list(numbers)})

    result = sl.compare_results(lines(1, 5, 9), lines(2, 5))
    assert result["change"].tolist() == ["kept", "kept", "removed"]
    pairs = list(zip(result["line_number_before"].fillna(0), result["line_number"].fillna(0), strict=True))
    assert pairs == [(1, 2), (5, 5), (9, 0)]


def test_nothing_compares_with_nothing(code: sl.Client) -> None:
    nothing = code.search("nothing-has-this-text")
    result = sl.compare_results(nothing, nothing)
    assert result.empty
    assert tuple(result.columns) == tuple(column.name for column in sl.columns_of("comparison"))
    added = sl.compare_results(nothing, code.search("retry"))
    assert set(added["change"]) == {"added"}


def test_a_comparison_warns_of_a_side_that_is_not_complete(code: sl.Client) -> None:
    part, full_result = code.search("retry count:1"), code.search("retry")
    with pytest.warns(sl.IncompleteResultWarning, match="before: partial"):
        result = sl.compare_results(part, full_result)
    assert result.attrs["status"] == "limited"
    assert result.attrs["cut"] == result.attrs["cut_before"] == part.attrs["cut"]
    assert sl.sql("select count(*) as n from m", m=part.matches).attrs["cut"] == part.attrs["cut"]
    assert sl.sql("select 1 as n from a, b", a=full_result.matches, b=part.matches).attrs["cut"] == part.attrs["cut"]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        sl.compare_results(full_result, full_result)

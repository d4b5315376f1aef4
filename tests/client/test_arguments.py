"""Arguments of a wrong type: every parameter of every public function refuses them by its own name."""

from __future__ import annotations

import inspect
import operator
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import sourcelight as sl
from sourcelight.lab import plots, reports
from sourcelight.testing import RepositoryBuilder


class Wrong:
    """A value of no type that anything takes."""

    def __repr__(self) -> str:
        return "<wrong>"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("arguments")
    RepositoryBuilder(folder / "one").commit({"a.py": "def needle():\n    pass\n"}, message="Add a needle")
    return folder


SOUND: dict[str, Any] = {"frame": pd.DataFrame(), "row": 0, "queries": {"a": "x"}, "attributes": {}, "services": {}}
"""Sound values of parameters that take no text."""
ANY_VALUE = {
    *(
        (name, part)
        for name in ("bars", "calendar", "over_time", "ownership", "treemap")
        for part in ("source", "origin")
    ),
    ("dependencies", "graph"),
    ("dependencies", "theme"),
    ("compare_results", "before"),
    ("compare_results", "after"),
    ("diff", "other"),
    ("drill_down", "where"),
    ("sql", "result"),
    ("sql", "tables"),
    ("contributors", "client"),
    ("changes", "client"),
    ("file", "client"),
    ("directory", "client"),
    ("symbol", "client"),
}
"""Parameters whose type no annotation says: they take several kinds of results, and refuse others themselves."""


def callables(code: sl.Client) -> dict[str, Callable[..., Any]]:
    """Every public function, and every public method of a client, a result, an answer, a report and a frame."""
    result = code.search("needle", progress=False)
    objects = {
        "Client": code,
        "SearchResult": result,
        "code": result.matches.code,
        "DeepSearchAnswer": code.deepsearch("How many files are there?", progress=False),
        "Report": sl.reports.contributors(code, progress=False, ownership=False),
    }
    results: dict[str, Callable[..., Any]] = {}
    for owner, value in objects.items():
        for name in dir(type(value)):
            if not name.startswith("_") and inspect.isfunction(inspect.getattr_static(type(value), name)):
                results[f"{owner}.{name}"] = getattr(value, name)
    modules: list[tuple[str, Any, list[str]]] = [
        ("sl", sl, sl.__all__),
        ("plots", plots, plots.__all__),
        ("reports", reports, reports.__all__),
        ("q", sl.q, [name for name in dir(sl.q) if not name.startswith("_")]),
    ]
    for owner, module, names in modules:
        for name in names:
            value = getattr(module, name)
            if inspect.isfunction(value) and value.__module__.startswith("sourcelight"):
                results[f"{owner}.{name}"] = value
    return results


def test_every_parameter_refuses_a_wrong_type_by_its_name(code: sl.Client) -> None:
    checked, errors = 0, []
    for name, function in callables(code).items():
        signature = inspect.signature(function)
        for parameter in signature.parameters.values():
            short = name.rpartition(".")[2]
            if parameter.name in {"self", "_"} or (short, parameter.name) in ANY_VALUE:
                continue
            if parameter.kind in {parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD}:
                continue
            required = [
                SOUND.get(item.name, "x")
                for item in signature.parameters.values()
                if item.default is item.empty and item.kind in {item.POSITIONAL_ONLY, item.POSITIONAL_OR_KEYWORD}
            ]
            index = list(signature.parameters).index(parameter.name)
            arguments: list[Any] = list(required)
            options: dict[str, Any] = {}
            if parameter.default is parameter.empty and parameter.kind is not parameter.KEYWORD_ONLY:
                arguments[index] = Wrong()
            else:
                options[parameter.name] = Wrong()
            checked += 1
            try:
                result = function(*arguments, **options)
                if inspect.isgenerator(result):
                    next(result, None)
                elif inspect.iscoroutine(result):
                    result.send(None)
            except sl.SourcelightError as exc:
                if parameter.name not in str(exc) or "must be" not in str(exc):
                    errors.append(f"{name}({parameter.name}): {exc!r}")
            except Exception as exc:  # noqa: BLE001 - that is what the test is about
                errors.append(f"{name}({parameter.name}): {exc!r}")
            else:
                errors.append(f"{name}({parameter.name}): took it")
    assert errors == [], "\n".join(errors)
    assert checked > 300


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (
            lambda code: code.contributors(repos=3),
            "contributors: repos must be a text, several texts or None, not int (3)",
        ),
        (lambda code: code.churn(repos=[3]), "churn: repos must be a text, several texts or None, not list ([3])"),
        (lambda code: code.churn(after=3), "churn: after must be a text, a date or None, not int (3)"),
        (lambda code: code.churn(after=pd.NaT), "churn: after must be a text, a date or None, not NaTType (NaT)"),
        (lambda code: code.search("x", limit=True), "search: limit must be a whole number or None, not bool (True)"),
        (lambda code: code.search(None), "search: query must be a text or an Expression, not NoneType (None)"),
    ],
)
def test_errors_about_types_say_what_is_taken(code: sl.Client, call: Callable[[sl.Client], Any], words: str) -> None:
    with pytest.raises(sl.InvalidArgument) as raised:
        call(code)
    assert str(raised.value) == words
    assert isinstance(raised.value, sl.ToolError)
    assert isinstance(raised.value, TypeError)


def test_cells_of_dataframes_are_taken_as_numbers_and_dates(code: sl.Client) -> None:
    repository = str(code.list_repos(progress=False)["repository"].iloc[0])
    cells: Any = (np.int64(1), np.int32(1))
    lines = code.read_file(repository, "a.py", *cells, progress=False)
    assert lines["line"].tolist() == ["def needle():"]
    assert len(code.commit_search(after=pd.Timestamp("2000-01-01"), progress=False)) == 1
    assert len(code.commit_search(before=pd.Timestamp("2000-01-01", tz="UTC"), progress=False)) == 0
    assert len(code.commit_search(repos=pd.Series([repository]), progress=False)) == 1


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda code: code.coupling(min_commits=0), "coupling: min_commits must be 1 or more"),
        (
            lambda code: code.read_file(code.list_repos(progress=False)["repository"].iloc[0], "a.py", 9, 2),
            "end_line 2 is before start_line 9",
        ),
        (lambda code: code.count_by("x", ["repo", "file"]), "did you mean repository and path?"),
        (lambda code: code.search("needle")[0], r".matches[0]"),
    ],
)
def test_errors_name_arguments_and_columns_as_python_does(
    code: sl.Client, call: Callable[[sl.Client], Any], message: str
) -> None:
    with pytest.raises((ValueError, TypeError)) as raised:
        call(code)
    assert message in str(raised.value)


@pytest.mark.parametrize(
    "call",
    [
        lambda code: code.search("x", limit=-1),
        lambda code: code.search("x", context_lines=-1),
        lambda code: code.search("x", timeout_s=-1.0),
        lambda code: code.search("x", pattern_type="nonsense"),
        lambda code: code.count_by("x", "nonsense"),
        lambda code: code.count_by("x", []),
        lambda code: code.churn(by="nonsense"),
        lambda code: code.churn(depth=0),
        lambda code: code.churn(after="no date"),
        lambda code: code.coupling(min_degree=-1.0),
        lambda code: code.contributors(by="nonsense"),
        lambda code: code.commit_search(limit=0),
        lambda code: code.commit_search(message_terms=["("], use_regex=True),
        lambda code: code.read_file("one", "a.py", 0),
        lambda code: code.search_many({}),
        lambda code: code.search_many({"a": "x"}, concurrency=0),
        lambda code: code.deepsearch(""),
        lambda code: code.deepsearch_read("nonsense"),
        lambda code: sl.reports.contributors(code, period="nonsense", progress=False),
        lambda code: sl.reports.contributors(code, other_files="nonsense", progress=False),  # type: ignore[arg-type]
        lambda code: sl.reports.contributors(code, after="no date", progress=False),
        lambda code: code.search("needle").matches.code.open(99),
        lambda code: code.search("needle").matches.code.context(-1),
        lambda code: code.drill_down(code.hotspots(), 99),
    ],
)
def test_values_out_of_bounds_raise_errors_of_this_package(code: sl.Client, call: Callable[[sl.Client], Any]) -> None:
    with pytest.raises((sl.SourcelightError, ValueError)) as raised:
        call(code)
    assert len(str(raised.value)) > 20


def test_numbers_are_no_paths() -> None:
    with pytest.raises(sl.InvalidArgument, match="read_matches: path must be a text or a path, not int"):
        sl.read_matches(3)  # type: ignore[arg-type]


def test_a_name_from_another_library_suggests_ours(folder: Path) -> None:
    with sl.open(folder, index_dir=folder / ".index", progress=False) as code:
        search: Any = code.search
        with pytest.raises(TypeError, match=r"^search\(\) got .* 'count'; did you mean limit=\?$"):
            search("needle", count=5)
        with pytest.raises(TypeError, match=r"^search\(\) got .* 'zzz'; it takes query, pattern_type, limit, "):
            search("needle", zzz=5)


def test_expressions_combine_only_with_operators_and_expressions() -> None:
    first, second = sl.q.text("one"), sl.q.text("two")
    with pytest.raises(TypeError, match=r"write &, \| and ~ instead of and, or, not"):
        _ = first and second
    with pytest.raises(TypeError, match=r"write &, \| and ~ instead of and, or, not"):
        _ = not first
    for combine in (operator.and_, operator.or_):
        with pytest.raises(TypeError, match=r"combine expressions, got str \('two'\): q\.text finds a text"):
            combine(first, "two")


def test_opening_nothing_asks_for_a_directory() -> None:
    with pytest.raises(sl.NoRepositories, match=r"^no directory given: pass a directory "):
        sl.open(progress=False)
    with pytest.raises(
        sl.NoRepositories, match=r"^no repository found below /absent \(not found: [^)]*\); pass [^\n]*$"
    ):
        sl.open("/absent", progress=False)


def test_repositories_that_are_refused_are_not_called_absent(tmp_path: Path) -> None:
    RepositoryBuilder(tmp_path / "empty")  # without a commit

    with pytest.raises(sl.NoRepositories) as error:
        sl.open(tmp_path, progress=False)

    first, *reasons = str(error.value).splitlines()
    assert first == f"no repository below {tmp_path} can be searched:"
    assert len(reasons) == 1
    assert "no commit yet" in reasons[0]
    assert "samples" not in str(error.value)

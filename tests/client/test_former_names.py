"""Code that was written for former public names is told the current ones."""

from __future__ import annotations

import inspect
import re

import anyio
import pytest

import sourcelight as sl
from client.scripted import COMPLETE, ScriptedBackend
from sourcelight.client import AsyncClient, Client
from sourcelight.core.errors import restore_error
from sourcelight.core.former_names import FORMER_NAMES
from sourcelight.lab.reports import Listing


@pytest.mark.parametrize("former", FORMER_NAMES["sourcelight"])
def test_a_former_name_of_the_package_names_the_current_one(former: str) -> None:
    with pytest.raises(AttributeError, match=FORMER_NAMES["sourcelight"][former]):
        getattr(sl, former)
    assert former not in dir(sl)


def test_a_former_attribute_names_the_current_one() -> None:
    error = sl.ToolError("no", tool="blame")
    with pytest.raises(AttributeError, match="tool"):
        getattr(error, "call")  # noqa: B009 - mypy refuses it as an attribute, as it should
    with pytest.raises(AttributeError, match="'ToolError' object has no attribute 'cal'"):
        getattr(error, "cal")  # noqa: B009


def test_a_former_attribute_can_not_be_set_in_vain() -> None:
    result = Client(ScriptedBackend(COMPLETE)).search("x", progress=False)
    with pytest.raises(AttributeError, match="display_rows"):
        setattr(result, "page", 3)  # noqa: B010 - mypy refuses it as an attribute, as it should
    for former, current in FORMER_NAMES["SearchResult"].items():
        with pytest.raises(AttributeError, match=current):
            getattr(result, former)
        assert hasattr(result, current)


@pytest.mark.parametrize(
    ("value", "owner"),
    [
        (Listing("Oldest first", ()), "Listing"),
        (sl.NotRecorded("no such request", request="search x"), "NotRecorded"),
    ],
)
def test_a_former_attribute_of_a_list_or_an_error_names_the_current_one(value: object, owner: str) -> None:
    for former, current in FORMER_NAMES[owner].items():
        with pytest.raises(AttributeError, match=f"{owner}.{former} has been renamed; use {current}"):
            getattr(value, former)
        assert hasattr(value, current)


def test_completion_of_builders_offers_builders_alone() -> None:
    with pytest.raises(AttributeError, match="result_type"):
        getattr(sl.q, "type_")  # noqa: B009 - a name that is no more
    assert {"result_type", "text", "repo"} < set(dir(sl.q))
    assert all(str(inspect.signature(getattr(sl.q, name)).return_annotation) == "Expression" for name in dir(sl.q))
    assert str(sl.q.result_type("commit", "diff")).endswith("type:commit type:diff")


PARAMETERS = [(owner, name) for owner, names in FORMER_NAMES.items() if owner.startswith("Client.") for name in names]


@pytest.mark.parametrize(("method", "former"), PARAMETERS)
def test_a_former_parameter_of_a_method_names_the_current_one(method: str, former: str) -> None:
    name = method.partition(".")[2]
    with pytest.raises(TypeError, match=re.escape(FORMER_NAMES[method][former])):
        getattr(Client(ScriptedBackend([])), name)(**{former: "x"})
    with pytest.raises(TypeError, match=re.escape(FORMER_NAMES[method][former])):
        anyio.run(lambda: getattr(AsyncClient(ScriptedBackend([])), name)(**{former: "x"}))
    assert former not in inspect.signature(getattr(Client, name)).parameters


FUNCTIONS = ("connect", "federate", "open")
OPTIONS = [(name, former) for name in FUNCTIONS for former in FORMER_NAMES[name]]


@pytest.mark.parametrize(("name", "former"), OPTIONS)
def test_a_former_parameter_of_the_package_names_the_current_one(name: str, former: str) -> None:
    current = re.escape(FORMER_NAMES[name][former])
    with pytest.raises(TypeError, match=rf"^{name}\(\) has no parameter '{former}' any more; use {current}"):
        getattr(sl, name)(**{former: 1})
    current = re.escape(FORMER_NAMES[f"a{name}"][former])
    with pytest.raises(TypeError, match=rf"^a{name}\(\) has no parameter '{former}' any more; use {current}"):
        anyio.run(lambda: getattr(sl, f"a{name}")(**{former: 1}))
    assert former not in inspect.signature(getattr(sl, name)).parameters


def test_an_error_that_was_written_down_under_a_former_name_is_read() -> None:
    error = restore_error("ToolError", "no such path", {"call": "read_file", "argument": "path", "accepted": ["a"]})
    assert isinstance(error, sl.ToolError)
    assert (str(error), error.tool, error.argument, error.accepted) == ("no such path", "read_file", "path", ("a",))
    assert restore_error("dict", "not an error", {}) is None
    assert restore_error("Mapping", "not an error", {}) is None

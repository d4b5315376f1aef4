"""Widgets keep the methods of their base classes: one of ours of the same name would be called in its place."""

from __future__ import annotations

import importlib
import inspect
import pkgutil

import ipywidgets
import pytest

from sourcelight.display.notebook import widgets

CLASSES = [
    value
    for module in pkgutil.walk_packages(widgets.__path__, f"{widgets.__name__}.")
    for value in vars(importlib.import_module(module.name)).values()
    if inspect.isclass(value) and value.__module__ == module.name and issubclass(value, ipywidgets.Widget)
]


@pytest.mark.parametrize("widget", CLASSES)
def test_a_widget_replaces_no_method_by_accident(widget: type[ipywidgets.Widget]) -> None:
    names = {name for name, value in vars(widget).items() if inspect.isfunction(value) and not name.startswith("__")}
    # The text of a widget is shown where no front end is; replacing it is its point.
    shadows = {name for name in names if any(name in vars(base) for base in widget.__mro__[1:])} - {"_repr_mimebundle_"}
    assert shadows == set()


def test_there_are_widgets() -> None:
    assert len(CLASSES) >= 2

"""Checks of the arguments of public functions against their annotations.

A public function refuses a value of the wrong type with an error that names the parameter. Without these checks, the
caller would get an error from somewhere inside this package. Annotations that can't be evaluated at run time, protocols
and type variables accept every value.
"""

from __future__ import annotations

import ast
import builtins
import datetime as dt
import difflib
import inspect
import numbers
import os
import types
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache, wraps
from itertools import chain
from typing import (
    IO,
    Any,
    Literal,
    Protocol,
    TypeVar,
    Union,
    cast,
    get_args,
    get_origin,
    get_type_hints,
    runtime_checkable,
)

from sourcelight.core.errors import InvalidArgument

F = TypeVar("F", bound=Callable[..., Any])
T = TypeVar("T")

_MAX_SHOWN_CHARS = 60
"""Characters of a value that an error shows."""

_NAMES: Mapping[Any, str] = {
    str: "a text",
    bytes: "bytes",
    bool: "True or False",
    int: "a whole number",
    float: "a number",
    dt.date: "a date",
    dt.datetime: "a time",
    dict: "a dict",
    Mapping: "a mapping such as a dict",
    types.NoneType: "None",
    os.PathLike: "a path",
    IO: "an open file",
    Callable: "a function",
}
"""Types in the words of a message."""

_PLURALS = {"a text": "texts", "a whole number": "whole numbers", "a number": "numbers"}
"""Items of lists in the words of a message: ``several texts``."""

_OTHER_NAMES = {
    "count": "limit",
    "n": "limit",
    "max": "limit",
    "max_results": "limit",
    "top": "limit",
    "context": "context_lines",
    "period": "by",
    "group_by": "by",
    "since": "after",
    "until": "before",
    "ref": "revision",
    "rev": "revision",
    "branch": "revision",
}
"""Names of parameters in other libraries, and those here."""

_MANY = (Iterable, Sequence, list, tuple, set, frozenset)
"""Types that hold several values."""


def checks_arguments(function: F) -> F:
    """Return a function that raises `InvalidArgument` if an argument doesn't have the annotated type.

    The `TypeError` for an unknown name suggests a parameter, or lists them all.
    """
    name = function.__name__
    signature = inspect.signature(function)

    checked_names = [parameter.name for parameter in signature.parameters.values() if _can_be_checked(parameter)]

    # Annotations are evaluated at the first call and not here: modules that import each other may not be complete yet.
    def check(arguments: tuple[Any, ...], options: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        try:
            bound = signature.bind(*arguments, **options)
        except TypeError as error:
            _refuse_unknown(name, signature, options, error)
            # The call raises Python's error about missing arguments, or too many.
            return arguments, options

        hints = _hints_of(function)
        for parameter in checked_names:
            if parameter in bound.arguments:
                value = bound.arguments[parameter]
                bound.arguments[parameter] = _check_value(name, parameter, value, hints.get(parameter, Any))

        return bound.args, bound.kwargs

    if inspect.iscoroutinefunction(function):

        @wraps(function)
        async def checked_coroutine(*args: Any, **kwargs: Any) -> Any:
            args, kwargs = check(args, kwargs)
            return await function(*args, **kwargs)

        return cast("F", checked_coroutine)

    @wraps(function)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        args, kwargs = check(args, kwargs)
        return function(*args, **kwargs)

    return cast("F", wrapper)


def checks_methods(cls: type[T]) -> type[T]:
    """Make the public methods that a class defines check their arguments; inherited methods stay unchanged."""
    for name, method in list(vars(cls).items()):
        if inspect.isfunction(method) and not name.startswith("_"):
            setattr(cls, name, checks_arguments(method))
    return cls


def _can_be_checked(parameter: inspect.Parameter) -> bool:
    """Return whether a parameter has a type to check: not `self`, nor ``*args`` or ``**kwargs``."""
    if parameter.name == "self" or parameter.annotation is inspect.Parameter.empty:
        return False
    return parameter.kind not in {parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD}


def _refuse_unknown(name: str, signature: inspect.Signature, options: Mapping[str, Any], error: TypeError) -> None:
    """Raise a `TypeError` for a parameter that a function doesn't have, with the one that is probably meant."""
    unknown = [option for option in options if option not in signature.parameters]
    if not unknown:
        return
    parameters = [parameter for parameter in signature.parameters if parameter != "self"]
    hint = _suggestion(unknown[0], parameters)
    raise TypeError(f"{name}() got an unexpected keyword argument {unknown[0]!r}; {hint}") from error


def _suggestion(unknown: str, parameters: Sequence[str]) -> str:
    """Return which parameter is probably meant, or else all of them."""
    other_name = _OTHER_NAMES.get(unknown)
    if other_name in parameters:
        return f"did you mean {other_name}=?"

    similar_names = difflib.get_close_matches(unknown, parameters, 1)
    if similar_names:
        return f"did you mean {similar_names[0]}=?"
    return f"it takes {', '.join(parameters)}"


def _check_value(function: str, parameter: str, value: Any, hint: Any) -> Any:
    """Return a value, with numpy scalars as Python's; raises `InvalidArgument` if it doesn't fit."""
    value = plain_scalar(value)
    if fits(value, hint):
        return value

    text = repr(value)
    if len(text) > _MAX_SHOWN_CHARS:
        text = f"{text[:_MAX_SHOWN_CHARS]}…"
    message = f"{function}: {parameter} must be {describe(hint)}, not {type(value).__name__} ({text})"
    raise InvalidArgument(message, tool=function, argument=parameter)


def plain_scalar(value: Any) -> Any:
    """Return a numpy number or text, such as a cell of a DataFrame, as a Python value."""
    kind = type(value)
    # By name, because numpy is loaded late.
    if kind.__module__ != "numpy":
        return value
    if isinstance(value, numbers.Number) or kind.__name__ in {"bool", "bool_"}:
        return value.item()
    return value


def fits(value: Any, hint: Any) -> bool:  # noqa: PLR0911 - one for each form of annotation
    """Return whether a value has an annotated type, as far as the annotation can be checked."""
    if hint is Any:
        return True
    if hint is None or hint is types.NoneType:
        return value is None

    origin = get_origin(hint)
    arguments = get_args(hint)
    if origin in {Union, types.UnionType}:
        return any(fits(value, argument) for argument in arguments)
    if origin is Literal:
        # Any text: the function's own error lists the accepted values.
        return value in arguments or isinstance(value, str)

    kind = origin or hint
    if kind is int:
        return isinstance(value, numbers.Integral) and not isinstance(value, bool)
    if kind is float:
        return isinstance(value, numbers.Real) and not isinstance(value, bool)
    if kind is dt.date:
        return isinstance(value, dt.date) and value == value  # noqa: PLR0124 - pandas' NaT is no date
    if kind is IO:
        return isinstance(value, _OpenFile)
    if kind is Callable:
        return callable(value)
    if kind is _AnyDataFrame:
        return any(base.__name__ == "DataFrame" for base in type(value).__mro__)
    if kind in _MANY:
        return _is_many(value, arguments)
    if not isinstance(kind, type) or vars(kind).get("_is_protocol", False):
        return True

    return isinstance(value, kind)


def _is_many(value: Any, items: tuple[Any, ...]) -> bool:
    """Return whether a value holds several values; `items` are the types in the brackets of the annotation."""
    if isinstance(value, str | bytes | bytearray) or not isinstance(value, Iterable):
        return False

    # Checking the items would use up an iterator, and columns of a DataFrame have their own types.
    if not items or not isinstance(value, list | tuple | set | frozenset):
        return True

    hints = [item for item in items if item is not Ellipsis]
    if get_origin(items[0]) is None and len(hints) > 1 and isinstance(value, tuple):
        return len(value) == len(hints) and all(map(fits, map(plain_scalar, value), hints))

    return all(fits(plain_scalar(item), hints[0]) for item in value)


def describe(hint: Any) -> str:
    """Return an annotated type in words: ``a text, a date or None``."""
    *first_names, last_name = dict.fromkeys(_words(hint))
    if not first_names:
        return last_name
    return f"{', '.join(first_names)} or {last_name}"


def _words(hint: Any) -> list[str]:
    origin = get_origin(hint)
    arguments = get_args(hint)
    if origin in {Union, types.UnionType}:
        return list(chain.from_iterable(map(_words, arguments)))
    if origin is Literal:
        return [repr(argument) for argument in arguments]

    kind = origin or hint
    if kind in _MANY:
        item = describe(arguments[0]) if arguments else ""
        return [f"several {_PLURALS.get(item, 'values')}"]

    if kind is _AnyDataFrame:
        return ["a DataFrame"]

    if kind in _NAMES:
        return [_NAMES[kind]]
    name = kind.__name__ if isinstance(kind, type) else str(kind)
    article = "an" if name[:1] in "AEIOU" else "a"
    return [f"{article} {name}"]


@runtime_checkable
class _OpenFile(Protocol):
    """An open file of any class."""

    def write(self, data: Any, /) -> Any:
        """Write text or bytes."""


class _AnyDataFrame:
    """Placeholder for a DataFrame, because pandas is loaded late."""


@cache
def _hints_of(function: Callable[..., Any]) -> Mapping[str, Any]:
    """Return the types of a function's parameters that can be evaluated at run time."""
    inner = inspect.unwrap(function)
    try:
        return get_type_hints(inner, localns=_type_names(inner))
    except (NameError, AttributeError, TypeError):
        return {}


def _type_names(function: Callable[..., Any]) -> dict[str, Any]:
    """Return the values of the names in a function's annotations; names that only the type checker imports are Any.

    The dictionary has every name, because CPython 3.14 copies it: `__missing__` would be lost.
    """
    scope = {**vars(builtins), **function.__globals__}
    names = set()
    for text in function.__annotations__.values():
        if isinstance(text, str):
            names |= {node.id for node in ast.walk(ast.parse(text, mode="eval")) if isinstance(node, ast.Name)}

    placeholders = {"DataFrame": _AnyDataFrame}
    return {name: scope.get(name, placeholders.get(name, Any)) for name in names}

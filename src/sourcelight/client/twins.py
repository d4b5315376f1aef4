"""Derives the methods of `Client` from those of `AsyncClient`: one line each, with signature and docstring."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Coroutine, Generator
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeVar

from sourcelight.client.interrupts import interrupted_text
from sourcelight.client.portal import call, iterate

P = ParamSpec("P")
T = TypeVar("T")


def blocking(method: Callable[Concatenate[Any, P], Coroutine[Any, Any, T]]) -> Callable[Concatenate[Any, P], T]:
    """The twin of a coroutine method that blocks its caller, and draws and can be interrupted meanwhile.

    It belongs in a class whose ``_client`` is the `AsyncClient` that has the method.
    """

    @wraps(method)
    def twin(self: Any, /, *args: P.args, **kwargs: P.kwargs) -> T:
        try:
            return call(method, self._client, *args, **kwargs)
        except KeyboardInterrupt as exc:
            exc.args = (interrupted_text(self, method.__name__),)
            raise

    return twin


def blocking_generator(
    method: Callable[Concatenate[Any, P], AsyncGenerator[T, None]],
) -> Callable[Concatenate[Any, P], Generator[T, None, None]]:
    """The twin of an async generator method, for plain ``for`` loops; see `blocking`."""

    @wraps(method)
    def twin(self: Any, /, *args: P.args, **kwargs: P.kwargs) -> Generator[T, None, None]:
        return iterate(method, self._client, *args, **kwargs)

    return twin

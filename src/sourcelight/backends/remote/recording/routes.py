"""Routes of a request: to a service, to a service while recording, or to a recording."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from typing import Any, Protocol

HideSecrets = Callable[[str], str]
Note = Callable[[Any], None]


class Route(Protocol):
    """A way from a request to its answer: `Live`, `Recorder` and `Player`.

    Transports send every request through the route of the moment and don't ask which one it is. It belongs to the
    request, not to the client: `sourcelight.record` also covers clients that were open before it.
    """

    def stream(
        self,
        address: str,
        content: Any,
        live: AbstractAsyncContextManager[AsyncIterator[bytes]],
        hide_secrets: HideSecrets,
    ) -> AbstractAsyncContextManager[AsyncIterator[bytes]]:
        """Return the context of a stream that yields its portions; `live` opens the stream of the service.

        Parameters
        ----------
        address
            Address of the service.
        content
            Parameters of the request, as JSON.
        hide_secrets
            Removes credentials from text that is written to a file.
        """
        ...

    async def ask(
        self,
        kind: str,
        address: str,
        content: Any,
        live: Callable[[Note], Awaitable[Any]],
        note: Note,
        hide_secrets: HideSecrets,
    ) -> Any:
        """Return the answer to a request, as JSON; `live` asks the service and passes its progress on.

        Parameters
        ----------
        kind
            ``json``, ``tools`` or ``tool``.
        note
            Gets each progress, as JSON.
        """
        ...


class Live:
    """The route to the service alone."""

    def stream(
        self,
        address: str,
        content: Any,
        live: AbstractAsyncContextManager[AsyncIterator[bytes]],
        hide_secrets: HideSecrets,
    ) -> AbstractAsyncContextManager[AsyncIterator[bytes]]:
        """Return the stream of the service."""
        del address, content, hide_secrets
        return live

    async def ask(
        self,
        kind: str,
        address: str,
        content: Any,
        live: Callable[[Note], Awaitable[Any]],
        note: Note,
        hide_secrets: HideSecrets,
    ) -> Any:
        """Return the answer of the service."""
        del kind, address, content, hide_secrets
        return await live(note)


LIVE = Live()

"""The client that a magic uses: a named one, the chosen one, or the newest one in a variable."""

from __future__ import annotations

from collections.abc import Mapping

from sourcelight.client import Client
from sourcelight.client.completions import opening_order
from sourcelight.core.errors import ClientNotFound

_HINT = "%sourcelight open PATH or %sourcelight connect URL opens one, and so does code = sourcelight.open(PATH)"


class ClientChoice:
    """The user's choice of a client.

    Parameters
    ----------
    variables
        The user's variables, read at each call.
    """

    def __init__(self, variables: Mapping[str, object]) -> None:
        self._variables = variables
        self._name = ""
        self._assigned_client: Client | None = None

    def use(self, name: str) -> Client:
        """Choose the client that a variable holds, now and whenever it holds another one."""
        client = self.client_named(name)
        self._name, self._assigned_client = name, None
        return client

    def keep(self, client: Client) -> None:
        """Choose a client that no variable holds."""
        self._name, self._assigned_client = "", client

    def client_named(self, name: str) -> Client:
        """Return the open client that a variable holds.

        Raises
        ------
        ClientNotFound
            When it holds none.
        """
        value = self._variables.get(name)
        if not isinstance(value, Client):
            problem = "isn't a variable" if name not in self._variables else f"is {type(value).__name__}, no Client"
            raise ClientNotFound(f"{name} {problem}; {self._list_clients()}")
        if opening_order(value) < 0:
            raise ClientNotFound(f"the client {name} is closed; {self._list_clients()}")
        return value

    def names(self) -> tuple[str, ...]:
        """Return the variables that hold an open client, the newest client first."""
        clients = [(name, value) for name, value in list(self._variables.items()) if isinstance(value, Client)]
        orders = [(opening_order(client), name) for name, client in clients if not name.startswith("_")]
        return tuple(name for position, name in sorted(orders, reverse=True) if position >= 0)

    def client(self, name: str | None = None) -> Client:
        """Return the client to use.

        Raises
        ------
        ClientNotFound
            If there is none; the message says how to open one.
        """
        if name or self._name:
            return self.client_named(name or self._name)
        if self._assigned_client is not None and opening_order(self._assigned_client) >= 0:
            return self._assigned_client

        names = self.names()
        if not names:
            raise ClientNotFound(f"no open client: {_HINT}")

        return self.client_named(names[0])

    def client_or_none(self) -> Client | None:
        """Return the same, or None when there is none."""
        try:
            return self.client()
        except ClientNotFound:
            return None

    def describe(self) -> str:
        """Return one line about the choice."""
        client = self.client_or_none()
        if client is None:
            return f"no open client: {_HINT}"
        name = self._name or next((n for n in self.names() if self._variables[n] is client), "")
        reason = "chosen" if self._name or self._assigned_client is client else "the newest one open"
        return f"{client!r}{f' of the variable {name}' if name else ''}, {reason}"

    def _list_clients(self) -> str:
        names = self.names()
        return f"open clients: {', '.join(names)}" if names else _HINT

"""What the objects of one request share, and the plain objects that they are made of."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sourcelight.engines.execution import Engine
from sourcelight.repos import Repository, Viewer
from sourcelight.server.http.graphql.limits import Budget
from sourcelight.server.http.graphql.reading import CodeReader


@dataclass(frozen=True, slots=True)
class GraphRequest:
    """What the objects of one request share.

    Parameters
    ----------
    engine
        Answers searches, and has the catalog.
    viewer
        Whose repositories exist.
    budget
        What the request may still do.
    reader
        Reads commits, directories and files.
    """

    engine: Engine
    viewer: Viewer
    budget: Budget
    reader: CodeReader

    def repositories(self) -> Sequence[Repository]:
        """Return the repositories that the caller may see."""
        return self.engine.catalog.visible(self.viewer)


def graph_id(kind: str, name: str) -> str:
    """Return an opaque id, as the public API forms them: the base64 text of kind and name."""
    return base64.b64encode(f"{kind}:{name}".encode()).decode()


class Fields:
    """An object of the schema without behavior: the fields it is given, by Python's names."""

    def __init__(self, **fields: Any) -> None:
        self.__dict__.update(fields)


@dataclass(frozen=True, slots=True)
class Markdown:
    """A text as Markdown and as HTML."""

    text: str
    html: str

"""Addresses of rows."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from sourcelight.client import Backend
from sourcelight.client.methods.views import places_of
from sourcelight.client.portal import call
from sourcelight.core.errors import CallError
from sourcelight.display.notebook.views import Places

if TYPE_CHECKING:
    from pandas import DataFrame

KINDS = ("service", "host", "lab")
_COLUMNS = ("repository", "commit", "path", "line_number", "type", "url")


def linked(frame: DataFrame, backend: Backend, kind: str | None) -> DataFrame:
    """The rows with ``link`` and ``link_kind``; see `CodeAccessor.link`."""
    import pandas as pd

    if kind is not None and kind not in KINDS:
        raise CallError(
            f"link: kind is {' or '.join(KINDS)}, not {kind!r}", call="link", argument="kind", accepted=KINDS
        )
    places = known_places(backend)
    if kind == "host" and not backend.local:  # a service has its own pages, and is asked for others only when wanted
        places = replace(places, hosts={fact.name: fact.url for fact in call(backend.repositories) if fact.url})
    links = [_best(places, row, kind) for row in rows_of(frame)]
    made = frame.copy(deep=False)
    made["link"] = pd.array([address for address, _ in links], dtype="str")
    made["link_kind"] = pd.Categorical([which for _, which in links], categories=list(KINDS))
    return made


def known_places(backend: Backend) -> Places:
    """Where what a backend knows can be opened."""
    return call(places_of, backend)


def rows_of(frame: DataFrame) -> list[dict[str, Any]]:
    """The columns of a frame that tell where its rows are, null as None."""
    columns = [name for name in _COLUMNS if name in frame.columns]
    part = frame[columns].astype("object")
    return [dict(zip(columns, row, strict=True)) for row in part.where(part.notna(), None).itertuples(index=False)]


def _best(places: Places, row: dict[str, Any], kind: str | None) -> tuple[str | None, str | None]:
    found = places.commit(row["repository"] or "", row["commit"]) if not row.get("path") and row.get("commit") else ()
    for link in (*places.of(row), *found):
        if kind in {None, link.kind}:
            return link.href, link.kind
    if kind is None and not row.get("path") and not row.get("commit") and row["repository"]:
        address = places.repository(row["repository"])
        return (address, "host") if address else (None, None)
    return None, None

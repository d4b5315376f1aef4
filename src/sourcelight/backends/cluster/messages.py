"""Messages between a service and its workers: plain values, and record batches as Arrow data."""

from __future__ import annotations

import functools
import sys
from collections.abc import Mapping
from dataclasses import MISSING, dataclass, field, fields
from typing import Any

import sourcelight
from sourcelight.core import errors
from sourcelight.core.batches.codecs.raw_matches import RawMatches
from sourcelight.core.batches.results import ToolResult
from sourcelight.core.errors import ClusterError, SourcelightError, WorkersUnreachable
from sourcelight.core.notices import restore_rules, subjects_of
from sourcelight.core.wire.request import SearchRequest

PROTOCOL = 15
"""Version of these messages: raise it by one when a field changes, because workers of another version are refused."""

SEARCH, CALL, HELLO = "sourcelight_search", "sourcelight_call", "sourcelight_hello"

TELL, KEEP = "sourcelight_tell", "sourcelight_keep"
"""Operations of a worker."""

PART, REST, RANK, EXPLAIN, RESEARCH = "part", "rest", "rank", "explain", "research"
"""Steps of a call; without one, the worker runs the whole call."""

ADD, MAXIMUM = "add", "most"
"""The rule that combines the numbers of all workers: their sum or their maximum."""

_COLUMN_BYTES = 94
"""Bytes of a row of a record batch besides its text, in 521 rows of a common word."""


@dataclass(frozen=True, slots=True)
class WorkerRequest:
    """A request to a worker.

    Parameters
    ----------
    generation
        Id of the generation of `names`.
    names
        Repositories of this worker that the plan needs and the viewer may see. The request can read no others.
    viewer
        Name of the account, whose own data the request may read.
    allowed_s
        Maximum seconds; None without a limit.
    request, limit
        The request of a search, and its maximum number of matches.
    counts, by
        Whether to return only counts, and the columns to group by.
    tool, arguments, served, base_url
        The call of a tool or an analysis.
    step
        Step of a call. Empty: the whole call. `PART`: a partial result. `REST`: the whole call, without repositories
        that the worker can't get. `RANK`: a part of a ranking over all workers. `EXPLAIN`: an estimate from the
        indexes. `RESEARCH`: a step of deep search.
    token
        Id of a ranking that needs the numbers of all workers.
    """

    generation: str
    names: tuple[str, ...]
    viewer: str = ""
    allowed_s: float | None = None
    request: SearchRequest | None = None
    limit: int = 0
    counts: bool = False
    by: tuple[str, ...] = ()
    tool: str = ""
    arguments: Mapping[str, Any] = field(default_factory=dict)
    served: bool = False
    base_url: str = ""
    step: str = ""
    token: str = ""
    protocol: int = PROTOCOL
    versions: str = ""

    def to_plain(self) -> dict[str, Any]:
        """Return the request as JSON values, with the versions of the sender."""
        payload = _values_of(self)
        # All its values are plain: `asdict` would copy each of them.
        request = None if self.request is None else _values_of(self.request)
        return {**payload, "arguments": dict(self.arguments), "request": request, "versions": versions()}

    @classmethod
    def from_plain(cls, payload: Mapping[str, Any]) -> WorkerRequest:
        """Return the request from `to_plain`; raises `WorkersUnreachable` if its sender has another version."""
        if (payload.get("protocol"), payload.get("versions")) != (PROTOCOL, versions()):
            sender = payload.get("versions") or f"protocol {payload.get('protocol')}"
            raise WorkersUnreachable("worker", f"it runs {versions()}, but the request comes from {sender}")

        # Unknown keys are dropped: within a protocol version, a newer sender may add optional ones.
        names = {field.name for field in fields(cls)}
        values = {name: value for name, value in payload.items() if name in names}
        request = values.get("request")
        return cls(
            **{
                **values,
                "names": tuple(values["names"]),
                "by": tuple(values["by"]),
                "request": None if request is None else SearchRequest(**request),
            }
        )


@functools.cache
def versions() -> str:
    """Return the versions that must be equal on both sides, because they exchange Arrow data and Python values."""
    import pyarrow as pa

    python = ".".join(map(str, sys.version_info[:2]))
    return f"sourcelight {sourcelight.__version__} (Python {python}, pyarrow {pa.__version__.partition('.')[0]})"


def error_to_plain(error: BaseException) -> dict[str, Any]:
    """Convert an error to plain values; only errors of this package keep their type and attributes."""
    if not isinstance(error, SourcelightError):
        return {"error": "ClusterError", "message": f"{type(error).__name__}: {error}", "facts": {}, "ours": False}
    attributes = {name: value for name, value in vars(error).items() if _is_plain(value)}
    return {"error": type(error).__name__, "message": str(error), "facts": attributes, "ours": True}


def error_from_plain(payload: Mapping[str, Any]) -> SourcelightError:
    """Restore the error from `error_to_plain`."""
    restored = errors.restore_error(str(payload["error"]), payload["message"], payload["facts"])
    return restored or ClusterError(payload["message"])


def answer_to_plain(answer: ToolResult) -> dict[str, Any]:
    """Return an answer as values and its table."""
    return {
        "columns": answer.columns,
        "table": answer.table,
        "attributes": dict(answer.attributes),
        "complete": answer.complete,
        "notices": list(map(str, answer.notices)),
        "rules": subjects_of(answer.notices),
    }


def answer_from_plain(payload: Mapping[str, Any]) -> ToolResult:
    """Restore the answer from `answer_to_plain`."""
    return ToolResult(
        columns=payload["columns"],
        table=payload["table"],
        attributes=payload["attributes"],
        complete=payload["complete"],
        notices=restore_rules(payload["notices"], payload["rules"]),
    )


def non_default_fields(record: Any) -> dict[str, Any]:
    """Return the fields of a dataclass that differ from their defaults, by name."""
    values = {}
    for item in fields(record):
        value = getattr(record, item.name)
        if value != (item.default if item.default_factory is MISSING else item.default_factory()):
            values[item.name] = value
    return values


def _values_of(record: Any) -> dict[str, Any]:
    """Return the fields of a dataclass by name."""
    return {item.name: getattr(record, item.name) for item in fields(record)}


def _is_plain(value: object) -> bool:
    if isinstance(value, (list, tuple)):
        return all(map(_is_plain, value))
    return value is None or isinstance(value, (str, int, float, bool))


@dataclass(frozen=True, slots=True)
class ResultBatch:
    """Rows of some repositories in one phase, in order of name; `ends` has the row after the last of each.

    `batch` is a record batch, or `RawMatches` where there are few rows.
    """

    phase: int
    repositories: tuple[str, ...]
    ends: tuple[int, ...]
    batch: Any

    @property
    def nbytes(self) -> int:
        """About how many bytes a record batch of the rows has."""
        size: int = self.batch.nbytes
        if isinstance(self.batch, RawMatches):
            return size + _COLUMN_BYTES * self.batch.num_rows
        return size


@dataclass(frozen=True, slots=True)
class RepositoriesDone:
    """All files of these repositories have been sent."""

    repositories: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class RepositoriesFailed:
    """Repositories that this worker can't search, with reasons; sent before results of later repositories.

    `unfit` is True if the worker can't read their shards: another worker may answer. Otherwise the engine failed.
    """

    reasons: dict[str, str]
    unfit: bool = False

"""Timings of single requests, kept in memory for those who asked for a trace."""

from __future__ import annotations

import secrets
import threading
import time
from collections import OrderedDict
from dataclasses import dataclass, field

from sourcelight.core.markup import escape
from sourcelight.server.identity import Principal

PATH = "/-/debug/trace/"
_MARKS = 500
_QUERY_CHARACTERS = 2_000


@dataclass(slots=True)
class Trace:
    """One request's timings: marks of milliseconds since its start, with what had happened by then.

    Marks may come from several threads. Beyond 500 they are counted, not kept.
    """

    id: str
    account: str
    query: str
    started_at: float = field(default_factory=time.time)
    started: float = field(default_factory=time.monotonic)
    marks: list[tuple[float, str]] = field(default_factory=list)
    left_out: int = 0

    def mark(self, what: str) -> None:
        """Note that `what` has happened now."""
        if len(self.marks) < _MARKS:
            self.marks.append(((time.monotonic() - self.started) * 1000, what))
        else:
            self.left_out += 1


class TraceLog:
    """The most recent traces; the oldest goes when there are more than `size`."""

    def __init__(self, size: int = 200) -> None:
        self._size = size
        self._traces: OrderedDict[str, Trace] = OrderedDict()
        self._lock = threading.Lock()

    def open(self, principal: Principal, query: str) -> Trace:
        """Start the trace of a request; only the same account and administrators can read it."""
        trace = Trace(secrets.token_hex(16), principal.account, query[:_QUERY_CHARACTERS])
        with self._lock:
            self._traces[trace.id] = trace
            while len(self._traces) > self._size:
                self._traces.popitem(last=False)
        return trace

    def read(self, trace_id: str, principal: Principal) -> Trace | None:
        """The trace, or None when there is none or `principal` may not read it: the two can't be told apart."""
        with self._lock:
            trace = self._traces.get(trace_id)
        if trace is None:
            return None
        return trace if trace.account == principal.account or principal.viewer.sees_private else None


def page(trace: Trace) -> str:
    """The trace as an HTML page; everything that came from outside is escaped."""
    rows = []
    before = 0.0
    for at, what in list(trace.marks):
        rows.append(f"<tr><td>{at:.1f}</td><td>{at - before:.1f}</td><td>{escape(what)}</td></tr>")
        before = at
    more = f"<p>{trace.left_out} later marks were not kept.</p>" if trace.left_out else ""
    who = escape(trace.account or "anonymous")
    when = time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(trace.started_at))
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Trace of a search</title></head><body>'
        f"<h1>Trace of a search</h1><p>Started {when} by {who}.</p>"
        f"<pre>{escape(trace.query)}</pre>"
        "<table><thead><tr><th>ms since start</th><th>ms since the mark before</th><th>mark</th></tr></thead>"
        f"<tbody>{''.join(rows)}</tbody></table>{more}</body></html>\n"
    )

"""Timings of requests that asked for a trace, in memory."""

from __future__ import annotations

import secrets
import time
from dataclasses import dataclass, field

from sourcelight.core.caching import LruCache
from sourcelight.core.markup import escape
from sourcelight.core.markup.counts import count_of
from sourcelight.server.identity import Principal

PATH = "/-/debug/trace/"
_MARKS = 500
_QUERY_CHARACTERS = 2_000


@dataclass(slots=True)
class Trace:
    """Timings of one request: labels with their milliseconds since its start.

    Marks may come from several threads. Beyond 500 they are only counted.
    """

    id: str
    account: str
    query: str
    started_at: float = field(default_factory=time.time)
    started: float = field(default_factory=time.monotonic)
    marks: list[tuple[float, str]] = field(default_factory=list)
    left_out: int = 0

    def mark(self, label: str) -> None:
        """Record an event with the time since the start."""
        if len(self.marks) < _MARKS:
            self.marks.append(((time.monotonic() - self.started) * 1000, label))
        else:
            self.left_out += 1


class TraceLog:
    """The traces that were opened or read last.

    Parameters
    ----------
    size
        Maximum number of traces. One has up to about 50 KB, and is read within a few requests.
    """

    def __init__(self, size: int = 200) -> None:
        self._traces: LruCache[str, Trace] = LruCache(size)

    def open(self, principal: Principal, query: str) -> Trace:
        """Start the trace of a request. Only the same account and administrators can read it."""
        trace = Trace(secrets.token_hex(16), principal.account, query[:_QUERY_CHARACTERS])
        self._traces.put(trace.id, trace)
        return trace

    def read(self, trace_id: str, principal: Principal) -> Trace | None:
        """Return the trace, or None if it doesn't exist or `principal` may not read it, which look the same."""
        trace = self._traces.get(trace_id)
        if trace is None:
            return None
        if trace.account == principal.account or principal.viewer.sees_private:
            return trace
        return None


def page(trace: Trace) -> str:
    """Render a trace as an HTML page; escapes all text of the request."""
    rows = []
    before = 0.0

    # A copy: the search may still add marks in its thread.
    for elapsed_ms, label in list(trace.marks):
        rows.append(f"<tr><td>{elapsed_ms:.1f}</td><td>{elapsed_ms - before:.1f}</td><td>{escape(label)}</td></tr>")
        before = elapsed_ms

    remaining = f"<p>{count_of(trace.left_out, 'later mark')} not recorded.</p>" if trace.left_out else ""
    who = escape(trace.account or "anonymous")
    when = time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(trace.started_at))
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Trace of a search</title></head><body>'
        f"<h1>Trace of a search</h1><p>Started {when} by {who}.</p>"
        f"<pre>{escape(trace.query)}</pre>"
        "<table><thead><tr><th>ms since start</th><th>ms since the previous mark</th><th>mark</th></tr></thead>"
        f"<tbody>{''.join(rows)}</tbody></table>{remaining}</body></html>\n"
    )

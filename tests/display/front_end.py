"""The other end of a widget: what a page says arrives as the kernel delivers it."""

from __future__ import annotations

import logging
from typing import Any


class _Failures(logging.Handler):
    """Keeps what ipywidgets logs in place of raising it."""

    def __init__(self) -> None:
        super().__init__()
        self.records: list[logging.LogRecord] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.records.append(record)


def say(widget: Any, message: Any) -> None:
    """Send a message to a widget, as a page does."""
    failures = _Failures()
    widget.log.addHandler(failures)
    try:
        widget.comm.handle_msg({"content": {"data": {"method": "custom", "content": message}}, "buffers": []})
    finally:
        widget.log.removeHandler(failures)
    assert [record.getMessage() for record in failures.records] == []

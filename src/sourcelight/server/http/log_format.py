"""Lines of the service's log: the identifier of a request, and JSON for programs that collect them."""

from __future__ import annotations

import json
import logging
import re
import time
from contextvars import ContextVar

#: The request that is answered in this context; empty outside of one. Threads that work for a request inherit it.
request_id: ContextVar[str] = ContextVar("sourcelight_request_id", default="")
ACCESS_LOGGER = "sourcelight.access"
_CALLER_ID = re.compile(r"[A-Za-z0-9._:-]{1,64}")


def caller_id(header: str) -> str:
    """Return the identifier that a caller gave its request; empty for what could be more than an identifier."""
    return header if _CALLER_ID.fullmatch(header) else ""


class JsonFormatter(logging.Formatter):
    """Writes each record as one line of JSON: line breaks and control characters of a message are escaped."""

    def format(self, record: logging.LogRecord) -> str:
        """Return a line; those of the access log are JSON already."""
        if record.name == ACCESS_LOGGER:
            return record.getMessage()
        line = {
            "time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(record.created)),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        if number := request_id.get():
            line["request_id"] = number
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        return json.dumps(line, separators=(",", ":"))

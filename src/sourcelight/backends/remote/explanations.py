"""What a query means to a service of this package: the arguments to ask with, and the answer as embedded.

The service sends the parts of an explanation. They are checked here, and their text is made here, so that what a person
reads does not depend on where the query is explained.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from sourcelight.core.batches.results import ToolResult
from sourcelight.core.errors import ProtocolError
from sourcelight.core.query.explanation import Explanation
from sourcelight.core.wire.request import SearchRequest


def arguments_of(request: SearchRequest) -> dict[str, Any]:
    """Return the arguments of the tool `explain` for a search."""
    optional = {"defaultCount": request.default_matches, "timeoutS": request.timeout_s}
    return {
        "query": request.query,
        "patternType": request.effective_pattern_type,
        **{name: value for name, value in optional.items() if value is not None},
    }


def explanation_of(answer: ToolResult) -> Mapping[str, Any] | None:
    """Return the explanation in an answer, with its ``text``; None where it has none.

    Raises
    ------
    ProtocolError
        When it is not of the form of an explanation.
    """
    data = answer.attributes.get("explanation")
    if data is None:
        return None
    try:
        explanation = msgspec.convert(data, Explanation)
    except msgspec.ValidationError as exc:
        raise ProtocolError(f"the service sent an explanation that can't be read: {exc}") from None
    return {**explanation.to_dict(), "text": str(explanation)}

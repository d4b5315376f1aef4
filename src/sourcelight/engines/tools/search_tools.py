"""The tools that find text: `keyword_search`, `nls_search`."""

from __future__ import annotations

from typing import Any

from sourcelight.core.batches.results import Answer
from sourcelight.engines.tools.found import keyword_answer, render_found
from sourcelight.engines.tools.model import Arguments, CallContext, Tool

_FILTERS = (
    "Filters: repo: and file: take regular expressions (repo:^github\\.com/owner/name$ is exactly one repository), "
    "rev: takes a branch, tag or commit and needs a repo: beside it, and a - in front of repo: or file: leaves out "
    "what matches."
)
_LIMITS = "At most 15 files are given, the best first, and at most 3 places in each; narrow the query for others."


def _keyword_search(arguments: Arguments, context: CallContext) -> Answer:
    return keyword_answer(arguments["query"], context)


def _nls_search(arguments: Arguments, context: CallContext) -> Answer:
    from sourcelight.engines.tools.ranked import ranked_answer

    return ranked_answer(arguments["query"], context)


def _schema(description: str) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": {"query": {"type": "string", "minLength": 1, "description": description}},
        "required": ["query"],
        "additionalProperties": False,
    }


TOOLS: tuple[Tool, ...] = (
    Tool(
        "keyword_search",
        "Find exact text",
        "Find files that hold all terms of a query, in their text or path; upper and lower case are the same. "
        'Put "double quotes" around text to be found as it stands, /slashes/ around a regular expression, and use AND, '
        f"OR and parentheses for anything else. {_FILTERS} {_LIMITS} Use it when the words of the code are known; "
        "nls_search is for questions in plain language.",
        _schema(
            "Terms and filters, such as: repo:owner/name file:\\.go$ parseConfig, or (repo:a OR repo:b) "
            '"not found" /err(or)?/.'
        ),
        _keyword_search,
        render_found,
    ),
    Tool(
        "nls_search",
        "Find code by a description",
        "Find the parts of code that fit a description best. Words match in all their forms, and not all of them have "
        f"to be there. {_FILTERS} {_LIMITS} Use it to find where something is done when the names in the code are not "
        "known; keyword_search is for exact text.",
        _schema("What is looked for, in a few words, and filters, such as: repo:owner/name retry failed requests."),
        _nls_search,
        render_found,
    ),
)

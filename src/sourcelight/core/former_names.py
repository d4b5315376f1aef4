"""Former public names: using one raises an error with the current name.

`FORMER_NAMES` is the only table. A class takes part by `refuses_former_names`, a function by
`refuses_former_parameters`, a package by raising `former_attribute` in its ``__getattr__``.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from functools import wraps
from typing import Any, TypeVar, cast

T = TypeVar("T")
F = TypeVar("F", bound=Callable[..., Any])

_CONNECT = {
    "retry_after_limit_s": "max_retry_after_s",
    "silence_timeout_s": "idle_timeout_s",
    "timeout_s": "sign_in_timeout_s",
}
_SEARCH = {"chunk_matches": "context_lines", "display": "limit", "max_line_len": "max_line_bytes"}
_OPEN = {
    "index": "index_dir",
    "max_bytes": "max_index_bytes",
    "max_file_size": "max_file_bytes",
    "prepare": "background_index",
    "workers": "index_workers",
}

FORMER_NAMES: Mapping[str, Mapping[str, str]] = {
    "%ask": {"--more": "--continue"},
    "%search": {"--lines": "--context", "--pattern": "--pattern-type"},
    "sourcelight": {
        "CallError": "ToolError",
        "IncompleteAnswer": "IncompleteResultWarning",
        "IncompleteCount": "IncompleteCountWarning",
        "IndexFault": "SearchIndexError",
        "NoClient": "ClientNotFound",
        "RecordingUnusable": "RecordingInvalid",
        "Tape": "Recording",
        "UnsupportedCall": "UnsupportedTool",
    },
    "Client": {
        "commits_behind": "drill_down(frame, row)",
        "deepsearch_change": "deepsearch_update, deepsearch_cancel, deepsearch_delete or deepsearch_reset_link",
        "known": "completions",
        "last_answer": "last",
        "last_export": "last",
        "last_frame": "last",
        "last_result": "last",
        "repositories": "list_repos()",
        "search_to": "export(query, path)",
        "view_comparison": "view_diff",
    },
    "Client.commit_search": {
        "contentTerms": "content_terms",
        "count": "limit",
        "messageTerms": "message_terms",
        "useRegex": "use_regex",
    },
    "Client.compare_revisions": {"after": "cursor", "first": "limit"},
    "Client.count": {"by": "count_by(query, by)"},
    "Client.diff_search": {"author": "authors", "count": "limit", "useRegex": "use_regex"},
    "Client.explore": {"display": "limit"},
    "Client.get_contributor_repos": {"author": "authors", "minCommits": "min_commits", "useRegex": "use_regex"},
    "Client.list_repos": {"after": "cursor", "before": "cursor"},
    "Client.read_file": {"endLine": "end_line", "startLine": "start_line"},
    "Client.repo_map": {"budget_lines": "limit"},
    "CodeAccessor.context": {"n": "lines"},
    "Explorer": {"shown": "visible_rows"},
    "Listing": {"shown": "max_items"},
    "Metric": {"counted": "counts", "left_out": "excludes", "where": "filters"},
    "NotRecorded": {"asked": "request"},
    "ProgressSnapshot": {"doing": "activity", "facts": "fields", "notes": "notices"},
    "Report": {"asked": "parameters", "drill": "drill_down", "numbers": "metrics"},
    "ReportTable": {"counted": "counts", "left_out": "excludes", "shown": "max_rows"},
    "Client.search": _SEARCH,
    "Client.search_many": {"at_once": "concurrency", **_SEARCH},
    "Client.stream": _SEARCH,
    "DeepSearchAnswer": {"followups": "follow_ups", "turns": "steps"},
    "DeepSearchAnswer.share": {"shared": "unshare()"},
    "SearchResult": {"page": "display_rows", "places": "links", "table": "arrow"},
    "ToolError": {"call": "tool"},
    "aconnect": _CONNECT,
    "afederate": {"silence_s": "idle_timeout_s"},
    "aopen": {**_OPEN, **dict.fromkeys(("cluster", "storage", "tls"), "aopen_cluster(scheduler, storage)")},
    "changes": {"by": "period", "code": "client"},
    "connect": _CONNECT,
    "contributors": {"by": "period", "code": "client", "since": "after", "until": "before"},
    "federate": {"silence_s": "idle_timeout_s"},
    "open": {**_OPEN, **dict.fromkeys(("cluster", "storage", "tls"), "open_cluster(scheduler, storage)")},
    "plots": {"activity": "calendar", "matches": "bars"},
    "q": {"type_": "result_type"},
    "reports": {"Number": "Metric", "Table": "ReportTable"},
}
"""Former names and their replacements, per owner: ``sourcelight``, a class, a function, or ``Class.method``."""


def former_attribute(owner: str, name: str) -> AttributeError | None:
    """Return the error for a former attribute of `owner`, a key of `FORMER_NAMES`, or None if `name` never was one."""
    current = FORMER_NAMES.get(owner, {}).get(name)
    if current is None:
        return None
    return AttributeError(f"{owner}.{name} has been renamed; use {current}")


def refuses_former_names(owner: str) -> Callable[[type[T]], type[T]]:
    """Make a class raise `AttributeError` or `TypeError` with the current name when a former one is used or set.

    Parameters
    ----------
    owner
        Its key in `FORMER_NAMES`; keys that begin with it and a dot name its methods.
    """

    def decorate(cls: type[T]) -> type[T]:
        def __getattr__(self: object, name: str) -> Any:  # noqa: N807 - set on the class below
            error = former_attribute(owner, name)
            if error is not None:
                raise error
            # Python calls this only for missing attributes, so the others cost nothing.
            return object.__getattribute__(self, name)  # raises what Python raises without this method

        assign = cls.__setattr__
        renamed = FORMER_NAMES.get(owner, {})

        def __setattr__(self: object, name: str, value: object) -> None:  # noqa: N807 - set on the class below
            if name in renamed:
                error = former_attribute(owner, name)
                if error is not None:
                    raise error
            assign(self, name, value)

        cls.__getattr__ = __getattr__  # type: ignore[attr-defined] # declared, it would hide misspelled names from mypy
        cls.__setattr__ = __setattr__  # type: ignore[method-assign] # checked at run time alone
        for key in FORMER_NAMES:
            class_name, _, method = key.partition(".")
            if method and class_name == owner:
                setattr(cls, method, _check_arguments(getattr(cls, method), key))

        return cls

    return decorate


def refuses_former_parameters(function: F) -> F:
    """Make a function raise `TypeError` with the current name when a former parameter is passed."""
    return _check_arguments(function, function.__name__)


def _check_arguments(function: F, key: str) -> F:
    renamed = FORMER_NAMES[key]

    def check(arguments: Mapping[str, Any]) -> None:
        for name in arguments:
            if name in renamed:
                raise TypeError(f"{key}() has no parameter {name!r} any more; use {renamed[name]}")

    if inspect.iscoroutinefunction(function):

        @wraps(function)
        async def checked_coroutine(*args: Any, **kwargs: Any) -> Any:
            check(kwargs)
            return await function(*args, **kwargs)

        return cast("F", checked_coroutine)

    @wraps(function)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        check(kwargs)
        return function(*args, **kwargs)

    return cast("F", wrapper)

"""All errors of this package, in one tree.

SourcelightError
├─ QueryError            a query that can't be read (also ValueError): query, position, hint
│  ├─ BadParameter       an invalid parameter of the request, other than the query: parameter
│  └─ UnsupportedQuery   a valid query that this version or backend can't answer
├─ PatternError          a regular expression that RE2 refuses (also ValueError): pattern, reason
├─ RepositoryError
│  ├─ NoRepositories     nothing to search below the given paths: paths, skipped
│  ├─ RepositoryNotFound an absent or invisible repository: the two can't be distinguished
│  ├─ RevisionNotFound   repository, revision
│  ├─ PathNotFound       repository, commit, path
│  └─ GitFailed          argv, exit code, tail of standard error
├─ SearchIndexError      index files on this machine
│  ├─ IndexDamaged       a file that is truncated, altered or of another format: path
│  └─ IndexWriteFailed   a full disk or a directory that can't be written: path
├─ TransportError
│  ├─ ConnectFailed      no connection to the service
│  ├─ TimedOut           connected, but silent for too long
│  └─ StreamBroken       the stream ended or became unreadable before ``done``: events seen
├─ ProtocolError         bytes that are not the protocol: event name, excerpt
├─ ServiceError          the service refused the request: status, text
│  ├─ Unauthorized       401
│  ├─ Forbidden          403
│  ├─ NotFound           404
│  └─ RateLimited        429: retry_after_s
├─ SignInFailed          no tokens from a service's authorization server: code, description
├─ SearchFailed          the service reported an error that stopped this search
├─ ToolError             a tool or analysis that can't be answered as asked (also ValueError): tool, argument, accepted
│  ├─ InvalidArgument    an argument of a type that the call doesn't take (also TypeError): tool, argument
│  └─ UnsupportedTool    a tool or analysis that this backend can't answer at all
├─ StateError            an account, role, token or client of state.sqlite doesn't allow the operation
│  └─ StateUnusable      state.sqlite can't be opened, read or written: path
├─ ConfigurationError    a configuration file, setting or environment value: where, accepted
├─ ClusterError          a cluster that can't be used as asked
│  ├─ StorageError       shared storage that can't be read or written: url, reason
│  ├─ ShardDamaged       a shard that storage lacks or has changed: path, reason
│  └─ WorkersUnreachable no scheduler, or no worker of it, answers: address, reason
├─ ClientNotFound        a DataFrame needs its client, which is closed
├─ RecordingError
│  ├─ NotRecorded        a replay gets a request that is not in it: request, recorded
│  └─ RecordingInvalid   a recording that can't be read or written: path
├─ Cancelled             the caller asked a running piece of work to stop
└─ MissingExtra          an optional package is needed: name, how to install it

A message says what happened, why, and what to try. It never contains a token.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sourcelight.core.former_names import FORMER_NAMES, refuses_former_names
from sourcelight.core.markup.escaping import visible

_MAX_QUOTED = 60
"""Characters of a long query that are shown on each side of an error."""


class SourcelightError(Exception):
    """Base of all errors; `result` has the rows of a search that failed midway, else None.

    Its text shows hidden characters: services, paths and queries have a part in it, and Python prints it to terminals,
    which obey escape sequences.
    """

    result: Any = None

    def __str__(self) -> str:
        return visible(super().__str__())


class QueryError(SourcelightError, ValueError):
    """Raised when a query can't be parsed or validated.

    Parameters
    ----------
    message
        The problem; the service's text if it sent one.
    query
        The whole query text.
    position
        Byte offset of the error in the UTF-8 of `query`; None if it has no single position.
    hint
        What to type instead; empty when there is nothing to suggest.
    stage
        ``parse`` or ``validate``.
    """

    def __init__(
        self, message: str, *, query: str = "", position: int | None = None, hint: str = "", stage: str = "validate"
    ) -> None:
        super().__init__(message)
        self.message = message
        self.query = query
        self.position = position
        self.hint = hint
        self.stage = stage
        if query and (hint or position is not None):
            # A note, because the message stays exactly as the service sent it.
            self.add_note(_mark(query, position) + (f"\n{hint}" if hint else ""))


def _mark(query: str, position: int | None) -> str:
    """Return a query as a line for tracebacks, with a mark below the byte of the error."""
    # `position` counts bytes, but the mark goes below a character.
    char_position = 0 if position is None else len(query.encode(errors="replace")[:position].decode(errors="ignore"))
    start, end = max(0, char_position - _MAX_QUOTED), char_position + _MAX_QUOTED
    excerpt = "".join(char if char.isprintable() else "\ufffd" for char in query[start:end])
    before = "…" if start else ""
    line = f"{before}{excerpt}{'…' if end < len(query) else ''}"
    if position is None:
        return line
    return f"{line}\n{' ' * (len(before) + char_position - start)}^"


class BadParameter(QueryError):
    """Raised for a missing or invalid parameter of a search request; `parameter` is its wire name."""

    def __init__(self, message: str, *, parameter: str) -> None:
        super().__init__(message)
        self.parameter = parameter


class UnsupportedQuery(QueryError):
    """Raised when a valid query needs a feature that this version or backend lacks."""


class PatternError(SourcelightError, ValueError):
    """Raised when RE2 refuses a regular expression; carries the `pattern` and RE2's `reason`."""

    def __init__(self, pattern: str, reason: str) -> None:
        super().__init__(f"error parsing regexp: {reason}")
        self.pattern = pattern
        self.reason = reason


class RepositoryError(SourcelightError):
    """Base of errors of repositories."""


class NoRepositories(RepositoryError):
    """Raised when no repository can be searched below the given paths; `skipped` maps a path to the reason."""

    def __init__(self, paths: Sequence[str], skipped: Mapping[str, str]) -> None:
        advice = (
            "pass a directory with git work trees, bare repositories or plain files, or create samples with "
            "`sourcelight samples`"
        )
        if not paths:
            message = f"no directory given: {advice}"
        elif len(paths) == 1 and list(skipped) == [paths[0]]:
            message = f"no repository found below {paths[0]} ({skipped[paths[0]]}); {advice}"
        else:
            reasons = "".join(f"\n  {path}: {reason}" for path, reason in list(skipped.items())[:10])
            message = f"no repository found below {', '.join(paths)}; {advice}{reasons}"
            if not skipped.keys() <= set(paths):
                # There are repositories, so samples would be no help.
                message = f"no repository below {', '.join(paths)} can be searched:{reasons}"
        super().__init__(message)
        self.paths = tuple(paths)
        self.skipped = dict(skipped)


class RepositoryNotFound(RepositoryError):
    """Raised for a repository that is absent, or hidden from the viewer: both get the same error.

    `near` are visible names like it, best first.
    """

    def __init__(self, repository: str, near: Sequence[str] = ()) -> None:
        super().__init__(f"repository not found: {repository}{_did_you_mean(near)}")
        self.repository = repository
        self.near = tuple(near)


def _did_you_mean(names: Sequence[str]) -> str:
    return f"; did you mean {', '.join(names)}?" if names else ""


class RevisionNotFound(RepositoryError):
    """Raised when a revision names no commit of the repository; `near` are branches and tags like it, best first."""

    def __init__(self, repository: str, revision: str, near: Sequence[str] = ()) -> None:
        super().__init__(f"revision not found: {repository}@{revision}{_did_you_mean(near)}")
        self.repository = repository
        self.revision = revision
        self.near = tuple(near)


class PathNotFound(RepositoryError):
    """Raised when a revision of a repository has no such file or directory."""

    def __init__(self, repository: str, revision: str, path: str, hint: str = "") -> None:
        location = f"{repository}@{revision}" if revision else repository
        super().__init__(f"path not found in {location}: {path}{'; ' if hint else ''}{hint}")
        self.repository = repository
        self.revision = revision
        self.path = path


class GitFailed(RepositoryError):
    """Raised when a git command fails; carries `argv`, `exit_code` and `stderr_tail`."""

    def __init__(self, argv: Sequence[str], exit_code: int, stderr_tail: str) -> None:
        super().__init__(f"{' '.join(argv[:3])} failed with status {exit_code}: {stderr_tail.strip()[-400:]}")
        self.argv = tuple(argv)
        self.exit_code = exit_code
        self.stderr_tail = stderr_tail


class SearchIndexError(SourcelightError):
    """Base of errors of index files on this machine."""

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(f"{path}: {reason}")
        self.path = path
        self.reason = reason


class IndexDamaged(SearchIndexError):
    """Raised when an index file is truncated, altered, or of another format; it is then rebuilt."""


class IndexWriteFailed(SearchIndexError):
    """Raised when an index can't be written (full disk, read-only directory); the former one stays current."""


class TransportError(SourcelightError):
    """Base of errors between this client and a service."""


class ConnectFailed(TransportError):
    """Raised when the client can't connect to the service."""


class TimedOut(TransportError):
    """Raised when the service is connected but silent for longer than allowed."""


class StreamBroken(TransportError):
    """Raised when a stream ends or becomes unreadable before its ``done`` event; earlier events stay valid.

    `reason` is the message of an ``error`` event that the service sent before the break; empty without one.
    """

    def __init__(self, message: str, *, events_seen: int = 0, reason: str = "") -> None:
        super().__init__(message)
        self.events_seen = events_seen
        self.reason = reason


class ProtocolError(SourcelightError):
    """Raised when bytes are not the protocol; `event` names the event, `excerpt` shows its start."""

    def __init__(self, message: str, *, event: str = "", excerpt: str = "") -> None:
        super().__init__(message)
        self.event = event
        self.excerpt = excerpt


class ServiceError(SourcelightError):
    """Raised when a service answers with an error status; carries `status` and the `text` it sent.

    `retry_after_s` is the wait that the service requests, in seconds; None if it requests none.
    """

    def __init__(self, message: str, *, status: int, text: str = "", retry_after_s: float | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.text = text
        self.retry_after_s = retry_after_s


class Unauthorized(ServiceError):
    """Raised for 401: the credential is missing or invalid."""


class Forbidden(ServiceError):
    """Raised for 403: the credential is valid, but does not allow this request."""


class NotFound(ServiceError):
    """Raised for 404: the address has no such endpoint."""


class RateLimited(ServiceError):
    """Raised for 429; `retry_after_s` is the wait in seconds that the service requests, None if it requests none."""

    def __init__(self, message: str, *, status: int = 429, text: str = "", retry_after_s: float | None = None) -> None:
        super().__init__(message, status=status, text=text, retry_after_s=retry_after_s)


class SignInFailed(SourcelightError):
    """Raised when signing in to a service, or staying signed in, fails.

    `code` is an error code of RFC 6749, such as ``access_denied``, if the service sent one; `description` is its text.
    """

    def __init__(self, message: str, *, code: str = "", description: str = "") -> None:
        super().__init__(message)
        self.code = code
        self.description = description


class SearchFailed(SourcelightError):
    """Raised when the service reported an error that stopped the search; earlier rows are kept."""


@refuses_former_names("ToolError")
class ToolError(SourcelightError, ValueError):
    """Raised for a call of a tool or analysis that can't be answered.

    Parameters
    ----------
    message
        What happened, why, and what to try; shown to the caller unchanged.
    tool
        Name of the tool or analysis.
    argument
        The invalid argument; empty if no single argument is at fault.
    accepted
        Accepted values; empty if they can't be listed.
    """

    def __init__(self, message: str, *, tool: str = "", argument: str = "", accepted: Sequence[str] = ()) -> None:
        super().__init__(message)
        self.tool = tool
        self.argument = argument
        self.accepted = tuple(accepted)


class BinaryFile(ToolError):
    """Raised for a file that is not text; `size_bytes` is its size, 0 if unknown."""

    def __init__(self, message: str, *, tool: str = "", size_bytes: int = 0) -> None:
        super().__init__(message, tool=tool)
        self.size_bytes = size_bytes


class InvalidArgument(ToolError, TypeError):
    """Raised for an argument of a type that a public function doesn't take; `argument` is the parameter's name."""


class UnsupportedTool(ToolError):
    """Raised for a tool or analysis that this backend or service can't answer at all."""


class StateError(SourcelightError):
    """Raised for an account, role, token or client that is absent, already exists, or can't be changed that way."""


class StateUnusable(StateError):
    """Raised when ``state.sqlite`` is damaged, newer than this version, locked for too long, or can't be written."""

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(f"{path}: {reason}")
        self.path = path
        self.reason = reason


class StateFull(StateUnusable):
    """Raised when the disk has no space left for ``state.sqlite``; its contents stay.

    `for_callers` is the message for users of a service: it names no path.
    """

    for_callers = "the disk of the service is full, and nothing was stored; try again later"

    def __init__(self, path: str) -> None:
        super().__init__(path, "no space left on the disk; free some and try again")


class ConfigurationError(SourcelightError):
    """Raised for a configuration file, setting or environment value that can't be used."""


class ClusterError(SourcelightError):
    """Raised when a cluster, or the storage of its shards, can't be used.

    `for_callers` is the message for users of a service. It has no address of the cluster or of its storage, and no
    details of an unexpected error.
    """

    for_callers = "a worker failed unexpectedly; see the log of the service"

    def __init__(self, text: str, for_callers: str = "") -> None:
        super().__init__(text)
        self.for_callers = for_callers or text


class StorageError(ClusterError):
    """Raised when shared storage can't be read or written."""

    def __init__(self, url: str, reason: str) -> None:
        super().__init__(f"storage at {url} can't be used: {reason}", "the storage of the shards can't be used now")
        self.url, self.reason = url, reason


class ShardDamaged(ClusterError):
    """Raised when storage lacks or corrupts a file of a generation."""

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(f"{path} is not the file that the generation names: {reason}", "a required shard is damaged")
        self.path, self.reason = path, reason


class WorkersUnreachable(ClusterError):
    """Raised when no scheduler or no worker of a cluster answers."""

    def __init__(self, address: str, reason: str) -> None:
        super().__init__(f"the cluster at {address} can't be reached: {reason}", "the cluster can't be reached now")
        self.address, self.reason = address, reason


class ClientNotFound(SourcelightError):
    """Raised when a frame needs its backend, and that backend isn't open in this process."""


class RecordingError(SourcelightError):
    """Base of errors of recording and replaying a service's messages."""


@refuses_former_names("NotRecorded")
class NotRecorded(RecordingError):
    """Raised when a replay gets a request that its recording lacks.

    Parameters
    ----------
    message
        The request, and the recorded ones.
    request
        The request, as text.
    recorded
        The recorded requests of the same kind.
    """

    def __init__(self, message: str, *, request: str, recorded: Sequence[str] = ()) -> None:
        super().__init__(message)
        self.request = request
        self.recorded = tuple(recorded)


class RecordingInvalid(RecordingError):
    """Raised for a recording that can't be read or written, such as one of a newer version."""

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(f"{path}: {reason}")
        self.path = path
        self.reason = reason


class Cancelled(SourcelightError):
    """Raised in work that its caller has cancelled."""


class MissingExtra(SourcelightError):
    """Raised when a required optional package is not installed.

    Attributes
    ----------
    package
        The package to install.
    """

    def __init__(self, package: str, purpose: str, *, library: str = "") -> None:
        missing = f"{library}, which sourcelight-core leaves out" if library else f"the package {package}"
        super().__init__(f"{purpose} needs {missing}: {install_command(package)}")
        self.package = package


def install_command(package: str) -> str:
    """Return the command that installs a package; an extra of this one is installed from the checkout that runs.

    Examples
    --------
    >>> install_command("polars"), install_command("other[extra]")
    ('pip install polars', "pip install 'other[extra]'")
    """
    name, bracket, extras = package.partition("[")
    if name == "sourcelight" and bracket and _is_checkout():
        return f"pip install -e '.[{extras}' in the checkout"
    return f"pip install '{package}'" if bracket else f"pip install {package}"


def _is_checkout() -> bool:
    """Return whether this package was installed with ``pip install -e`` (PEP 610)."""
    import json
    from importlib.metadata import PackageNotFoundError, distribution

    try:
        origin = json.loads(distribution("sourcelight").read_text("direct_url.json") or "{}")
    except (PackageNotFoundError, OSError, ValueError):
        return False
    return isinstance(origin, dict) and bool((origin.get("dir_info") or {}).get("editable"))


def restore_error(name: str, message: str, attributes: Mapping[str, Any]) -> SourcelightError | None:
    """Restore an error from a recording or another process; return None if this module has no error `name`.

    Recordings keep the names of the version that wrote them, so former names of classes and attributes count too.
    """
    kind = globals().get(FORMER_NAMES["sourcelight"].get(name, name))
    if not (isinstance(kind, type) and issubclass(kind, SourcelightError)):
        return None

    error: SourcelightError = kind.__new__(kind, message)
    Exception.__init__(error, message)
    renamed: dict[str, str] = {}
    for base in kind.__mro__:
        renamed |= FORMER_NAMES.get(base.__name__, {})

    for attribute, value in attributes.items():
        vars(error)[renamed.get(attribute, attribute)] = tuple(value) if isinstance(value, list) else value

    return error

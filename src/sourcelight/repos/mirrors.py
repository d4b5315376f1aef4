"""Create and update bare mirrors of remote repositories with the git command.

A mirror is fetched into a directory of its own and moved to its place when it is whole, so that a killed process leaves
nothing that looks like a repository. Credentials in a URL go to git through its environment for this one run: they are
not written into the mirror, do not show in process lists, and are cut out of every message.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import pathlib
import re
import shutil
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from urllib.parse import unquote, urlsplit, urlunsplit

from sourcelight.core.batches.overview import CloneProgress
from sourcelight.core.cancellation import Cancellation
from sourcelight.core.errors import GitFailed, RepositoryError
from sourcelight.repos.discovery import PARTIAL_PREFIX
from sourcelight.repos.git_command import LOCAL, NETWORK, run_git
from sourcelight.repos.handles import UnusableRepository, open_handle
from sourcelight.repos.isolation import isolated_directory
from sourcelight.repos.names import name_from_folder, name_from_origin
from sourcelight.repos.private_files import make_private_folder
from sourcelight.repos.revisions import head_target

_ACCEPTED = "https://…, ssh://…, user@host:path, git://…, file://… or a local directory"
_PROGRESS = re.compile(r"(?:remote: )?([A-Z][A-Za-z ]+):\s+(\d+)% \((\d+)/(\d+)\)")
# What git itself writes into the configuration of a mirror. Anything else may make git run something.
_MIRROR_KEYS = re.compile(
    r"core\.(repositoryformatversion|filemode|bare|ignorecase|precomposeunicode|symlinks|logallrefupdates)"
    r"|remote\.origin\.(url|fetch|mirror)|extensions\.objectformat|gc\.auto"
)


@dataclass(frozen=True, slots=True)
class _Remote:
    """A checked URL, its credentials apart; `local` is the directory it leads to on this machine, if any."""

    url: str
    user: str = ""
    password: str = ""
    local: str = ""

    @contextlib.contextmanager
    def source(self) -> Iterator[str]:
        """The URL or directory that git fetches from.

        The git that serves a local directory obeys the configuration there, and may fetch missing objects with a
        command that it names. So a local directory is served from an isolated one over its objects.
        """
        if not self.local:
            yield self.url
            return
        with contextlib.ExitStack() as stack:
            try:
                git_dir = os.path.join(self.local, ".git")
                git_dir = open_handle(git_dir if os.path.isdir(git_dir) else self.local).path
                directory = stack.enter_context(isolated_directory(git_dir, with_refs=True))
            except RepositoryError as error:
                message = f"{self.url} does not appear to be a git repository that can be read: {error}"
                raise GitFailed(["git", "clone", self.url], 128, message) from error
            yield pathlib.Path(directory).as_uri()

    @property
    def protocols(self) -> tuple[str, ...]:
        """Transports that may be used for it."""
        return LOCAL if self.local else NETWORK


def clone(
    url: str,
    folder: str | os.PathLike[str],
    *,
    progress: Callable[[CloneProgress], None] | None = None,
    cancellation: Cancellation | None = None,
) -> str:
    """Mirror a repository below `folder`, or update an existing mirror.

    Parameters
    ----------
    url
        ``https``, ``ssh`` (also ``user@host:path``), ``git`` or ``file`` URL, or a local directory. User and password
        of an https URL are used but not stored; for later updates use a credential helper of git.
    folder
        The directory of mirrors; created if absent. The mirror is ``host/owner/name.git`` below it.
    progress
        Called as git reports.
    cancellation
        Stops git and removes what it fetched; raises `Cancelled`.

    Returns
    -------
    str
        Path of the mirror.

    Raises
    ------
    RepositoryError
        If the URL is none of these.
    GitFailed
        If git is missing, too old, or fails; the message ends with git's last lines, without credentials.
    """
    remote = _parse_remote(url)
    target = _mirror_path(os.path.abspath(os.path.expanduser(os.fspath(folder))), remote)
    if os.path.isdir(target):
        return _update(target, remote, progress, cancellation)
    parent = os.path.dirname(target)
    make_private_folder(parent)
    _delete_leftovers(parent)
    partial = tempfile.mkdtemp(prefix=f"{PARTIAL_PREFIX}{os.getpid()}-", dir=parent)
    try:
        with remote.source() as source:
            arguments = ["clone", "--mirror", "--progress", "--no-local", "--no-recurse-submodules", "--origin=origin",
                         "--template=", "--", source, partial]  # fmt: skip
            _fetch(arguments, remote, progress, cancellation)
        _record_origin(partial, remote.url)
        try:
            os.rename(partial, target)
        except OSError:
            if not os.path.isdir(target):  # else: another process was faster, and its mirror is as good
                raise
    finally:
        shutil.rmtree(partial, ignore_errors=True)
    return target


def update_mirror(
    path: str | os.PathLike[str],
    *,
    progress: Callable[[CloneProgress], None] | None = None,
    cancellation: Cancellation | None = None,
) -> str:
    """Update a mirror: fetch new and moved refs, remove deleted ones.

    Returns
    -------
    str
        Path of the mirror.

    Raises
    ------
    RepositoryError
        If `path` is not a mirror as `clone` makes them; its configuration could make git run something else.
    GitFailed
        If git is missing, too old, or fails.
    """
    return _update(os.path.abspath(os.fspath(path)), None, progress, cancellation)


def _update(
    path: str,
    remote: _Remote | None,
    progress: Callable[[CloneProgress], None] | None,
    cancellation: Cancellation | None,
) -> str:
    recorded = _recorded_origin(path)
    remote = remote or _parse_remote(recorded)
    with remote.source() as source:
        arguments = ["--git-dir", path, "fetch", "--prune", "--progress", "--no-recurse-submodules", "--no-auto-gc",
                     "--force", "--update-shallow", "--no-write-fetch-head", "--", source,
                     "+refs/*:refs/*"]  # fmt: skip
        _fetch(arguments, remote, progress, cancellation)
        _follow_head(path, remote, source, cancellation)
    with open(os.path.join(path, "FETCH_HEAD"), "w", encoding="ascii"):
        pass  # its time is that of the last fetch
    return path


def _record_origin(path: str, url: str) -> None:
    import pygit2

    pygit2.Config(os.path.join(path, "config"))["remote.origin.url"] = url


def _follow_head(path: str, remote: _Remote, source: str, cancellation: Cancellation | None) -> None:
    """Adopt the remote's default branch, which a fetch doesn't change."""
    with tempfile.TemporaryFile() as answer:
        arguments = ["--git-dir", path, "ls-remote", "--symref", "--", source, "HEAD"]
        environment = _credentials(remote)
        with contextlib.suppress(GitFailed):  # the default branch then stays as it was
            run_git(arguments, remote.protocols, environment=environment, output=answer, cancellation=cancellation)
        answer.seek(0)
        match = re.match(rb"ref: (refs/heads/\S+)\tHEAD\n", answer.read(1 << 16))
    name = os.fsdecode(match[1]) if match else ""
    handle = open_handle(path)
    if name and name != head_target(path) and name in handle.references:
        handle.set_head(name)


def _mirror_path(folder: str, remote: _Remote) -> str:
    """Return the directory of a remote's mirror: by its name, or beside it if another remote has that name."""
    parts = (name_from_origin(remote.url) or name_from_folder(remote.url)).split("/")
    target = os.path.join(folder, *parts)
    if not os.path.isdir(f"{target}.git") or _is_same_origin(_recorded_origin(f"{target}.git"), remote.url):
        return f"{target}.git"
    return f"{target}-{hashlib.sha256(os.fsencode(remote.url)).hexdigest()[:8]}.git"


def _is_same_origin(first: str, second: str) -> bool:
    """Return whether two URLs mean one repository: the same host and path, and no two different ports."""
    name = name_from_origin(first)
    if not name or name != name_from_origin(second):
        return first == second
    ports = {match[1] for match in (re.match(r"[^:]+://[^/]*:(\d+)(?:/|$)", url) for url in (first, second)) if match}
    return len(ports) < 2


def _recorded_origin(path: str) -> str:
    """Return the origin of a mirror, if its configuration has only the keys of a mirror."""
    import pygit2

    try:
        bare = open_handle(path).is_bare
        entries = {entry.name.lower(): entry.value or "" for entry in pygit2.Config(os.path.join(path, "config"))}
    except (UnusableRepository, pygit2.GitError, OSError) as error:
        raise RepositoryError(f"{path} is not a mirror that can be updated: {error}") from error
    # A key such as core.sshCommand would run a program at the next fetch.
    strange = sorted(name for name in entries if not _MIRROR_KEYS.fullmatch(name))
    if not bare or strange or "remote.origin.url" not in entries:
        problem = f"its configuration also sets {', '.join(strange[:5])}" if strange else "it is not a bare mirror"
        raise RepositoryError(f"{path} was not made by clone, so that git is not run in it: {problem}")
    return entries["remote.origin.url"]


def _fetch(
    arguments: list[str],
    remote: _Remote,
    progress: Callable[[CloneProgress], None] | None,
    cancellation: Cancellation | None,
) -> None:
    def line(text: str) -> None:
        match = _PROGRESS.match(text)
        if match and progress is not None:
            progress(CloneProgress(remote.url, match[1], int(match[3]), int(match[4])))

    secrets = [word for word in (remote.password, remote.user if not remote.password else "") if word]
    try:
        run_git(
            arguments,
            remote.protocols,
            environment=_credentials(remote),
            secrets=secrets,
            line=line,
            cancellation=cancellation,
        )
    except GitFailed as error:
        if "ould not read Username" in error.stderr_tail or "terminal prompts disabled" in error.stderr_tail:
            hint = f"{error.stderr_tail}\nset up a credential helper of git, or put user and token into the URL"
            raise GitFailed(error.argv, error.exit_code, hint) from error
        raise


def _credentials(remote: _Remote) -> dict[str, str]:
    """Return the environment that answers git's question for user and password on this host alone."""
    if not remote.user:
        return {}
    parts = urlsplit(remote.url)
    # The secret travels in the environment, so it is in no argument, and the helper is bound to one host: a redirect
    # gets no password.
    answer = 'printf "username=%s\\npassword=%s\\n" "$SOURCELIGHT_USER" "$SOURCELIGHT_SECRET"'
    return {
        "SOURCELIGHT_USER": remote.user,
        "SOURCELIGHT_SECRET": remote.password,
        "GIT_CONFIG_COUNT": "1",
        "GIT_CONFIG_KEY_0": f"credential.{parts.scheme}://{parts.netloc}.helper",
        "GIT_CONFIG_VALUE_0": f'!f() {{ test "$1" = get && {answer}; }}; f',
    }


def _parse_remote(url: str) -> _Remote:
    """Check a URL against the accepted forms, and take its credentials out."""
    text = url.strip()
    # A text with a leading dash would be an option of git; control characters could add lines to its protocol.
    if not text or text.startswith("-") or re.search(r"[\x00-\x1f\x7f]", text):
        raise _to_error(text)
    local = os.path.abspath(os.path.expanduser(text))
    if "://" not in text and os.path.isdir(local):
        return _Remote(local, local=local)
    if "://" not in text:
        scp = re.fullmatch(r"(?:[A-Za-z0-9_.+-]+@)?(?!-)[A-Za-z0-9_.\[\]-]+:(?![:-])\S.*", text)
        if not scp or text.partition(":")[0].startswith("-"):
            raise _to_error(text)
        return _Remote(text)
    try:
        parts = urlsplit(text)
        host, port = parts.hostname or "", parts.port
    except ValueError as error:
        raise _to_error("") from error
    scheme = parts.scheme.lower()
    if scheme not in {"https", "ssh", "git", "file"} or host.startswith("-") or "::" in text.partition("://")[0]:
        raise _to_error(text)
    if scheme == "file":
        path = unquote(text[len("file://") :])
        return _Remote(text, local=path if path.startswith("/") else "//" + path)
    if not host:
        raise _to_error(text)
    address = f"[{host}]" if ":" in host else host
    address += f":{port}" if port else ""
    user, password = unquote(parts.username or ""), unquote(parts.password or "")
    if re.search(r"[\x00-\x1f\x7f]", user + password) or user.startswith("-"):
        raise _to_error("")
    if scheme == "ssh":
        return _Remote(urlunsplit((scheme, f"{user}@{address}" if user else address, parts.path, "", "")))
    return _Remote(urlunsplit((scheme, address, parts.path, parts.query, "")), user, password)


def _to_error(text: str) -> RepositoryError:
    redacted = re.sub(r"//[^/]*@", "//", text)[:200]
    return RepositoryError(f"not a URL to clone from: {redacted!r}; accepted: {_ACCEPTED}")


def _delete_leftovers(parent: str) -> None:
    """Delete partial fetches of killed processes."""
    for name in os.listdir(parent):
        match = re.match(re.escape(PARTIAL_PREFIX) + r"(\d+)-", name)
        if match and not _is_running(int(match[1])):
            shutil.rmtree(os.path.join(parent, name), ignore_errors=True)


def _is_running(process: int) -> bool:
    if os.name == "nt":  # a signal there would end the process; leave its directory alone
        return True
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except (PermissionError, OverflowError):
        return True
    return True

import contextlib
import os
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from sourcelight.core.batches.events import CloneProgress
from sourcelight.core.cancellation import Cancellation
from sourcelight.core.errors import Cancelled, GitFailed, RepositoryError
from sourcelight.repos import Catalog, clone, update_mirror
from sourcelight.repos.discovery import PARTIAL_PREFIX
from sourcelight.repos.git.command import parse_version, require_git
from sourcelight.repos.git.fetch import redact
from sourcelight.repos.mirrors.remotes import credential_environment, parse_remote
from sourcelight.repos.mirrors.update import is_same_origin
from sourcelight.testing import RepositoryBuilder, make_repo


@pytest.fixture(autouse=True)
def _closed_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
    monkeypatch.setenv("GIT_CONFIG_SYSTEM", os.devnull)
    for name in ("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def origin(tmp_path: Path) -> RepositoryBuilder:
    return make_repo(tmp_path / "origin" / "app", {"a": "1"})


def test_a_mirror_is_made_found_and_kept_up_to_date(tmp_path: Path, origin: RepositoryBuilder) -> None:
    seen: list[CloneProgress] = []
    path = clone(origin.path.as_uri(), tmp_path / "mirrors", progress=seen.append)
    assert path == str(tmp_path / "mirrors" / "app.git")
    assert any(step.step == "Receiving objects" and step.done == step.total for step in seen)
    catalog = Catalog.open([tmp_path / "mirrors"])
    (repository,) = catalog.repositories
    assert (repository.name, repository.worktree, repository.info.commit) == ("app", "", origin.head)
    origin.branch("gone-soon")
    origin.switch("main")
    head = origin.commit({"a": "2"})
    assert update_mirror(path) == path
    assert catalog.refresh()
    assert catalog.repositories[0].info.commit == head
    origin.git("branch", "-D", "gone-soon")
    origin.git("reset", "-q", "--hard", "HEAD~1")
    assert clone(origin.path.as_uri(), tmp_path / "mirrors") == path, "a second clone is an update"
    assert catalog.refresh()
    assert catalog.repositories[0].info.commit == origin.head
    refs = subprocess.run(["git", "-C", path, "for-each-ref"], capture_output=True, text=True, check=True, timeout=20)
    assert "gone-soon" not in refs.stdout


def test_a_mirror_of_a_newer_git_is_kept_up_to_date(tmp_path: Path, origin: RepositoryBuilder) -> None:
    """Git 2.55 writes that a mirror needs no tags of their own; 2.39 writes nothing of it."""
    path = clone(origin.path.as_uri(), tmp_path / "mirrors")
    with Path(path, "config").open("a", encoding="utf-8") as config:
        config.write('[remote "origin"]\n\ttagOpt = --no-tags\n')
    head = origin.commit({"a": "2"})
    origin.tag("v2")
    assert update_mirror(path) == path
    (repository,) = Catalog.open([tmp_path / "mirrors"]).repositories
    assert repository.info.commit == head
    tags = subprocess.run(["git", "-C", path, "tag"], capture_output=True, text=True, check=True, timeout=20)
    assert tags.stdout.split() == ["v2"]


def test_two_remotes_of_one_name_are_never_merged(tmp_path: Path, origin: RepositoryBuilder) -> None:
    other = make_repo(tmp_path / "other" / "app", {"b": "1"})
    first, second = (clone(repo.path.as_uri(), tmp_path / "mirrors") for repo in (origin, other))
    assert first != second
    assert clone(other.path.as_uri(), tmp_path / "mirrors") == second
    assert Catalog.open(first).repositories[0].info.commit == origin.head
    assert Catalog.open(second).repositories[0].info.commit == other.head


@pytest.mark.parametrize(
    ("first", "second", "same"),
    [
        ("https://h.org/a/b", "git@h.org:a/b.git", True),
        ("https://h.org/a/b", "ssh://git@h.org:7999/a/b", True),
        ("https://h.org:1/a/b", "https://h.org:2/a/b", False),
        ("https://h.org/a/b", "https://h.org/a/c", False),
        ("file:///x/app", "file:///y/app", False),
        ("/x/app", "/x/app", True),
    ],
)
def test_which_urls_share_a_mirror(first: str, second: str, *, same: bool) -> None:
    assert is_same_origin(first, second) is same


def test_a_mirror_follows_the_default_branch(tmp_path: Path, origin: RepositoryBuilder) -> None:
    path = clone(origin.path.as_uri(), tmp_path / "mirrors")
    catalog = Catalog.open(path)
    origin.branch("trunk")
    head = origin.commit({"a": "2"})
    update_mirror(path)
    assert catalog.refresh()
    assert catalog.repositories[0].info.commit == head


def test_a_local_folder_may_be_mirrored(tmp_path: Path, origin: RepositoryBuilder) -> None:
    path = clone(str(origin.path), tmp_path / "mirrors")
    assert Catalog.open(path).repositories[0].info.commit == origin.head


@pytest.mark.parametrize(
    "url",
    [
        "", "-oProxyCommand=touch x", "--upload-pack=touch x", "ext::sh -c touch% x", "http://host.org/a", "fd::17",
        "ssh://-oProxyCommand=touch/x", "-x@host:path", "host:-path", "ssh://host\n/x", "https://", "https:///x",
        "ftp://host/x", "https://host:port/x", "nowhere", "/no/such/folder", "ssh://-x@host/y", "transport::address",
        "file+ext://x", "https://u%0ax:p@host/x", "javascript:alert(1)//\x01",
        "https://host/x?private_token=t", "user:token@host/x",
    ],
)  # fmt: skip
def test_what_git_might_take_for_something_else_is_refused(tmp_path: Path, url: str) -> None:
    with pytest.raises(RepositoryError, match="not a URL to clone from"):
        clone(url, tmp_path / "mirrors")
    assert not (tmp_path / "mirrors").exists()


def test_a_failed_clone_leaves_nothing(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(GitFailed) as caught:
        clone((tmp_path / "empty").as_uri(), tmp_path / "mirrors")
    assert caught.value.exit_code == 128
    assert "not appear to be a git repository" in caught.value.stderr_tail
    assert PARTIAL_PREFIX not in f"{caught.value}{caught.value.stderr_tail}"
    assert list((tmp_path / "mirrors").iterdir()) == []


def test_credentials_of_a_url_show_nowhere(tmp_path: Path) -> None:
    url = "https://me:s3cr3t-t0ken@127.0.0.1:9/team/app"
    with pytest.raises(GitFailed) as caught:
        clone(url, tmp_path / "mirrors")
    assert "s3cr3t" not in f"{caught.value} {caught.value.argv} {caught.value.stderr_tail}"
    assert redact("fatal: https://me:s3cr3t@host/x s3cr3t", ["s3cr3t"]) == "fatal: https://host/x ***"


def test_credentials_reach_git_and_stay_out_of_the_mirror(tmp_path: Path, origin: RepositoryBuilder) -> None:
    remote = parse_remote("https://me:p%40ss@host.org/team/app.git#x")
    assert remote.url == "https://host.org/team/app.git"
    environment = os.environ | credential_environment(remote)
    question = b"protocol=https\nhost=host.org\n\n"
    for host, answer in ((b"host.org", b"password=p@ss"), (b"evil.org", b"")):
        done = subprocess.run(
            ["git", "credential", "fill"],
            input=question.replace(b"host.org", host),
            env=environment | {"GIT_TERMINAL_PROMPT": "0", "GIT_ASKPASS": "false"},
            capture_output=True,
            check=False,
            timeout=20,
        )
        assert answer in done.stdout
        assert bool(answer) == (b"p@ss" in done.stdout)
    path = clone(origin.path.as_uri(), tmp_path / "mirrors")
    assert "@" not in (Path(path) / "config").read_text()


@pytest.fixture
def slow_git(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A git on PATH that writes part of a mirror and then hangs, with a child of its own."""
    folder = tmp_path / "bin"
    folder.mkdir()
    script = folder / "git"
    script.write_text(
        "#!/bin/sh\n"
        'if [ "$1" = --version ]; then echo git version 2.40.0; exit; fi\n'
        'for last; do :; done; mkdir -p "$last/objects"; echo ref: x > "$last/HEAD"\n'
        f"sleep 60 & echo $! > {tmp_path}/child\n"
        "echo 'Receiving objects:  50% (1/2)' >&2; wait\n"
    )
    script.chmod(script.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
    yield tmp_path
    with contextlib.suppress(OSError, ValueError):
        os.kill(int((tmp_path / "child").read_text()), signal.SIGKILL)


def has_ended(process: int) -> bool:
    try:
        state = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return True
    return state == "Z"


@pytest.mark.clock
@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_cancelling_ends_git_and_its_children_and_leaves_nothing(slow_git: Path) -> None:
    cancellation = Cancellation()
    began = time.monotonic()
    with pytest.raises(Cancelled):
        clone("https://host.org/team/app", slow_git / "mirrors",
              progress=lambda _: cancellation.cancel(), cancellation=cancellation)  # fmt: skip
    assert time.monotonic() - began < 5
    assert list((slow_git / "mirrors" / "host.org" / "team").iterdir()) == []
    child = int((slow_git / "child").read_text())
    deadline = time.monotonic() + 5
    while not has_ended(child):
        assert time.monotonic() < deadline


@pytest.mark.skipif(sys.platform != "linux", reason="kills with SIGKILL")
def test_a_killed_clone_is_no_repository_and_is_swept_later(
    origin: RepositoryBuilder, slow_git: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mirrors = slow_git / "mirrors"
    code = f"from sourcelight.repos import clone; clone({origin.path.as_uri()!r}, {str(mirrors)!r}, progress=print)"
    # -u: else Python keeps the line until the clone has ended.
    with subprocess.Popen([sys.executable, "-u", "-c", code], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline()
        process.kill()
    (partial,) = mirrors.iterdir()
    assert partial.name.startswith(PARTIAL_PREFIX)
    assert {skip.path for skip in Catalog.open([origin.path, mirrors]).skipped} == set()
    monkeypatch.setenv("PATH", os.environ["PATH"].partition(os.pathsep)[2])
    path = clone(origin.path.as_uri(), mirrors)
    assert [str(entry) for entry in mirrors.iterdir()] == [path]


def test_git_is_not_run_in_what_clone_did_not_make(tmp_path: Path, origin: RepositoryBuilder) -> None:
    path = Path(clone(origin.path.as_uri(), tmp_path / "mirrors"))
    with (path / "config").open("a") as config:
        config.write(f"[core]\n\tsshCommand = touch {tmp_path}/ran\n")
    with pytest.raises(RepositoryError, match=r"core\.sshcommand"):
        update_mirror(path)
    for other in (origin.path, tmp_path / "absent"):
        with pytest.raises(RepositoryError):
            update_mirror(other)


def test_a_missing_or_old_git_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(GitFailed, match="was not found on PATH"):
        require_git()
    script = tmp_path / "git"
    script.write_text("#!/bin/sh\necho git version 2.11.0\n")
    script.chmod(0o755)
    with pytest.raises(GitFailed, match=r"2\.11\.0 is too old; version 2\.31"):
        require_git()


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ("git version 2.39.5", (2, 39, 5)),
        ("git version 2.50.1 (Apple Git-155)", (2, 50, 1)),
        ("git 3.0", (3, 0, 0)),
        ("", (0,)),
    ],
)
def test_versions_are_read(text: str, version: tuple[int, ...]) -> None:
    assert parse_version(text) == version

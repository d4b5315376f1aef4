"""What the git processes that we start may do: read objects, and nothing else of a repository."""

from __future__ import annotations

import ast
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import sourcelight
from attacks.recording_git import RecordingGit, first_on_path, hostile_repository, record_git
from server.running_service import running
from sourcelight.backends.embedded import open_engine
from sourcelight.core.errors import GitFailed, NoRepositories, SourcelightError
from sourcelight.engines.history import LocalHistoryStore
from sourcelight.repos import Catalog, clone, update_mirror
from sourcelight.repos.isolation import isolated_directory
from sourcelight.testing import RepositoryBuilder, git_environment, make_repo

SOURCES = Path(sourcelight.__file__).parent
pytestmark = pytest.mark.skipif(os.name == "nt", reason="the recording git is a script with an interpreter line")


@pytest.fixture
def git(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> RecordingGit:
    recording = record_git(tmp_path / "bin")
    monkeypatch.setenv("PATH", first_on_path(recording.folder))
    return recording


@pytest.fixture
def canaries(tmp_path: Path) -> Path:
    return tmp_path / "canaries"


@pytest.fixture
def hostile(tmp_path: Path, canaries: Path, git: RecordingGit) -> RepositoryBuilder:
    repository = hostile_repository(tmp_path / "hostile", canaries)
    git.clear()
    return repository


def assert_reads_nothing_of_it(call: dict[str, Any], repo: Path) -> None:
    """A process that only reads: no transport, no configuration but ours, no place but ours."""
    env = call["env"]
    assert env["GIT_ALLOW_PROTOCOL"] == ""
    assert env["GIT_CONFIG_NOSYSTEM"] == "1"
    assert env["GIT_CONFIG_GLOBAL"] == env["GIT_CONFIG_SYSTEM"] == os.devnull
    assert env["GIT_NO_LAZY_FETCH"] == "1"
    assert env["GIT_TERMINAL_PROMPT"] == "0"
    assert {"protocol.allow=never", "safe.bareRepository=explicit", "core.fsmonitor=false"} <= set(call["argv"])
    assert env["GIT_DIR"] == env["HOME"] == env["XDG_CONFIG_HOME"]
    assert os.path.realpath(env["GIT_DIR"]) == call["cwd"]
    for position in (env["GIT_DIR"], *call["argv"]):
        assert not position.startswith(str(repo))
    assert "evil" not in call["config"]
    assert "remote" not in call["config"]
    assert not Path(env["GIT_DIR"]).exists(), "left behind"


def use_everything(repo: Path, index: Path) -> None:
    """Ask all that may start git of a repository, also of its work tree."""
    with sourcelight.open(repo, index_dir=index, progress=False) as client:
        (name,) = client.list_repos()["repository"]
        client.search("needle")
        client.search("needle type:diff")
        client.search("second type:commit")
        client.commit_search([name], message_terms=["second"])
        client.diff_search("lost", [name])
        client.blame(name, "kept.py")
        client.compare_revisions(name, "HEAD~3", "HEAD")
        client.commit_details(name, "HEAD~1")
        client.last_changes(name, ["kept.py"])
        client.get_contributor_repos("Ada")
        client.ownership(name)
        client.read_file(name, "kept.py")
    with sourcelight.open(repo, index_dir=index, worktree=True, progress=False) as client:
        assert len(client.search("needle file:kept.py return 6")) >= 0
        assert client.search("needle file:new.py").attrs is not None


def test_the_traps_would_close(git: RecordingGit, hostile: RepositoryBuilder, canaries: Path) -> None:
    env = {**git_environment(), "PATH": os.environ["PATH"], "GIT_NO_LAZY_FETCH": "1"}
    for arguments in (["cat-file", "-p", "HEAD~2:lost.py"], ["status"], ["evil"]):
        subprocess.run(["git", *arguments], cwd=hostile.path, env=env, capture_output=True, timeout=30, check=False)
    results = {path.name for path in canaries.iterdir()}
    assert {"uploadpack", "include", "process", "alias-evil"} <= results, "the wrapper stands in for an old git"
    assert git.calls


@pytest.mark.filterwarnings("ignore::sourcelight.client.progress.IncompleteResultWarning")
def test_no_feature_runs_a_command_of_a_repository(
    git: RecordingGit, hostile: RepositoryBuilder, canaries: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(hostile.path)
    use_everything(hostile.path, tmp_path / "index")
    assert list(canaries.iterdir()) == []
    verbs = {word for call in git.calls for word in call["argv"]}
    assert {"log", "diff-tree", "blame", "check-mailmap"} <= verbs
    for call in git.calls:
        assert_reads_nothing_of_it(call, hostile.path)


def test_no_answer_of_a_service_runs_a_command_of_a_repository(
    git: RecordingGit, hostile: RepositoryBuilder, canaries: Path, tmp_path: Path
) -> None:
    engine = open_engine([hostile.path], index=tmp_path / "index")
    (name,) = [repository.name for repository in engine.catalog.repositories]
    with running(engine) as service:
        for query in ("needle", "lost type:diff", "second type:commit", f"repo:{name} type:diff lost"):
            assert service.search(query).status_code == 200
        for path in (f"/{name}/-/blame/kept.py", f"/{name}/-/blob/kept.py", f"/{name}/-/commit/HEAD"):
            service.client.get(path)
    assert list(canaries.iterdir()) == []
    assert git.calls
    for call in git.calls:
        assert_reads_nothing_of_it(call, hostile.path)


def test_a_folder_is_mirrored_without_a_command_of_its_own(
    git: RecordingGit, hostile: RepositoryBuilder, canaries: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(hostile.path)  # git looks for a repository where it starts
    for url in (str(hostile.path), hostile.path.as_uri()):
        with pytest.raises(GitFailed):  # its objects are not whole, and nothing fetches the rest
            clone(url, tmp_path / "mirrors")
    assert list(canaries.iterdir()) == []
    assert {call["env"]["GIT_ALLOW_PROTOCOL"] for call in git.calls} == {"file"}
    for call in git.calls:
        assert not any(word.startswith((str(hostile.path), hostile.path.as_uri())) for word in call["argv"])
        assert not call["cwd"].startswith(str(hostile.path))
        assert "--no-recurse-submodules" in call["argv"]


def test_a_whole_folder_with_traps_is_mirrored(
    git: RecordingGit, hostile: RepositoryBuilder, canaries: Path, tmp_path: Path
) -> None:
    blob = hostile.git("hash-object", "-w", "--stdin", "--no-filters", stdin=b"def lost():\n    return 2\n")
    assert blob
    for path in canaries.iterdir():
        path.unlink()
    mirror = clone(str(hostile.path), tmp_path / "mirrors")
    assert update_mirror(mirror) == mirror
    config = (Path(mirror) / "config").read_text()
    assert f"url = {hostile.path}\n" in config
    assert "evil" not in config
    assert not (Path(mirror) / "objects" / "info" / "alternates").exists()
    heads = {Catalog.open([position]).repositories[0].info.commit for position in (mirror, hostile.path)}
    assert len(heads) == 1
    assert list(canaries.iterdir()) == []
    assert git.calls


def test_a_clone_over_the_network_may_use_the_network_alone(git: RecordingGit, tmp_path: Path) -> None:
    with pytest.raises(GitFailed):
        clone("https://127.0.0.1:9/team/app", tmp_path / "mirrors")
    (call,) = git.calls
    assert call["env"]["GIT_ALLOW_PROTOCOL"] == "https:ssh:git"
    assert {"protocol.allow=never", "fetch.uriProtocols=", "transfer.bundleURI=false"} <= set(call["argv"])
    assert not call["cwd"].startswith(str(Path.cwd()))


def test_whole_repositories_of_every_form_keep_their_history(tmp_path: Path) -> None:
    origin = make_repo(tmp_path / "origin", {"a": "1\n"}, message="one")
    for number in range(2, 6):
        origin.commit({"a": f"{number}\n"}, f"number {number}")
    tree = tmp_path / "linked"
    origin.git("worktree", "add", "-q", "--detach", str(tree), "HEAD~1")
    borrowed = tmp_path / "borrowed \n\"#'"
    subprocess.run(["git", "clone", "-q", "--shared", "--bare", str(origin.path), str(borrowed)],
                   check=True, env=git_environment(), timeout=60)  # fmt: skip
    locations = {
        "whole": origin.path,
        "linked": tree,
        "alternates": borrowed,
        "shallow": origin.clone(tmp_path / "shallow", "--depth=2").path,
        "partial": origin.clone(tmp_path / "partial", "--filter=blob:none", "--no-checkout").path,
    }
    commits = {}
    for name, path in locations.items():
        (repository,) = Catalog.open([path]).repositories
        store = LocalHistoryStore(tmp_path / "histories" / name, workers=1)
        report = store.update([repository])
        assert not report.failures, (name, report.failures)
        history = store.open(repository)
        commits[name] = history.bases.commits[-1], report.incomplete.get(repository.name, 0)
    assert commits == {
        "whole": (5, 0), "linked": (4, 0), "alternates": (5, 0), "shallow": (2, 0), "partial": (5, 5)
    }  # fmt: skip


def test_sha256_is_refused_by_name(tmp_path: Path) -> None:
    repo = RepositoryBuilder(tmp_path / "long", object_format="sha256")
    repo.commit({"a": "1\n"}, "one")
    with (
        pytest.raises(SourcelightError, match="SHA-256"),
        isolated_directory(str(repo.path / ".git")),
    ):
        pass
    with pytest.raises(GitFailed, match="SHA-256"):
        clone(str(repo.path), tmp_path / "mirrors")


@pytest.mark.parametrize(
    "name", ["shallow", "packed-refs", "info/attributes", "config.worktree", "objects/info/alternates", "included"]
)
def test_a_pipe_in_the_place_of_a_file_is_refused_by_name(tmp_path: Path, name: str) -> None:
    repo = make_repo(tmp_path / "repo", {"a": "1\n"})
    location = repo.path / ".git" / name
    location.parent.mkdir(exist_ok=True)
    if name == "included":
        repo.git("config", "include.path", "included")
    os.mkfifo(location)
    with pytest.raises(NoRepositories, match=r"include" if name == "included" else name):
        Catalog.open([repo.path])


STARTERS = {
    "repos/git/command.py": "git, in `start_git` alone",
    "engines/storage/worker_pool.py": "our own worker processes",
    "lab/reports/pdf.py": "a browser that prints",
    "cli/lab.py": "JupyterLab and the demo",
    "cli/startup/background_index.py": "our own process that builds an index after a search",
    "testing/repositories.py": "git, to build repositories for tests",
}


def test_processes_are_started_in_six_places_and_git_in_one() -> None:
    starting = {"subprocess", "pty", "multiprocessing", "concurrent.futures.process"}
    calls = {"system", "popen", "posix_spawn", "posix_spawnp", "create_subprocess_exec", "create_subprocess_shell",
             "startfile", "ProcessPoolExecutor", *(f"{kind}{form}" for kind in ("exec", "spawn")
             for form in ("l", "le", "lp", "lpe", "v", "ve", "vp", "vpe"))}  # fmt: skip
    results = set()
    for path in SOURCES.rglob("*.py"):
        text = path.read_text("utf-8")
        if not any(word in text for word in (*starting, *calls)):
            continue
        for node in ast.walk(ast.parse(text)):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            called = (
                isinstance(node, ast.Call)
                and isinstance(node.func, ast.Attribute)
                and node.func.attr in calls
                and ast.unparse(node.func) != "platform.system"  # only says which system it is
            )
            if starting & set(names) or called:
                results.add(path.relative_to(SOURCES).as_posix())
    assert results == set(STARTERS)
    tree = ast.parse((SOURCES / "repos" / "git" / "command.py").read_text("utf-8"))
    starts = [node for node in ast.walk(tree) if isinstance(node, ast.Attribute) and node.attr in {"Popen", "run"}
              and not isinstance(getattr(node, "ctx", None), ast.Store)]  # fmt: skip
    assert len([node for node in starts if node.attr == "Popen"]) >= 1
    assert not [node for node in starts if node.attr == "run"]


@pytest.mark.skipif(sys.platform != "linux", reason="limits of a started process are set on Linux alone")
def test_git_has_limits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "bin"
    folder.mkdir()
    real = shutil.which("git")
    script = folder / "git"
    script.write_text(
        f'#!/bin/sh\n[ "$1" = --version ] && exec {real} --version\nsleep 0.2\n'
        f"grep -E 'data size|cpu time' /proc/self/limits >> {tmp_path}/limits\nexec {real} \"$@\"\n"
    )
    script.chmod(0o755)
    repo = make_repo(tmp_path / "repo", {"a": "1\n"})
    (repository,) = Catalog.open([repo.path]).repositories
    monkeypatch.setenv("PATH", first_on_path(folder))
    assert not LocalHistoryStore(tmp_path / "histories", workers=1).update([repository]).failures
    limits = (tmp_path / "limits").read_text()
    assert "unlimited" not in limits
    assert str(256 << 20) in limits, "what compares contents has less"

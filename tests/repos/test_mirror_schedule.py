"""Mirrors are fetched on time, later after failures, by one process, and what ends in the middle does no harm."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

import pytest

from backends.cluster.certificates import certified
from repos.https_git import GitServer, git_server
from sourcelight.core.cancellation import Cancellation
from sourcelight.core.errors import GitFailed, RepositoryError
from sourcelight.repos import clone, update_mirror
from sourcelight.repos.mirrors.schedule import (
    MAX_DELAY_S,
    STATE_FILE,
    MirrorSchedule,
    MirrorState,
    delay_s,
    read_states,
)
from sourcelight.testing import make_repo


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    return certified(tmp_path_factory.mktemp("tls") / "own")


@pytest.fixture
def server(tmp_path: Path, files: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> Iterator[GitServer]:
    """Git over https, trusted by the git that fetches."""
    monkeypatch.setenv("GIT_SSL_CAINFO", files["ca"])
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
    monkeypatch.setenv("GIT_CONFIG_SYSTEM", os.devnull)
    for name in ("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    (tmp_path / "served").mkdir()
    with git_server(tmp_path / "served", files) as running:
        yield running


class Fetches:
    """A schedule and what it reported, with the form of each address that has no credentials."""

    def __init__(self, folder: Path, addresses: dict[str, str] | None, timeout_s: float = 60.0) -> None:
        self.reports: list[MirrorState] = []
        self.schedule = MirrorSchedule(
            folder,
            None if addresses is None else lambda: addresses,
            interval_s=600.0,
            timeout_s=timeout_s,
            jobs=3,
            report=lambda state: self.reports.append(MirrorState(**asdict(state))),
        )

    def run_once(self) -> dict[str, MirrorState]:
        """Fetch what is to be fetched; the reports of it."""
        self.reports.clear()
        with self.schedule.lock():
            self.schedule.run(once=True)
        return {state.address: state for state in self.reports}


def test_the_wait_doubles_with_each_failure_up_to_a_day_and_is_spread() -> None:
    for failures in (0, 1, 2, 5, 5000):
        delays = [delay_s(900.0, failures) for _ in range(200)]
        mean = min(900.0 * 2.0 ** min(failures, 60), MAX_DELAY_S)
        spread = 0.25 if failures else 0.1
        assert mean * (1 - spread) <= min(delays) < max(delays) <= mean * (1 + spread)
    assert delay_s(7 * MAX_DELAY_S, 3) >= 5 * MAX_DELAY_S, "never sooner than after a success"


def test_mirrors_of_a_real_remote_are_cloned_and_updated_and_no_file_has_the_token(
    tmp_path: Path, server: GitServer
) -> None:
    open_repo = make_repo(server.root / "open" / "app", {"a": "1"})
    make_repo(server.root / "private" / "app", {"b": "1"})
    displayed = [f"{server.url}/open/app", f"{server.url}/private/app"]
    fetches = Fetches(
        tmp_path / "mirrors", {displayed[0]: displayed[0], displayed[1]: server.with_credentials("/private/app")}
    )
    reports = fetches.run_once()
    assert [reports[address].error for address in displayed] == ["", ""]
    paths = [Path(reports[address].mirror) for address in displayed]
    assert paths[0] == tmp_path / "mirrors" / "127.0.0.1" / "open" / "app.git"
    head = open_repo.commit({"a": "2"})
    fetches.run_once()
    assert open_repo.git("-C", str(paths[0]), "rev-parse", "refs/heads/main").strip() == head
    output = [file.read_bytes() for file in (tmp_path / "mirrors").rglob("*") if file.is_file()]
    assert not any(b"s3cr3t" in content for content in output)
    # Without its list, the directory's own mirrors: the private one needs a credential that is not stored.
    reports = Fetches(tmp_path / "mirrors", None).run_once()
    assert reports[displayed[0]].error == ""
    assert "credential helper" in reports[displayed[1]].error


def test_a_remote_that_fails_waits_and_holds_no_other_up(tmp_path: Path, server: GitServer) -> None:
    make_repo(server.root / "open" / "app", {"a": "1"})
    good, absent, hanging = (f"{server.url}/{name}" for name in ("open/app", "open/absent", "hangs/app"))
    addresses = {address: address for address in (hanging, absent, good)}
    fetches = Fetches(tmp_path / "mirrors", addresses, timeout_s=3.0)
    began_s = time.time()
    reports = fetches.run_once()
    assert (reports[good].failures, reports[absent].failures, reports[hanging].failures) == (0, 1, 1)
    assert fetches.reports[-1].address == hanging
    assert "not found" in reports[absent].error
    assert reports[hanging].error == "stopped after 3 s"
    assert reports[absent].due_at_s >= began_s + 0.75 * 1200
    states = read_states(str(tmp_path / "mirrors"))
    assert {address: state.failures for address, state in states.items()} == {good: 0, absent: 1, hanging: 1}
    assert list(Fetches(tmp_path / "mirrors", addresses).run_once()) == [good], "the others wait"
    # What was missing comes back: the wait ends, and so do the failures.
    make_repo(server.root / "open" / "absent", {"a": "1"})
    path = tmp_path / "mirrors" / STATE_FILE
    path.write_text(json.dumps({"mirrors": [asdict(states[absent]) | {"due_at_s": 0.0}]}))
    reports = Fetches(tmp_path / "mirrors", {absent: absent}).run_once()
    assert (reports[absent].failures, reports[absent].error) == (0, "")


def test_one_process_works_on_a_directory(tmp_path: Path) -> None:
    first, second = (Fetches(tmp_path / "mirrors", {}) for _ in range(2))
    assert not MirrorSchedule.is_locked(str(tmp_path / "mirrors"))
    with first.schedule.lock():
        assert MirrorSchedule.is_locked(str(tmp_path / "mirrors"))
        with pytest.raises(RepositoryError, match="another sync is running in"):
            second.run_once()
    assert second.run_once() == {}


@pytest.mark.parametrize("content", ["", "{", "[]", '{"mirrors": [{"address": 1}]}', "[" * 100_000, '{"mirrors": 5}'])
def test_a_damaged_file_of_states_means_that_all_is_due(tmp_path: Path, content: str) -> None:
    (tmp_path / STATE_FILE).write_text(content)
    assert read_states(str(tmp_path)) == {}
    assert Fetches(tmp_path, {}).run_once() == {}


def test_a_clock_that_was_wrong_keeps_no_mirror_waiting(tmp_path: Path) -> None:
    origin = make_repo(tmp_path / "origin", {"a": "1"}).path.as_uri()
    for due_at_s in (time.time() + 1e9, float("nan")):
        state = MirrorState(origin, failures=1, due_at_s=due_at_s)
        (tmp_path / "mirrors").mkdir(exist_ok=True)
        (tmp_path / "mirrors" / STATE_FILE).write_text(json.dumps({"mirrors": [asdict(state)]}))
        fetches = Fetches(tmp_path / "mirrors", {origin: origin})
        fetches.run_once()
        assert fetches.schedule.states[origin].due_at_s <= time.time() + 1.25 * 1200


@pytest.mark.parametrize(
    "name", ["link/team/app", "taken.git/refs/app", "team/.git/app", "/".join(["a"] * 40), "a" * 300]
)
def test_an_address_makes_no_mirror_elsewhere(tmp_path: Path, name: str) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    mirror = Path(clone(make_repo(tmp_path / "taken", {"a": "1"}).path.as_uri(), tmp_path / "mirrors"))
    host = tmp_path / "mirrors" / "h.org"
    host.mkdir()
    (host / "link").symlink_to(outside)
    mirror.rename(host / "taken.git")
    with pytest.raises((RepositoryError, OSError), match=r"can't make a mirror|isn't below|too long"):
        clone(f"https://h.org/{name}", tmp_path / "mirrors")
    assert list(outside.iterdir()) == []
    assert not (host / "taken.git" / "refs" / "app.git").exists()


def test_what_a_killed_git_left_stops_no_later_fetch(tmp_path: Path) -> None:
    origin = make_repo(tmp_path / "origin", {"a": "1"})
    path = Path(clone(origin.path.as_uri(), tmp_path / "mirrors"))
    head = origin.commit({"a": "2"})
    remaining = [path / "packed-refs.lock", path / "refs/heads/main.lock", path / "objects/pack/tmp_pack_x1"]
    remaining[1].parent.mkdir(parents=True, exist_ok=True)
    for file in remaining:
        file.write_bytes(b"")
    with pytest.raises(GitFailed, match="Another git process"):  # there may be one
        update_mirror(path)
    for file in remaining:
        os.utime(file, (time.time() - 7200,) * 2)
    update_mirror(path, cancellation=Cancellation(60))
    assert not any(file.exists() for file in remaining)
    assert origin.git("-C", str(path), "rev-parse", "refs/heads/main").strip() == head

"""Damaged files of an index: an answer is right, or says that it is not complete; nothing crashes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import sourcelight as sl
from fork_server import start_python
from sourcelight.core.errors import IndexDamaged
from sourcelight.engines.storage.sections import SectionFile, write_sections
from sourcelight.testing import RepositoryBuilder

_SCRIPT = Path(__file__).with_name("damage.py")
_ATTEMPTS = int(os.environ.get("SOURCELIGHT_DAMAGES", "120"))
_FIRST_SEED = int(os.environ.get("SOURCELIGHT_DAMAGE_SEED", "1"))
_FILES = {f"code/{index}.py": f"def needle_{index}():\n    return {index}  # needle\n" for index in range(40)}
# In a process of its own, so that a crash is seen: opens, asks, damages what is mapped, asks thrice more. Whether files
# are still those that were mapped is looked at four times a second at most, so the first of the three comes after that.
_UNDER_A_READER = """
import sys
import time
from pathlib import Path
import sourcelight as sl
src, index, kind, how = sys.argv[1:]
with sl.open(src, index_dir=index, progress=False, background_index=False) as code:
    def ask():
        result = code.search("/need.e$/ count:all", progress=False)
        return result.status, len(result.matches)
    print(*ask())
    (file,) = Path(index).glob(f"*/{kind}-*")
    if how == "cut":
        with file.open("r+b") as opened:
            opened.truncate(1)
    else:
        raw = bytearray(file.read_bytes())
        at = len(raw) // 2
        raw[at : at + 64] = bytes(64)
        with file.open("r+b") as opened:
            opened.write(raw)
    time.sleep(0.3)
    for _ in range(3):
        print(*ask())
"""
_STATUSES = ("complete", "limited", "interrupted", "failed")


@pytest.fixture
def repository(tmp_path: Path) -> RepositoryBuilder:
    builder = RepositoryBuilder(tmp_path / "src" / "one")
    builder.commit(_FILES)
    return builder


@pytest.mark.attack
@pytest.mark.timeout(7200)
@pytest.mark.skipif(not hasattr(os, "fork"), reason="each damage takes a fork")
def test_no_damage_of_a_file_crashes_or_shortens_a_complete_answer(tmp_path: Path) -> None:
    # Two processes, for two cores; the first one makes the sample for both.
    first = _attempts(tmp_path, _FIRST_SEED, 1)
    half = _ATTEMPTS // 2
    running = [
        _started(tmp_path, _FIRST_SEED + 1, half),
        _started(tmp_path, _FIRST_SEED + 1 + half, _ATTEMPTS - half - 1),
    ]
    outcomes = first + [outcome for process in running for outcome in _outcomes(process)]
    assert len(outcomes) == _ATTEMPTS
    assert [item for item in outcomes if item["verdict"] not in {"right", "refused"}] == []
    # What an update can build anew is right at the latest when it is asked for a second time.
    assert [item for item in outcomes if item["verdict"] == "refused"] == []


def _started(folder: Path, seed: int, count: int) -> subprocess.Popen[str]:
    command = [sys.executable, str(_SCRIPT), str(folder), str(seed), str(count)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def _attempts(folder: Path, seed: int, count: int) -> list[dict[str, str]]:
    return _outcomes(_started(folder, seed, count))


def _outcomes(process: subprocess.Popen[str]) -> list[dict[str, str]]:
    out, _ = process.communicate()
    assert process.returncode == 0
    return [json.loads(line) for line in out.splitlines()]


@pytest.mark.parametrize("damage", ["cut", "overwrite"])
@pytest.mark.parametrize("kind", ["shard", "view"])
def test_a_file_damaged_under_a_reader_is_built_anew(
    repository: RepositoryBuilder, tmp_path: Path, kind: str, damage: str
) -> None:
    arguments = [str(repository.path), str(tmp_path / "index"), kind, damage]
    process = start_python(_UNDER_A_READER, arguments)
    try:
        assert process.stdout is not None
        text = process.stdout.read()
        assert process.wait(100) == 0, text
    finally:
        process.kill()
        for pipe in filter(None, (process.stdin, process.stdout)):
            pipe.close()
    before, *after = (line for line in text.splitlines() if line.startswith(_STATUSES))
    assert before == "complete 40"
    # What was read and checked before stays right in memory; what is read again is refused once, then built anew.
    assert all(answer == before or not answer.startswith("complete") for answer in after)
    assert after[-1] == before


@pytest.mark.skipif(os.name != "posix", reason="other systems have other rights")
@pytest.mark.parametrize("mask", [0o000, 0o022])
def test_everything_kept_is_its_owners_alone(repository: RepositoryBuilder, tmp_path: Path, mask: int) -> None:
    previous = os.umask(mask)
    try:
        _use_everything(repository, tmp_path)
    finally:
        os.umask(previous)
    assert _open_to_others(tmp_path / "home") == []


@pytest.mark.skipif(os.name != "posix", reason="other systems have other rights")
def test_what_an_earlier_version_left_open_is_closed(repository: RepositoryBuilder, tmp_path: Path) -> None:
    home = tmp_path / "home"
    _use_everything(repository, tmp_path)
    for location in [home, *home.rglob("*")]:
        location.chmod(0o777 if location.is_dir() else 0o666)
    # A process remembers what it closed before.
    run = [sys.executable, "-c", "import sys, sourcelight as sl; sl.open(sys.argv[1], index_dir=sys.argv[2]).close()"]
    subprocess.run([*run, str(repository.path), str(home / "index")], check=True, timeout=60, capture_output=True)
    assert _open_to_others(home / "index") == []
    assert _open_to_others(home / "index-history") == []


@pytest.mark.skipif(os.name != "posix", reason="other systems have other rights")
def test_a_folder_of_somebodys_own_files_stays_open(repository: RepositoryBuilder, tmp_path: Path) -> None:
    directory = tmp_path / "own"
    directory.mkdir(mode=0o755)
    (directory / "letter.txt").write_text("dear all")
    (directory / "letter.txt").chmod(0o644)
    with sl.open(repository.path, index_dir=directory, progress=False, background_index=False) as code:
        assert len(code.search("needle count:all", progress=False)) == 80
    assert directory.stat().st_mode & 0o777 == 0o755
    assert (directory / "letter.txt").stat().st_mode & 0o777 == 0o644


def _use_everything(repository: RepositoryBuilder, tmp_path: Path) -> None:
    home = tmp_path / "home"
    ask: list[Callable[[sl.Client], object]] = [
        lambda code: code.search("type:symbol needle", progress=False),
        lambda code: code.search("type:diff needle", progress=False),
        lambda code: code.nls_search("needle"),
        lambda code: code.ownership(repository.path.name),
    ]
    with sl.open(repository.path, index_dir=home / "index", progress=False, background_index=False) as code:
        for question in ask:
            question(code)


def _open_to_others(folder: Path) -> list[str]:
    locations = [folder, *folder.rglob("*")]
    return [
        f"{location.stat().st_mode & 0o777:o} {location}" for location in locations if location.stat().st_mode & 0o077
    ]


def test_a_damaged_file_goes_and_its_successor_stays(tmp_path: Path) -> None:
    """Who still reads the damaged file deleted the one that was built in its place, and it had to be built again."""

    def write() -> Path:
        return tmp_path / write_sections(tmp_path, "shard", {}, {"text": np.arange(9, dtype=np.uint8)}, name="shard-1")

    path = write()
    reader = SectionFile(path, "shard")
    with path.open("r+b") as file:
        file.seek(-24, os.SEEK_END)
        file.write(b"\xff" * 4)
    path.rename(tmp_path / "former")
    write()
    with pytest.raises(IndexDamaged):
        reader.bytes_of("text")
    assert SectionFile(path, "shard").bytes_of("text") == bytes(range(9))
    (tmp_path / "former").rename(path)
    with pytest.raises(IndexDamaged):
        reader.bytes_of("text")
    assert not path.exists()

"""Repositories that could not be indexed are tried again: a full disk is emptied, a later commit may be well."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from sourcelight.testing import make_repo

SCRIPT = """
import resource, sys, warnings
warnings.simplefilter("ignore")
import sourcelight as sl
from sourcelight.engines.execution.indexes import repositories
from sourcelight.testing import RepositoryBuilder

def limit(size):
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))

repo, index, wait_s = RepositoryBuilder(sys.argv[1]), sys.argv[2], float(sys.argv[3])
with sl.open(repo.path, index_dir=index, background_index=False, progress=False) as code:
    ask = lambda: (lambda found: print(found.status, len(found), *found.skipped["reason"]))(code.search("needle"))
    ask()
    repo.commit({"later.txt": "needle " * 2000})
    limit(300)
    ask()
    limit(resource.RLIM_INFINITY)
    repositories.RETRY_S = wait_s
    ask()
    repo.commit({"latest.txt": "needle\\n"})
    ask()
"""


@pytest.mark.skipif(sys.platform == "win32", reason="there are no limits for files")
@pytest.mark.parametrize(("wait_s", "third"), [(0, "complete 2"), (3600, "limited 0 repository-missing")])
def test_a_repository_that_found_the_disk_full_is_tried_again(tmp_path: Path, wait_s: float, third: str) -> None:
    """It stayed as it was until the process was started anew, whatever was committed since."""
    repo = make_repo(tmp_path / "repo", {"a.txt": "needle\n"})
    argv = [sys.executable, "-c", SCRIPT, str(repo.path), str(tmp_path / "index"), str(wait_s)]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=100, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == ["complete 1", "limited 0 repository-missing", third, "complete 3"]

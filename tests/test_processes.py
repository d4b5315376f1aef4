"""How tests are spread over processes: those of a file share what they build, and may follow from one another."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FILES = ("tests/core/test_caching.py", "tests/core/test_boolean.py", "tests/core/test_missing_extras.py")


def test_tests_of_a_file_run_in_one_process() -> None:
    command = [sys.executable, "-m", "pytest", "-v", "-n", "2", "--dist", "loadgroup", "-p", "no:cacheprovider", *FILES]
    # This test may run in such a process itself: its variables are not for the processes below it.
    variables = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    run = subprocess.run(command, cwd=ROOT, env=variables, capture_output=True, text=True, timeout=120, check=False)
    assert run.returncode == 0, run.stdout[-2000:]
    processes = defaultdict(set)
    for process, file in re.findall(r"^\[(gw\d)\].* (\S+\.py)::", run.stdout, flags=re.MULTILINE):
        processes[file].add(process)
    assert set(processes) == set(FILES)
    assert [len(item) for item in processes.values()] == [1] * len(FILES)
    assert len(set.union(*processes.values())) > 1


def test_files_that_begin_first_are_there() -> None:
    names = re.findall(r'^ {8}"(tests/\S+\.py)",$', (ROOT / "tests" / "conftest.py").read_text("utf-8"), re.MULTILINE)
    assert len(names) > 2
    assert [name for name in names if not (ROOT / name).is_file()] == []

"""Prepare a second run of the first tests that failed, for pytest's --last-failed; exit with 1 where there are more."""

from __future__ import annotations

import itertools
import json
import re
import sys
from pathlib import Path

MAX_TESTS = 3
"""More failures than that have a cause in the code, not in the load of the machine: a second run only shows values."""


def main(cache: Path) -> int:
    """Read and shorten the list of failed tests in pytest's cache."""
    path = cache / "v" / "cache" / "lastfailed"
    # Where tests run in several processes, pytest-xdist appends the group of a test to its name.
    failed = {re.sub(r"@[^@\]]*$", "", name): True for name in json.loads(path.read_text("utf-8"))}
    path.write_text(json.dumps(dict(itertools.islice(failed.items(), MAX_TESTS))), "utf-8")
    return int(len(failed) > MAX_TESTS)


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))

"""Choose test files for the inner loop: scripts/fast.py [--seconds 70]; a line of what was chosen, then the files.

Tests that changed come first, then tests that name a changed module, then tests of changed rooms, then the quickest of
all others, until the budget is used. `scripts/test` notes how long each file takes (`closing.py`); where it has not run
yet, every file counts as an average one, and of rooms that did not change only those without processes are taken.
"""

from __future__ import annotations

import argparse
import json
import subprocess
from pathlib import Path, PurePosixPath

ROOT = Path(__file__).resolve().parent.parent
SECONDS = ROOT / ".cache" / "seconds.json"
AVERAGE_S = 3.4
"""Seconds of a file that was never measured: those of the stage `unit` on two quiet cores, over its files."""
_OTHER_STAGES = ("attacks", "browser", "faults", "frontends", "notebooks", "release")
_WITHOUT_PROCESSES = ("tests/core", "tests/display", "tests/frozen", "tests/test_structure.py")


def git(*words: str) -> list[str]:
    """Lines that git prints, or none where it fails."""
    done = subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=False)
    return done.stdout.splitlines() if done.returncode == 0 else []


def changed_files() -> list[str]:
    """Return what differs from main, committed or not; on main what is not committed, or else the last commit's."""
    base = (git("merge-base", "HEAD", "main") or git("merge-base", "HEAD", "origin/main") or ["HEAD"])[0]
    untracked = git("ls-files", "--others", "--exclude-standard")
    return git("diff", "--name-only", base) + untracked or git("diff", "--name-only", "HEAD~1")


def module_name(path: str) -> str | None:
    """Return the module of a source file: that of `src/sourcelight/core/fields.py` is `sourcelight.core.fields`."""
    pure = PurePosixPath(path)
    if pure.suffix != ".py" or pure.parts[:1] != ("src",):
        return None
    parts = pure.with_suffix("").parts[1:]
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def rank(test: str, text: str, changed: set[str], modules: set[str]) -> int:
    """Return how near a test file is to what changed: 0 for the nearest, 3 where nothing connects them."""
    if test in changed:
        return 0
    if any(module in text for module in modules):
        return 1
    folder = str(PurePosixPath(test).parent)
    rooms = {"tests/" + "/".join(module.split(".")[1:-1]) for module in modules}
    return 2 if any(room.startswith(folder) and folder != "tests" for room in rooms) else 3


def choose(
    tests: dict[str, str], changed: set[str], seconds: dict[str, float], budget_s: float
) -> tuple[list[str], list[int]]:
    """Return test files within a budget, the nearest and quickest first, and how many of each rank there are.

    Parameters
    ----------
    tests
        Test files with their texts.
    changed
        Files that changed, relative to the checkout.
    seconds
        How long files took; others count as `AVERAGE_S`.
    budget_s
        Sum of seconds to stay within.
    """
    modules = {name for name in map(module_name, changed) if name}
    ranked = sorted(
        (rank(test, text, changed, modules), seconds.get(test, AVERAGE_S), test) for test, text in tests.items()
    )
    selected: list[str] = []
    counts = [0, 0, 0, 0]
    for near, takes_s, test in ranked:
        if near == 3 and test not in seconds and not test.startswith(_WITHOUT_PROCESSES):
            continue
        if takes_s <= budget_s:
            budget_s -= takes_s
            selected.append(test)
            counts[near] += 1
    return selected, counts


def main() -> None:
    """Print the choice."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--seconds", type=float, default=70.0, help="sum of what the files take; default 70")
    budget_s = arguments.parse_args().seconds
    tests = {
        path.relative_to(ROOT).as_posix(): path.read_text("utf-8")
        for path in sorted((ROOT / "tests").rglob("test_*.py"))
        if not set(path.relative_to(ROOT).parts) & set(_OTHER_STAGES)
    }
    seconds: dict[str, float] = json.loads(SECONDS.read_text("utf-8")) if SECONDS.is_file() else {}
    selected, (itself, naming, room, quick) = choose(tests, set(changed_files()), seconds, budget_s)
    measured = f"{len(seconds)} measured" if seconds else "none measured yet"
    print(
        f"{len(selected)} of {len(tests)} test files ({measured}): {itself} changed, {naming} that name a changed "
        f"module, {room} of changed rooms, {quick} quick ones"
    )
    print("\n".join(selected))


if __name__ == "__main__":
    main()

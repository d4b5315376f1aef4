"""Close a run of scripts/test: stages, skipped tests by reason, and one line of totals in pytest's own form.

The seconds that each file of tests took are kept beside the results for `scripts/fast.py`.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from pathlib import Path
from xml.etree import ElementTree as ET


def outcomes(report: Path) -> dict[str, tuple[str, str]]:
    """Return the outcome of each test in a report of pytest, with the reason where it was skipped."""
    tests: dict[str, tuple[str, str]] = {}
    if not report.exists():
        return tests
    # Written a moment ago by our own pytest.
    for case in ET.parse(report).iter("testcase"):  # noqa: S314
        name = f"{case.get('classname')}::{case.get('name')}"
        skipped = case.find("skipped")
        if case.find("failure") is not None:
            tests[name] = ("failed", "")
        elif case.find("error") is not None:
            tests[name] = ("errors", "")
        elif skipped is not None:
            tests[name] = ("skipped", skipped.get("message") or "no reason given")
        else:
            tests.setdefault(name, ("passed", ""))
    return tests


def seconds_by_file(report: Path) -> dict[str, float]:
    """Return how long the tests of each file took together, by a report of pytest."""
    seconds: Counter[str] = Counter()
    if not report.exists():
        return {}
    for case in ET.parse(report).iter("testcase"):  # noqa: S314 - as above
        # `tests.core.test_a.TestB` is a class in tests/core/test_a.py.
        parts = str(case.get("classname")).split(".")
        end = next((number for number, part in enumerate(parts, 1) if part.startswith("test_")), len(parts))
        seconds["/".join(parts[:end]) + ".py"] += float(case.get("time") or 0)
    return {name: round(took, 2) for name, took in seconds.items()}


def keep_seconds(folder: Path) -> None:
    """Note how long files took in this run; what it did not run keeps its number."""
    path = folder.parent / "seconds.json"
    seconds: dict[str, float] = json.loads(path.read_text("utf-8")) if path.is_file() else {}
    seconds.update(seconds_by_file(folder / "unit.xml"))
    if seconds:
        path.write_text(json.dumps(seconds, indent=1, sort_keys=True) + "\n", "utf-8")


def main(folder: Path, elapsed_s: int | None = None) -> int:
    """Print the summary of the results in a folder; 1 if anything failed.

    Stages can run beside each other, so the whole takes less than they do together; `elapsed_s` says how long.
    """
    out = sys.stdout.write
    failed_stages = 0
    seconds = 0
    out("\n== stages\n")
    for row in (folder / "stages").read_text("utf-8").splitlines():
        name, status, took = row.split("\t")
        failed_stages += status != "0"
        seconds += int(took)
        out(f"{name:10} {'ok' if status == '0' else 'FAILED':7}{took:>4} s\n")
    keep_seconds(folder)
    totals: Counter[str] = Counter()
    reasons: Counter[str] = Counter()
    unsteady: list[str] = []
    for report in sorted(folder.glob("*.xml")):
        if report.stem.endswith("-again"):
            continue
        repeated = outcomes(report.with_stem(f"{report.stem}-again"))
        for name, (outcome, reason) in outcomes(report).items():
            if outcome in {"failed", "errors"} and repeated.get(name, ("", ""))[0] == "passed":
                unsteady.append(name)
                totals["passed"] += 1
                continue
            totals[outcome] += 1
            if outcome == "skipped":
                reasons[reason] += 1
    if unsteady:
        out("\n== unsteady tests: they failed at first, and passed alone\n")
        out("".join(f"{name}\n" for name in unsteady))
    out("\n== skipped tests\n")
    for reason, count in reasons.most_common():
        out(f"{count:4}  {reason}\n")
    if not reasons:
        out("none\n")
    if failed_stages:
        out(f"\n{failed_stages} part(s) of stages failed, see above\n")
    parts = [f"{totals[key]} {key}" for key in ("failed", "passed", "skipped", "errors") if totals[key]]
    out(f"\n===== {', '.join(parts) or 'no tests ran'} in {seconds if elapsed_s is None else elapsed_s:.2f}s =====\n")
    return 1 if failed_stages else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else None))

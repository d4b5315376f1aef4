"""Close a run of scripts/test: stages, skipped tests by reason, and one line of totals in pytest's own form."""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path
from xml.etree import ElementTree as ET


def main(folder: Path) -> int:
    """Print the summary of the results in a folder; 1 if anything failed."""
    out = sys.stdout.write
    failed_stages = 0
    seconds = 0
    out("\n== stages\n")
    for row in (folder / "stages").read_text("utf-8").splitlines():
        name, status, took = row.split("\t")
        failed_stages += status != "0"
        seconds += int(took)
        out(f"{name:10} {'ok' if status == '0' else 'FAILED':7}{took:>4} s\n")
    totals: Counter[str] = Counter()
    reasons: Counter[str] = Counter()
    for report in sorted(folder.glob("*.xml")):
        # Written a moment ago by our own pytest.
        for case in ET.parse(report).iter("testcase"):  # noqa: S314
            skipped = case.find("skipped")
            if skipped is not None:
                totals["skipped"] += 1
                reasons[skipped.get("message") or "no reason given"] += 1
            elif case.find("failure") is not None:
                totals["failed"] += 1
            elif case.find("error") is not None:
                totals["errors"] += 1
            else:
                totals["passed"] += 1
    out("\n== skipped tests\n")
    for reason, count in reasons.most_common():
        out(f"{count:4}  {reason}\n")
    if not reasons:
        out("none\n")
    if failed_stages:
        out(f"\n{failed_stages} part(s) of stages failed, see above\n")
    parts = [f"{totals[key]} {key}" for key in ("failed", "passed", "skipped", "errors") if totals[key]]
    out(f"\n===== {', '.join(parts) or 'no tests ran'} in {seconds:.2f}s =====\n")
    return 1 if failed_stages else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))

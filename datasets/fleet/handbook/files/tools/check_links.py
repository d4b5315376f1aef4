%%born tools
"""Check that links between pages lead somewhere."""

from __future__ import annotations

import re
import sys
from pathlib import Path

LINK = re.compile(r"\]\((?!https?:)([^)#]+)")


def broken_links(page: Path) -> list[str]:
    """Give the links of a page that lead nowhere."""
    return [target for target in LINK.findall(page.read_text("utf-8")) if not (page.parent / target).exists()]


def main() -> int:
    """Check every page below the working folder."""
    failed = 0
    for page in sorted(Path.cwd().rglob("*.md")):
        for target in broken_links(page):
            print(f"{page}: {target}")
            failed += 1
    return min(failed, 1)


if __name__ == "__main__":
    sys.exit(main())

"""The gallery shows the cells of the notebooks as they are."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_the_gallery_has_the_code_of_the_notebooks_and_a_picture_of_each() -> None:
    done = subprocess.run(
        [sys.executable, "scripts/gallery", "--check"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    page = (ROOT / "docs" / "gallery.md").read_text("utf-8")
    assert page.count("![") == 12

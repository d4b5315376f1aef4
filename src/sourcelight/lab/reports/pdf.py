"""The page of a report printed to a PDF by a Chromium of this machine."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from sourcelight.core.errors import MissingExtra, SourcelightError

_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome", "msedge")
_PLACES = (
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
    "/Applications/Chromium.app/Contents/MacOS/Chromium",
    r"C:\Program Files\Google\Chrome\Application\chrome.exe",
    r"C:\Program Files (x86)\Microsoft\Edge\Application\msedge.exe",
)
_LONGEST_S = 120.0


def find_browser() -> str | None:
    """Path of a Chromium; None when there is none."""
    found = next((path for name in _NAMES if (path := shutil.which(name))), None)
    return found or next((place for place in _PLACES if Path(place).exists()), None)


def print_page(html: str, path: str | os.PathLike[str]) -> str:
    """Print a page that needs no network, and give the path of the PDF.

    Raises
    ------
    MissingExtra
        When no Chromium is found.
    SourcelightError
        When it prints nothing; with the end of what it said.
    """
    browser = find_browser()
    if browser is None:
        raise MissingExtra("chromium", f"to_pdf() (looked for {', '.join(_NAMES)} on PATH)")
    target = Path(path).absolute()
    with tempfile.TemporaryDirectory(prefix="sourcelight-") as folder:
        source, made = Path(folder) / "report.html", Path(folder) / "report.pdf"
        source.write_text(html, encoding="utf-8")
        command = [
            browser,
            "--headless",
            "--disable-gpu",
            "--no-first-run",
            "--disable-background-networking",
            "--disable-component-update",
            "--disable-sync",
            "--no-pdf-header-footer",
            f"--user-data-dir={Path(folder) / 'profile'}",
            f"--print-to-pdf={made}",
            source.as_uri(),
        ]
        if hasattr(os, "geteuid") and os.geteuid() == 0:
            command.insert(1, "--no-sandbox")  # Chromium refuses to run as root with its sandbox; the page runs nothing
        try:
            run = subprocess.run(command, capture_output=True, timeout=_LONGEST_S, check=False)
        except subprocess.TimeoutExpired as fault:
            raise SourcelightError(f"{browser} printed nothing within {_LONGEST_S:.0f} s") from fault
        if not made.exists():
            said = run.stderr.decode("utf-8", "replace").strip()[-400:]
            raise SourcelightError(f"{browser} printed nothing (status {run.returncode}): {said}")
        target.parent.mkdir(parents=True, exist_ok=True)
        beside = target.with_name(f".{target.name}.part")
        shutil.copyfile(made, beside)
        beside.replace(target)
    return str(target)

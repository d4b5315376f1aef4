"""Print a page to a PDF with a Chromium of this machine, which needs no Python package."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from sourcelight.core.errors import MissingExtra, SourcelightError

_BROWSER_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome", "msedge")
"""Names of the program on PATH, by distribution."""

_BROWSER_PATHS = (
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
    "/Applications/Chromium.app/Contents/MacOS/Chromium",
    r"C:\Program Files\Google\Chrome\Application\chrome.exe",
    r"C:\Program Files (x86)\Microsoft\Edge\Application\msedge.exe",
)
"""Paths of the program on macOS and Windows, whose installers don't add it to PATH."""

_PRINT_TIMEOUT_S = 120.0
"""A report takes seconds; a browser that waits for something never ends."""

_MAX_MESSAGE_CHARS = 400
"""Characters of the browser's output in an error: its end says why it failed."""


def print_page(html: str, path: str | os.PathLike[str]) -> str:
    """Print a page that needs no network, and return the path of the PDF.

    Raises
    ------
    MissingExtra
        No Chromium is installed.
    SourcelightError
        Chromium wrote no file; the message has the end of its output.
    """
    browser = find_browser()
    if browser is None:
        raise MissingExtra("chromium", f"to_pdf() (looked for {', '.join(_BROWSER_NAMES)} on PATH)")

    target = Path(path).absolute()
    with tempfile.TemporaryDirectory(prefix="sourcelight-") as directory:
        page = Path(directory) / "report.html"
        pdf = Path(directory) / "report.pdf"
        page.write_text(html, encoding="utf-8")
        _run_browser(browser, page, pdf, profile=Path(directory) / "profile")

        # Renamed at last, so that nobody reads half a file.
        target.parent.mkdir(parents=True, exist_ok=True)
        partial = target.with_name(f".{target.name}.part")
        shutil.copyfile(pdf, partial)
        partial.replace(target)

    return str(target)


def find_browser() -> str | None:
    """Return the path of an installed Chromium, or None if there is none."""
    for name in _BROWSER_NAMES:
        path = shutil.which(name)
        if path is not None:
            return path

    for path in _BROWSER_PATHS:
        if Path(path).exists():
            return path

    return None


def _run_browser(browser: str, page: Path, pdf: Path, *, profile: Path) -> None:
    """Print `page` to `pdf`; raises `SourcelightError` if the browser wrote no file."""
    command = [
        browser,
        "--headless",
        "--disable-gpu",
        "--no-first-run",
        "--disable-background-networking",
        "--disable-component-update",
        "--disable-sync",
        "--no-pdf-header-footer",
        f"--user-data-dir={profile}",
        f"--print-to-pdf={pdf}",
        page.as_uri(),
    ]
    if hasattr(os, "geteuid") and os.geteuid() == 0:
        # Chromium refuses to run as root with its sandbox; the page runs nothing.
        command.insert(1, "--no-sandbox")

    try:
        run = subprocess.run(command, capture_output=True, timeout=_PRINT_TIMEOUT_S, check=False)
    except subprocess.TimeoutExpired as exc:
        raise SourcelightError(
            f"{browser} wrote no PDF within {_PRINT_TIMEOUT_S:.0f} s; retry, or write HTML instead"
        ) from exc

    if not pdf.exists():
        message = run.stderr.decode("utf-8", "replace").strip()[-_MAX_MESSAGE_CHARS:]
        raise SourcelightError(f"{browser} wrote no PDF (status {run.returncode}): {message}")

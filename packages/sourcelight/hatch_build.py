"""Copies version and extras of `sourcelight-core` into the metadata of `sourcelight`."""

from __future__ import annotations

import re
import tomllib
from email.parser import HeaderParser
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

CORE = "sourcelight-core"
NOTEBOOK = "notebook"
_OURS_ALONE = frozenset({"dev", "docs", "release", NOTEBOOK})
"""Extras of the core that `sourcelight` doesn't offer: those for work on it, and the one that it always has."""


def core_facts(folder: Path) -> tuple[str, list[str]]:
    """Return version and extras: of the checkout around `folder`, or of the source distribution that it is."""
    written = folder / "PKG-INFO"
    if written.is_file():
        headers = HeaderParser().parsestr(written.read_text("utf-8"))
        return str(headers["Version"]), sorted(headers.get_all("Provides-Extra") or [])
    root = folder.parents[1]
    version = re.search(
        r'^__version__ = "([^"]+)"$', (root / "src/sourcelight/__init__.py").read_text("utf-8"), re.MULTILINE
    )
    if version is None:
        raise ValueError("src/sourcelight/__init__.py has no __version__")
    project = tomllib.loads((root / "pyproject.toml").read_text("utf-8"))["project"]
    return version[1], sorted(set(project["optional-dependencies"]) - _OURS_ALONE)


class CoreMetadata(MetadataHookInterface):
    """Gives `sourcelight` the version of the core, and dependencies on that version alone."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Fill in what `dynamic` names."""
        version, extras = core_facts(Path(self.root))
        metadata["version"] = version
        metadata["dependencies"] = [f"{CORE}[{NOTEBOOK}]=={version}"]
        metadata["optional-dependencies"] = {extra: [f"{CORE}[{extra}]=={version}"] for extra in extras}

"""What tests of the execution share: an engine over the repositories of a module."""

from __future__ import annotations

from pathlib import Path

import pytest

from sourcelight.backends.embedded import open_engine
from sourcelight.engines.execution import LocalEngine


@pytest.fixture(scope="module")
def engine(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> LocalEngine:
    """An engine over the repositories in the `folder` of a module."""
    return open_engine([folder], index=tmp_path_factory.mktemp("index"))

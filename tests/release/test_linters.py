"""Workflows and the image, judged by the linters of their makers."""

from __future__ import annotations

import os
import shutil

import pytest

from release.conftest import ROOT, run, tool


def test_workflows_pass_their_linter() -> None:
    linter = os.environ.get("ACTIONLINT") or shutil.which("actionlint")
    if linter is None:
        pytest.skip("there is no actionlint, and no Go to install it")
    assert run(linter, *sorted((ROOT / ".github" / "workflows").glob("*.yml"))) == ""


def test_the_image_passes_its_linter() -> None:
    assert run(tool("hadolint"), ROOT / "deploy" / "Dockerfile") == ""

"""`benchmarks/figures.py` on the sample fleet: every figure of both reports and of the analyses is git's."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
SCRIPT = ROOT / "benchmarks" / "figures.py"


@pytest.mark.timeout(300)
def test_every_figure_is_that_of_git(fleet: Path, tmp_path: Path) -> None:
    repositories = sorted(path.parent for path in fleet.rglob(".git"))
    assert len(repositories) >= 5
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "SOURCELIGHT_PROGRESS": "off"}
    command = [sys.executable, str(SCRIPT), *map(str, repositories), "--index", str(tmp_path / "index")]
    run = subprocess.run(command, capture_output=True, text=True, timeout=280, env=environment, check=False)
    assert run.returncode == 0, run.stdout[-4000:] + run.stderr[-2000:]
    assert "0 differ" in run.stdout.splitlines()[-1]


@pytest.mark.parametrize("module", ["git_figures", "git_files", "git_history"])
def test_the_figures_of_git_know_nothing_of_ours(module: str) -> None:
    tree = ast.parse((SCRIPT.parent / f"{module}.py").read_text("utf-8"))
    imported = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    imported |= {node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    local_modules = {"git_files", "git_history"}
    assert {name.partition(".")[0] for name in imported} <= set(sys.stdlib_module_names) | local_modules

"""What a service tells two users with different permissions, and nobody: a short run of the long comparison."""

from __future__ import annotations

from pathlib import Path

import pytest

from oracles.viewers import run


@pytest.mark.timeout(300)
def test_no_answer_tells_of_a_hidden_repository(tmp_path: Path) -> None:
    """The same requests at a service that holds only what the viewer may see have the same answers."""
    assert run(tmp_path, seed=5, repositories=8, cases=200) == []

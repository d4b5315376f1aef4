"""Fixtures for the commands."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from sourcelight.cli import main

Run = Callable[..., tuple[int, str, str]]
"""Runs a command in this process; returns its status, output and errors."""


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    def start(*arguments: object) -> tuple[int, str, str]:
        status = main([str(argument) for argument in arguments])
        captured = capsys.readouterr()
        return status, captured.out, captured.err

    return start

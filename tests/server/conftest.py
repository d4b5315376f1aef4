"""Starts services for tests and stops them afterwards."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import pytest

from server.running_service import Serve, Service, running
from sourcelight.server.http.settings import Settings


@pytest.fixture
def serve() -> Iterator[Serve]:
    with contextlib.ExitStack() as stack:

        def start(engine: Any, settings: Settings | None = None, **options: Any) -> Service:
            return stack.enter_context(running(engine, settings, **options))

        yield start

"""Workers sort fast also on processors where numpy's widest instructions are slow."""

from __future__ import annotations

import os
import subprocess
import sys

from sourcelight.engines.storage.worker_pool import DISABLED_FEATURES, numpy_options, sort_ns

_SORT = "from sourcelight.engines.storage.worker_pool import sort_ns; print(min(sort_ns() for _ in range(5)))"
_OPTIONS = "from sourcelight.engines.storage.worker_pool import numpy_options; print(numpy_options())"


def output_of(code: str, options: dict[str, str]) -> str:
    environment = {**os.environ, **options}
    return subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True, timeout=60
    ).stdout.strip()


def test_a_worker_sorts_no_slower_than_this_process() -> None:
    local_ns = min(sort_ns() for _ in range(5))
    options = numpy_options()
    worker_ns = float(output_of(_SORT, options))
    # Twice as fast if something was changed; else within the noise of a busy machine.
    assert worker_ns < (local_ns / 2 if options else local_ns * 2)


def test_a_choice_of_the_user_stays() -> None:
    assert output_of(_OPTIONS, {DISABLED_FEATURES: "AVX512_SPR"}) == "{}"

"""Searching beside a damaged index: its repository is named as failed, and the others are searched without it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from sourcelight.core.errors import IndexDamaged
from sourcelight.engines.search.model import SearchPart, Target

Run = Callable[[Sequence[Target]], Iterator[SearchPart]]


def without_damaged(run: Run, targets: Sequence[Target], note: Callable[[IndexDamaged], str]) -> Iterator[SearchPart]:
    """Search targets, and those whose index is whole once more where another one turns out to be damaged.

    Parameters
    ----------
    run
        Searches targets; may raise `IndexDamaged` at any point.
    targets
        What to search.
    note
        Takes the fault, so that the index is built anew, and gives the key of its repository.

    Yields
    ------
    SearchPart
        What `run` gives, and the targets that failed. Once matches were given the rest can't be searched again, since
        their rows might come twice: those targets fail as well, and say so.
    """
    while True:
        ended: set[str] = set()
        matched = False
        try:
            for part in run(targets):
                ended.update(part.repositories_done, part.failed)
                matched = matched or bool(part.batches)
                yield part
        except IndexDamaged as fault:
            key, reason = note(fault), fault.reason
        else:
            return
        waiting = [target for target in targets if target.repository.name not in ended]
        damaged = [target for target in waiting if target.repository.key == key]
        others = [target for target in waiting if target.repository.key != key]
        failed = {target.repository.name: f"its index is damaged ({reason}); ask again" for target in damaged}
        if matched or not damaged:
            failed |= {t.repository.name: "it was searched beside a damaged index; ask again" for t in others}
            others = []
        yield SearchPart(failed=failed)
        if not others:
            return
        targets = others

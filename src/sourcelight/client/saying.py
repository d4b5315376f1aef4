"""Tells a person something while work waits for that person: by the thread that called."""

from __future__ import annotations

import sys

from sourcelight.client.portal import current_board


class _Sentence:
    """Something to be drawn once."""

    def __init__(self, text: str) -> None:
        self._text = text

    def paint(self) -> None:
        """Write it, the first time."""
        text, self._text = self._text, ""
        if text:
            sys.stdout.write(f"{text}\n")
            sys.stdout.flush()

    def finish(self) -> None:
        """Write it, if nobody has."""
        self.paint()

    def interrupt(self) -> None:
        """Nothing: there is no state to mark."""


def say(address: str) -> None:
    """Show the address to open, below the cell or on the terminal."""
    sentence, board = _Sentence(f"Open this address to sign in:\n{address}"), current_board()
    if board is None:
        sentence.paint()
    else:
        board.add(sentence)

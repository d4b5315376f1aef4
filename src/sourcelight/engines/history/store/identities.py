"""Identities of the people of a history: those of all segments, mapped by the mailmap, joined to persons.

An *identity* is a name and an address as a commit has them. A mailmap gives it the name and the address that are meant,
and identities with the same ones are one *person*::

    identity in commits              mapped                          person
    Ada <ada@home>                   Ada Byron <ada@work>            0
    Ada Byron <ada@work>             Ada Byron <ada@work>            0
    Bob <bob@work>                   Bob <bob@work>                  1
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np

from sourcelight.core.arrays import AnyArray
from sourcelight.core.cancellation import Cancellation
from sourcelight.core.errors import GitFailed
from sourcelight.engines.history.git import git_chunks
from sourcelight.engines.history.history import Identities
from sourcelight.engines.history.segment import Segment
from sourcelight.repos.objects.commits import as_text, split_identity

Identity: TypeAlias = tuple[bytes, bytes]
"""Name and address as a commit has them; either may be empty."""


def merge_identities(segments: Sequence[Segment]) -> tuple[list[Identity], list[AnyArray]]:
    """Return the distinct identities of all segments, and for each segment the numbers of its identities."""
    identity_numbers: dict[Identity, int] = {}
    numbers_of_segments = []
    for segment in segments:
        numbers = [identity_numbers.setdefault(identity, len(identity_numbers)) for identity in segment.identities]
        numbers_of_segments.append(np.array(numbers, np.int32))

    return list(identity_numbers), numbers_of_segments


def identity_texts(identities: Sequence[Identity]) -> list[bytes]:
    """Return identities as git writes them: ``Name <address>``."""
    texts = []
    for name, email in identities:
        # `git check-mailmap` doesn't take a text that begins with a space for a contact.
        texts.append(b"%b <%b>" % (name, email) if name else b"<%b>" % email)
    return texts


def make_identities(identities: Sequence[Identity], mapped: Sequence[bytes]) -> Identities:
    """Return the table of `identities`; `mapped` has the text of each after the mailmap, in the same order."""
    mapped_pairs = [_split(text) for text in mapped]

    # Equal mapped pairs get one number, in the order of first use. That is the person; names and addresses stay
    # identities.
    person_numbers: dict[tuple[str, str], int] = {}
    person = np.array([person_numbers.setdefault(pair, len(person_numbers)) for pair in mapped_pairs], np.int32)
    return Identities(
        names=[as_text(name) for name, _ in identities],
        emails=[as_text(email) for _, email in identities],
        mapped_names=[name for name, _ in mapped_pairs],
        mapped_emails=[email for _, email in mapped_pairs],
        person=person,
        person_names=[name for name, _ in person_numbers],
        person_emails=[email for _, email in person_numbers],
    )


def _split(text: bytes) -> tuple[str, str]:
    name, email = split_identity(text)
    return as_text(name), as_text(email)


def map_identities(
    git_dir: str, mailmap: str, identities: Sequence[Identity], cancellation: Cancellation | None = None
) -> list[bytes]:
    """Map identities by a mailmap, and return ``Name <address>`` for each.

    Parameters
    ----------
    git_dir
        The git directory.
    mailmap
        Id of the blob of the mailmap; empty for a repository without one.
    identities
        Those to map. One that git doesn't take for a contact stays as written.
    cancellation
        Raises `Cancelled` when stopped.
    """
    texts = identity_texts(identities)
    if not mailmap:
        return texts

    mapped: list[bytes] = []
    while len(mapped) < len(texts):
        lines, is_refused = _check_mailmap(git_dir, mailmap, texts[len(mapped) :], cancellation)
        mapped += lines
        if is_refused:
            # git ends at the first line that it doesn't take for a contact. What it wrote so far counts, that contact
            # stays as written, and git starts again behind it.
            mapped += texts[len(mapped) : len(mapped) + 1]
        elif not lines:
            # Without an error and without an answer, git would be asked the same for ever.
            break

    return mapped + texts[len(mapped) :]


def _check_mailmap(
    git_dir: str, mailmap: str, texts: Sequence[bytes], cancellation: Cancellation | None
) -> tuple[list[bytes], bool]:
    """Return the lines that git wrote for some identities, and whether it refused the one behind the last."""
    # With an explicit mailmap, git reads none from a work tree.
    arguments = ["-c", f"mailmap.blob={mailmap}", "check-mailmap", "--stdin"]
    stdin = b"".join(text + b"\n" for text in texts)
    output = bytearray()
    is_refused = False
    try:
        for chunk in git_chunks(git_dir, arguments, stdin=stdin, cancellation=cancellation):
            output += chunk
    except GitFailed:
        is_refused = True

    return bytes(output).split(b"\n")[:-1], is_refused

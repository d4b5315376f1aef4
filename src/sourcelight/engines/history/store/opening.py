"""From a manifest and its files to a history."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from sourcelight.engines.history.snapshot import History, Identities
from sourcelight.engines.history.store.folder import Manifest
from sourcelight.engines.history.store.segment import Segment
from sourcelight.engines.storage.sections import Array, SectionFile
from sourcelight.repos.raw_commits import as_text, split_identity


def open_history(folder: Path, manifest: Manifest, shallow: str = "", known: Sequence[Segment] = ()) -> History:
    """Open what a manifest names; segments in `known` are used again. Raises `IndexDamaged`, FileNotFoundError."""
    at_hand = {segment.file.path.name: segment for segment in known}
    segments = tuple(at_hand.get(entry.name) or Segment(folder / entry.name) for entry in manifest.segments)
    people, numbers = united_people(segments)
    mapped = people_texts(people)
    if manifest.people:
        raw = SectionFile(folder / manifest.people, "history").bytes_of("people")
        mapped = bytes(raw).split(b"\n")[:-1]
    return History(
        repository=manifest.repository,
        tips=dict(manifest.tips),
        segments=segments,
        identities=_identities(people, mapped),
        identity_numbers=numbers,
        mailmap=manifest.mailmap,
        shallow=shallow,
    )


def united_people(segments: Sequence[Segment]) -> tuple[list[tuple[bytes, bytes]], list[Array]]:
    """Names and addresses of all segments, each once, and for each segment the number of each of its own."""
    known: dict[tuple[bytes, bytes], int] = {}
    numbers = [
        np.array([known.setdefault(person, len(known)) for person in segment.identities], np.int32)
        for segment in segments
    ]
    return list(known), numbers


def people_texts(people: Sequence[tuple[bytes, bytes]]) -> list[bytes]:
    """People in git's words: ``Name <address>``."""
    return [b"%b <%b>" % person if person[0] else b"<%b>" % person[1] for person in people]


def _identities(people: Sequence[tuple[bytes, bytes]], mapped: Sequence[bytes]) -> Identities:
    split = [_split(text) for text in mapped]
    numbers: dict[tuple[str, str], int] = {}
    person = np.array([numbers.setdefault(pair, len(numbers)) for pair in split], np.int32)
    return Identities(
        names=[as_text(name) for name, _ in people],
        emails=[as_text(email) for _, email in people],
        mapped_names=[name for name, _ in split],
        mapped_emails=[email for _, email in split],
        person=person,
        person_names=[name for name, _ in numbers],
        person_emails=[email for _, email in numbers],
    )


def _split(text: bytes) -> tuple[str, str]:
    name, email = split_identity(text)
    return as_text(name), as_text(email)

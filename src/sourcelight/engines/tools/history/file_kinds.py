"""Kinds of the files of a repository: from its attributes, from paths, and from the contents of one commit."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from sourcelight.core.arrays import BoolArray, Int64Array
from sourcelight.core.cancellation import Cancellation
from sourcelight.core.notices import Rule
from sourcelight.core.query.attributes import Attributes
from sourcelight.core.query.file_kinds import ATTRIBUTES, FILE_KINDS, SOURCE, kind_of_content, kind_of_path
from sourcelight.engines.tools.context import ToolContext
from sourcelight.engines.tools.history.histories import OpenedHistory
from sourcelight.repos import ObjectReader

MAX_ATTRIBUTE_BYTES = 1 << 20
"""Bytes of a ``.gitattributes`` above which it is passed over."""

MAX_MARKED_BYTES = 1 << 20
"""Bytes of a file above which its content is not looked at for a mark of a generator."""

_ATTRIBUTE_FILE = b".gitattributes"


class FileKinds:
    """The kinds of files by path, as the newest commit of a call has their attributes and contents.

    Parameters
    ----------
    selection
        A repository's history; its first commit decides.
    """

    def __init__(self, selection: OpenedHistory) -> None:
        self._repository = selection.repository
        self._kinds: dict[bytes, str] = {}
        with ObjectReader(selection.repository) as reader:
            tree = reader.tree(selection.commits[0])
            files = []
            for index, path in enumerate(tree.paths):
                if path == _ATTRIBUTE_FILE or path.endswith(b"/" + _ATTRIBUTE_FILE):
                    data = reader.read(tree.blob_id(index), MAX_ATTRIBUTE_BYTES)
                    if data is not None:
                        directory = path.removesuffix(_ATTRIBUTE_FILE).decode("utf-8", "replace")
                        files.append((directory, data.decode("utf-8", "replace")))

        self._blobs = {path: tree.blob_id(index) for index, path in enumerate(tree.paths)}
        self._attributes = Attributes(files, ATTRIBUTES)

    def of(self, paths: Iterable[bytes], cancellation: Cancellation) -> list[str]:
        """Return the kind of each path, one of `FILE_KINDS`; checks `cancellation` before each content."""
        with ObjectReader(self._repository) as reader:
            return [self._of(path, reader, cancellation) for path in paths]

    def _of(self, path: bytes, reader: ObjectReader, cancellation: Cancellation) -> str:
        kind = self._kinds.get(path)
        if kind is None:
            text = path.decode("utf-8", "replace")
            attributes = self._attributes.of(text) if self._attributes else {}
            kind = kind_of_path(text, attributes)
            blob = self._blobs.get(path)

            # An attribute "not generated" wins.
            if kind == SOURCE and blob is not None and "linguist-generated" not in attributes:
                cancellation.check()
                data = reader.read(blob, MAX_MARKED_BYTES)
                kind = kind if data is None else kind_of_content(text, data)

            self._kinds[path] = kind

        return kind


def kinds_of(selection: OpenedHistory, paths: Iterable[bytes], context: ToolContext) -> list[str]:
    """Return the kind of each path of a repository; cached as long as its snapshot."""
    file_kinds = selection.history.remember(f"file kinds of {selection.commits[0]}", lambda: FileKinds(selection))
    return file_kinds.of(paths, context.cancellation)


def selected_kinds(kinds: Sequence[str] | None) -> frozenset[str] | None:
    """Return the kinds of files that a call is about; None: all."""
    return None if not kinds or set(kinds) >= set(FILE_KINDS) else frozenset(kinds)


def are_of_kinds(
    selection: OpenedHistory,
    names: Sequence[bytes],
    paths: Int64Array,
    file_kinds: Sequence[str] | None,
    context: ToolContext,
) -> BoolArray:
    """Return, for indices of `names`, whether these paths are of the requested kinds."""
    kinds = selected_kinds(file_kinds)
    if kinds is None:
        return np.ones(len(paths), np.bool_)
    distinct, which = np.unique(paths, return_inverse=True)
    path_kinds = kinds_of(selection, (names[index] for index in distinct.tolist()), context)
    mask: BoolArray = np.array([kind in kinds for kind in path_kinds] or [False], np.bool_)[which]
    return mask


def kind_notices(file_kinds: Sequence[str] | None, remark: str = "") -> list[Rule]:
    """Return a notice on files that are left out by their kind, with a remark behind it."""
    kinds = selected_kinds(file_kinds)
    if kinds is None:
        return []
    names = ", ".join(kind for kind in FILE_KINDS if kind in kinds)
    return [Rule(f"Only files of these kinds are counted: {names}.{remark}", "file kinds")]

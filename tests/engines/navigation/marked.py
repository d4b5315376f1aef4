"""Names marked with § in lines of sources, and what a resolver says of them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from sourcelight.engines.navigation import Navigator, ResolvedDefinition, Workspace
from sourcelight.engines.navigation.languages import resolver_of
from sourcelight.engines.search import IndexStore, Target
from sourcelight.repos import Catalog, Viewer
from sourcelight.testing import RepositoryBuilder


def offset(text: bytes, marked_text: str) -> int:
    """Where the marked name stands in a text that holds the line."""
    before, _, after = marked_text.partition("§")
    return text.index((before + after).encode()) + len(before.encode())


class Marked:
    """Repositories made of sources by name and path.

    Parameters
    ----------
    folder
        Empty folder for repositories and index.
    repositories
        Text by path, by name of the repository.
    """

    def __init__(self, folder: Path, repositories: Mapping[str, Mapping[str, str]]) -> None:
        for name, files in repositories.items():
            RepositoryBuilder(folder / name).commit(dict(files), "begin")
        catalog = Catalog.open([str(folder)])
        store = IndexStore(str(folder / "index"), workers=1)
        store.update([Target(r, "", r.info.commit) for r in catalog.repositories])
        self.workspace: Workspace = Navigator(catalog, store).workspace(Viewer.owner())

    def ask(self, repository: str, path: str, marked_text: str) -> list[ResolvedDefinition]:
        """Definitions of the marked name."""
        document = self.workspace.project(repository).document(path.encode())
        assert document is not None
        resolver = resolver_of(document.language)
        assert resolver is not None
        parsed = self.workspace.parsed_file(document)
        assert parsed is not None
        occurrence = resolver.occurrence_at(parsed, offset(document.text, marked_text))
        assert occurrence is not None
        return list(resolver.resolve(document, occurrence, self.workspace))

"""Names of languages by the ends of paths, as fences of Markdown and highlighting have them."""

from __future__ import annotations

_FENCE_NAMES = {
    "py": "python", "pyi": "python", "js": "javascript", "ts": "typescript", "rb": "ruby", "rs": "rust", "go": "go",
    "c": "c", "h": "c", "cc": "cpp", "cpp": "cpp", "hpp": "cpp", "java": "java", "kt": "kotlin", "scala": "scala",
    "cs": "csharp", "php": "php", "sh": "bash", "md": "markdown", "rst": "rst", "json": "json", "yml": "yaml",
    "yaml": "yaml", "toml": "toml", "jsx": "jsx", "tsx": "tsx", "sql": "sql", "html": "html", "css": "css",
}  # fmt: skip


def fence_name(path: str) -> str:
    """Return the name of a file's language; empty if unknown."""
    return _FENCE_NAMES.get(path.rpartition("/")[2].rpartition(".")[2].lower(), "")

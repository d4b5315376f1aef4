"""What the site has beside docs/: the notebooks with their outputs, and the pages at the top of the repository.

Links of pages go as they do in the repository; those that leave docs/ are turned to the pages made here.
"""

from __future__ import annotations

import base64
import html
import os
import re
from pathlib import Path
from typing import Any

import nbformat
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).resolve().parent.parent
PAGES = {"CONTRIBUTING.md": "contributing.md", "CHANGELOG.md": "changelog.md"}
_LINK = re.compile(r"(\]\()([^)#\s]+)([^)]*\))")
_COLOURS = re.compile(r"\x1b\[[0-9;]*m")
_OUTPUTS: dict[str, list[str]] = {}


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Give the pages a menu of versions where `scripts/site --releases` makes the list that it reads."""
    if os.environ.get("SITE_VERSIONS"):
        config.extra["version"] = {"provider": "mike"}  # the form of the list, by the theme's name for it
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages that are made from files beside docs/."""
    for name, page in PAGES.items():
        text = (ROOT / name).read_text(encoding="utf-8")
        files.append(File.generated(config, page, content=_LINK.sub(_from_top, text)))
    for path in sorted((ROOT / "notebooks").glob("*.ipynb")):
        text, pictures = notebook_page(path)
        files.append(File.generated(config, f"notebooks/{path.stem}.md", content=text))
        for name, picture in pictures.items():
            files.append(File.generated(config, f"notebooks/{name}", content=picture))
    return files


def on_page_markdown(markdown: str, page: Page, **_: Any) -> str:
    """Turn links that leave docs/ to the pages made here."""
    up = "../" * page.file.src_uri.count("/")
    for name, target in PAGES.items():
        markdown = markdown.replace(f"]({up}../{name}", f"]({up}{target}")
    return re.sub(rf"\]\({re.escape(up)}\.\./notebooks/([\w-]+)\.ipynb", rf"]({up}notebooks/\1.md", markdown)


def on_page_content(content: str, page: Page, **_: Any) -> str:
    """Put stored outputs of notebooks where their places are."""
    for number, output in enumerate(_OUTPUTS.get(page.file.src_uri, [])):
        content = content.replace(f"<p>{_place(number)}</p>", output)
    return content


def notebook_page(path: Path) -> tuple[str, dict[str, bytes]]:
    """Return the Markdown of a notebook, and its pictures by name; HTML waits in `_OUTPUTS`."""
    notebook = nbformat.read(path, as_version=4)
    outputs = _OUTPUTS[f"notebooks/{path.stem}.md"] = []
    pictures: dict[str, bytes] = {}
    parts = []
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            parts.append(re.sub(r"\]\(([\w-]+)\.ipynb\)", r"](\1.md)", cell.source))
            continue
        parts.append(f"```python\n{cell.source}\n```")
        for output in cell.outputs:
            data = output.get("data", {})
            if "application/vnd.jupyter.widget-view+json" in data:
                continue
            if "image/png" in data:
                name = f"{path.stem}-{len(pictures) + 1}.png"
                pictures[name] = base64.b64decode(data["image/png"])
                displayed = f'<img src="{name}" alt="{html.escape(_about(notebook, cell))}">'
            elif "text/html" in data:
                displayed = str(data["text/html"])
            else:
                text = str(output.get("text") or data.get("text/plain", ""))
                displayed = f"<pre>{html.escape(_COLOURS.sub('', text))}</pre>"
            parts.append(_place(len(outputs)))
            outputs.append(f'<div class="output" tabindex="0" role="group" aria-label="Output">{displayed}</div>')
    return "\n\n".join(parts) + "\n", pictures


def _about(notebook: nbformat.NotebookNode, cell: nbformat.NotebookNode) -> str:
    """Return the last heading above a cell."""
    heading = "Figure"
    for item in notebook.cells:
        if item is cell:
            break
        heading = next((line.lstrip("# ") for line in item.source.splitlines() if line.startswith("#")), heading)
    return f"Figure: {heading}"


def _place(number: int) -> str:
    return f"output-{number}-goes-here"


def _from_top(link: re.Match[str]) -> str:
    """Return a link of a page at the top of the repository as docs/ has it."""
    before, target, after = link.groups()
    return f"{before}{target.removeprefix('docs/')}{after}"

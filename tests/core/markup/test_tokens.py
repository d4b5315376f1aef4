"""The estimate of tokens against two real vocabularies."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest

from sourcelight.core.markup.counts import estimate_tokens
from sourcelight.testing.repositories import RepositoryBuilder

HERE = Path(__file__).resolve().parents[3]


def _texts(folder: Path) -> dict[str, str]:
    builder = RepositoryBuilder(folder / "one")
    source = sorted((HERE / "src/sourcelight/engines/tools").glob("*.py"))
    for number, path in enumerate(source):
        builder.commit({f"src/{path.name}": path.read_bytes()}, f"change {number}")
    return {
        "source": "\n".join(path.read_text("utf-8") for path in source),
        "prose": (HERE / "CHANGELOG.md").read_text("utf-8"),
        "tables": (HERE / "docs/mcp-tools.md").read_text("utf-8"),
        "settings": (HERE / "pyproject.toml").read_text("utf-8"),
        "paths": "\n".join(str(path.relative_to(HERE)) for path in sorted((HERE / "src").rglob("*.py"))),
        "changes": builder.git("log", "-p", "--format=%H %an%n%s"),
        "commits": "\n".join(hashlib.sha1(bytes([n])).hexdigest() for n in range(200)),  # noqa: S324 - as git's
        "json": json.dumps([{"repo": "github.com/owner/name", "line": n, "how": "import"} for n in range(300)]),
        "numbered": "".join(f"{n}: {line}\n" for n, line in enumerate(source[0].read_text("utf-8").split("\n"), 1)),
        "german": "Die Größe der Datei überschreitet die zulässige Länge, darum wird sie gekürzt.\n" * 40,
        "chinese": "這是一個測試文件的中文說明 \n" * 40,
        "emoji": "😀🎉🚀 " * 100,
    }


@pytest.mark.parametrize("vocabulary", ["cl100k_base", "o200k_base"])
def test_it_is_seldom_too_low_and_never_twice_too_high(tmp_path: Path, vocabulary: str) -> None:
    # Not at the top: it reads its vocabularies when it is imported, a second in each process that collects tests.
    bpe = pytest.importorskip("bpe_openai", reason="bpe-openai has no wheel for Intel Macs")
    encoding = bpe.get_encoding(vocabulary)
    ratios = {name: estimate_tokens(text) / len(encoding.encode(text)) for name, text in _texts(tmp_path).items()}
    foreign = {"german", "chinese", "emoji"}
    assert {name: ratio for name, ratio in ratios.items() if name not in foreign and not 0.9 <= ratio <= 1.4} == {}
    assert {name: ratio for name, ratio in ratios.items() if name in foreign and not 0.8 <= ratio <= 3} == {}


def test_it_adds_up_for_lines() -> None:
    lines = ["def light(self) -> str:\n", "    return 'lighthouse'\n"] * 50
    total, parts = estimate_tokens("".join(lines)), sum(map(estimate_tokens, lines))
    assert abs(total - parts) <= len(lines)
    assert estimate_tokens("") == 0

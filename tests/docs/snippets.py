"""Blocks of code in pages: found, and run as they stand on the sample repositories and a service over them.

What pages call ``https://host`` is that service, and ``…`` in place of a token is a token of it. One page is one
session: its blocks share names, folder, home and environment.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import shlex
import subprocess
import sys
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sourcelight.cli import main

ROOT = Path(__file__).resolve().parent.parent.parent
PAGES = sorted([ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md")])
PLAIN = frozenset({"text", "ini", "nginx", "markdown"})
"""Languages of blocks that are only read."""

NOT_RUN: Mapping[str, str] = {
    r"git clone <this repository>.*": "needs the network; CI runs in such a clone",
    r"scripts/demo\b.*": "stage demo of scripts/test",
    r"scripts/(test|site|notebooks)\b.*": "runs these tests itself",
    r"python3 -m venv \.venv|\. \.venv/bin/activate": "what these tests run in was made so",
    r"pip install .*": "installs from the network; that its extras exist is checked",
    r"sourcelight lab\b.*": "opens a browser; tests/cli has its parts, tests/browser JupyterLab",
    r"npx mcp-remote .*": "needs Node; stage clients of scripts/test",
    r"dask scheduler .*|(for n in 1 2 3; do )?sourcelight worker .*|sourcelight (index|serve) .*--cluster .*": (
        "needs a scheduler and workers; tests/backends/cluster starts them"
    ),
}
"""Commands that are not run as they stand, with what stands for them."""

REFUSED: Mapping[str, str] = {
    "sourcelight admin oauth-client revoke-grant 4": "OAuth grant 4 doesn't exist",
}
"""Commands that need what only a person at a browser makes: they are run to the refusal that says so."""


@dataclass(frozen=True)
class Snippet:
    """A block of a page: its language, its text, and the line that it begins in."""

    language: str
    text: str
    line: int


def snippets(page: Path) -> Iterator[Snippet]:
    """The fenced blocks of a page."""
    text = page.read_text(encoding="utf-8")
    for fence in re.finditer(r"^( *)```([^\n`]*)\n(.*?)^\1```$", text, re.MULTILINE | re.DOTALL):
        yield Snippet(fence[2].strip(), fence[3], text.count("\n", 0, fence.start()) + 2)


def commands(snippet: Snippet) -> Iterator[str]:
    """The commands of a block, one a line, continued ones joined; of a session those after ``$``."""
    merged = re.sub(r"\\\n\s*", "", snippet.text)
    for line in merged.splitlines():
        if snippet.language == "sh" and line.strip():
            yield line.strip()
        elif snippet.language == "console" and line.startswith("$ "):
            yield line[2:].strip()


@dataclass
class Session:
    """What the blocks of one page run in.

    Parameters
    ----------
    folder
        Where files are written.
    home
        The user's folder: ``src``, ``samples`` and ``mirrors`` are there.
    replaced
        What stands in pages, and what it is here.
    names
        Of Python.
    counted
        Numbers of blocks and commands, by what became of them.
    interactive
        The shell of IPython, once a block needs one.
    """

    folder: Path
    home: Path
    replaced: dict[str, str]
    names: dict[str, Any]
    environment: dict[str, str] = field(default_factory=dict)
    counts: dict[str, int] = field(default_factory=dict)
    interactive: Any = None

    def run(self, page: Path, snippet: Snippet) -> None:
        """Run a block, or check it where it is data; any fault says where the block is."""
        location = f"{page.relative_to(ROOT)}:{snippet.line}"
        match snippet.language:
            case "python" if page.name == "cluster.md":
                self.count("run by tests/backends/cluster, where a cluster is")
            case "python":
                source = "\n" * (snippet.line - 1) + self.substitute(snippet.text)
                exec(compile(source, str(page), "exec"), self.names)  # noqa: S102 - our own page
                self.count("run")
            case "ipython":
                self.cell(self.substitute(snippet.text))
                self.count("run")
            case "sh" | "console":
                for command in commands(snippet):
                    self.shell(command, location)
            case "json":
                self.data(json.loads(snippet.text), location)
            case "toml":
                assert set(tomllib.loads(snippet.text)) <= {
                    "defaultVisibility",
                    "repositories",
                    "contexts",
                    "mcp_servers",
                }, location
                self.count("checked")
            case language:
                assert language in PLAIN, f"{location}: a block of {language or 'no language'} is neither run nor plain"
                self.count("plain")

    def cell(self, text: str) -> None:
        """Run a cell in a shell of the page's own."""
        if self.interactive is None:
            from IPython.core.interactiveshell import InteractiveShell

            os.environ["IPYTHONDIR"] = str(self.folder / "ipython")
            self.interactive = InteractiveShell()
            self.interactive.history_manager.end_session()
        self.interactive.run_cell(text).raise_error()

    def count(self, kind: str) -> None:
        """One more of a kind."""
        self.counts[kind] = self.counts.get(kind, 0) + 1

    def substitute(self, text: str) -> str:
        """The text with what stands in pages replaced by what it is here."""
        for placeholder, meant in self.replaced.items():
            text = text.replace(placeholder, meant)
        return text

    def data(self, value: Any, location: str) -> None:
        """Check a site configuration, or a client's list of servers."""
        from sourcelight.server.http.settings import load_settings

        if "mcpServers" in value:
            for server in value["mcpServers"].values():
                assert {"command", "args"} <= set(server) or {"type", "url"} <= set(server), location
        elif not {"servers", "context_servers", "mcp"} & set(value):  # tests/server/mcp/test_installation.py has these
            path = self.folder / "site.json"
            path.write_text(json.dumps(value), encoding="utf-8")
            load_settings(str(path), {})
        self.count("checked")

    def shell(self, command: str, location: str) -> None:
        """Run one command, in this process where it is ours."""
        bare = re.split(r"\s+#", command, maxsplit=1)[0]
        stands_for = next((reason for pattern, reason in NOT_RUN.items() if re.fullmatch(pattern, bare)), "")
        if stands_for:
            if bare.startswith("pip install"):
                _extras_exist(bare)
            return self.count(f"not run: {stands_for}")
        words = shlex.split(self.substitute(bare))
        if words[0] == "export":
            self.environment.update((name, value) for name, _, value in (word.partition("=") for word in words[1:]))
        elif words[:2] == ["sourcelight", "serve"]:
            self._serve(words)
        elif words[0] == "sourcelight" and words[1] != "mcp":
            self._ours(words, location)
        elif words[:1] == ["python"] and words[1].startswith("benchmarks/"):
            _takes(words)
        else:
            done = subprocess.run(
                ["sh", "-c", self.substitute(bare)],
                cwd=self.folder, env=self._environ(), stdin=subprocess.DEVNULL, capture_output=True, text=True,
                timeout=240, check=False,  # an environment took over a minute on a busy machine
            )  # fmt: skip
            assert done.returncode == 0, f"{location}: {bare}: {done.stderr}"
        return self.count("run")

    def _path(self, word: str) -> str:
        """A word of a command as a shell gives it."""
        return f"{self.home}{word[1:]}" if word.startswith("~/") else word

    def _environ(self) -> dict[str, str]:
        path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
        return {**os.environ, "PATH": path, "HOME": str(self.home), **self.environment}

    def _ours(self, words: list[str], location: str) -> None:
        line = " ".join(words)
        out, err = io.StringIO(), io.StringIO()
        with self.placed(), contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            status = main([self._path(word) for word in words[1:]])
        if line in REFUSED:
            assert status == 2, location
            assert REFUSED[line] in err.getvalue(), location
        else:
            assert status == 0, f"{location}: {line}: {err.getvalue()}"
        for credential in re.findall(r"\b(sl[a-z]_)([\w-]{16,})", out.getvalue()):
            self.replaced[f"{credential[0]}…"] = "".join(credential)

    def _serve(self, words: list[str]) -> None:
        """Start a service, read what it says first, and stop it."""
        command = [*words, "--port", "0"]
        with subprocess.Popen(
            [sys.executable, "-c", "import sys; from sourcelight.cli import main; sys.exit(main())",
             *map(self._path, command[1:])],
            cwd=self.folder, env=self._environ(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        ) as server:  # fmt: skip
            try:
                assert server.stdout is not None
                first = server.stdout.readline()
                assert re.match(r"sourcelight serves \d+ repositor", first), (first, server.communicate(timeout=30))
            finally:
                server.terminate()
                server.communicate(timeout=30)

    @contextlib.contextmanager
    def placed(self) -> Iterator[None]:
        """Be in the folder of the session, with its environment and a password on standard input."""
        saved = {name: os.environ.get(name) for name in self.environment}
        stdin = sys.stdin
        os.environ.update(self.environment)
        sys.stdin = io.StringIO("a password of some length\n")
        try:
            with contextlib.chdir(self.folder):
                yield
        finally:
            sys.stdin = stdin
            for name, value in saved.items():
                if value is None:
                    del os.environ[name]
                else:
                    os.environ[name] = value


def _extras_exist(command: str) -> None:
    """Every extra that is asked for is one of the package."""
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    for extra in re.findall(r"\[([\w,]+)\]", command):
        assert set(extra.split(",")) <= set(extras), command


def _takes(words: list[str]) -> None:
    """A benchmark, which is run by hand, has the options that a page names."""
    text = (ROOT / words[1]).read_text(encoding="utf-8")
    for word in words[2:]:
        if word.startswith("--"):
            assert f'"{word}"' in text, f"{words[1]} has no {word}"

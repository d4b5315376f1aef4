"""Which versions of dependencies fit: on every interpreter and system of a release, and the oldest that we name.

    python scripts/versions.py platforms   wheels alone, for each interpreter and system: what users and what tests need
    python scripts/versions.py types       mypy for each version of the language
    python scripts/versions.py lowest      an environment with the oldest direct dependencies, and the tests in it

Needs the extras `dev` and `release`, and the network. `scripts/test versions` runs all three.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TOOLS = Path(sys.executable).parent
INTERPRETERS = ("3.11", "3.12", "3.13", "3.14")
SYSTEMS = (
    "x86_64-unknown-linux-gnu",
    "aarch64-unknown-linux-gnu",
    "x86_64-apple-darwin",
    "aarch64-apple-darwin",
    "x86_64-pc-windows-msvc",
)
EXTRAS = ("cluster", "graphql", "lab", "llm", "structural")
_WHEELS = ("--only-binary", ":all:", "--no-binary", "sourcelight")  # users have no compiler
# What has something of each room, and takes a few minutes.
TESTS = (
    "tests/core", "tests/cli", "tests/client", "tests/display", "tests/lab/plots", "tests/engines/search",
    "tests/engines/symbols", "tests/server/mcp/test_stdio.py", "tests/server/http/graphql", "tests/test_core_alone.py",
)  # fmt: skip
# What these tests need beside what users install.
PACKAGES = (
    "pytest", "pytest-timeout", "pytest-xdist", "hypothesis", "duckdb", "markdown", "nbclient", "polars", "psutil",
    "pypdfium2", "pyyaml",
)  # fmt: skip


def uv(*words: str | Path) -> subprocess.CompletedProcess[str]:
    """Run uv."""
    return subprocess.run([str(TOOLS / "uv"), *map(str, words)], capture_output=True, text=True, check=False)


def compile_for(interpreter: str, system: str, extras: tuple[str, ...]) -> tuple[int, str]:
    """Return how many distributions an installation takes, from wheels alone, or 0 and why there is none."""
    options = [word for extra in extras for word in ("--extra", extra)]
    done = uv(
        "pip", "compile", "--quiet", "--no-header", "--no-annotate", "--only-binary", ":all:",
        "--python-version", interpreter, "--python-platform", system, *options, ROOT / "pyproject.toml",
    )  # fmt: skip
    if done.returncode:
        return 0, " ".join(done.stderr.split())
    return sum("==" in line for line in done.stdout.splitlines()), ""


def platforms() -> int:
    """Ask for each interpreter on each system."""
    failed = 0
    for interpreter in INTERPRETERS:
        for system in SYSTEMS:
            answers = [compile_for(interpreter, system, extras) for extras in (EXTRAS, ("dev",))]
            failed += sum(not count for count, _ in answers)
            print(f"{interpreter}  {system:28}", *(f"{count or reason:4}" for count, reason in answers), flush=True)
    return failed


def types() -> int:
    """Check types as each version of the language would."""
    failed = 0
    for interpreter in INTERPRETERS:
        command = [TOOLS / "mypy", "--python-version", interpreter, "src"]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
        failed += done.returncode != 0
        print(f"mypy --python-version {interpreter}: {done.stdout.strip()[-1500:]}", flush=True)
    return failed


def lowest() -> int:
    """Run tests with the oldest direct dependencies that pyproject.toml names."""
    with tempfile.TemporaryDirectory() as folder:
        python = Path(folder) / "env" / "bin" / "python"
        created = uv("venv", "--quiet", "--python", sys.executable, Path(folder) / "env")
        # The oldest of what users install; what only tests need is the newest, in a second step that keeps the first.
        required = f"{ROOT}[{','.join(EXTRAS)}]"
        first = uv(
            "pip", "install", "--quiet", "--python", python, "--resolution", "lowest-direct", *_WHEELS, "-e", required
        )
        pins = Path(folder) / "pins.txt"
        pins.write_text(uv("pip", "freeze", "--exclude-editable", "--python", python).stdout, "utf-8")
        second = uv("pip", "install", "--quiet", "--python", python, "--constraint", pins, *PACKAGES)
        for done in (created, first, second):
            if done.returncode:
                print(done.stderr[-3000:])
                return 1
        print(pins.read_text("utf-8"))
        marks = "not browser and not clients and not attack and not release and not clock"
        # Old libraries may emit deprecation warnings. The question is what works, not how long it takes: a busy machine
        # must not fail a test.
        options = ["-q", "-n", "2", "--dist", "loadgroup", "-o", "filterwarnings=", "--timeout", "900"]
        command = [python, "-m", "pytest", *options, "--hypothesis-profile=repeatable", "-m", marks, *TESTS]
        return subprocess.run(command, cwd=ROOT, check=False).returncode


def main() -> int:
    """Entry point."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("part", choices=("platforms", "types", "lowest"))
    return 1 if {"platforms": platforms, "types": types, "lowest": lowest}[arguments.parse_args().part]() else 0


if __name__ == "__main__":
    sys.exit(main())

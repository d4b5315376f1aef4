"""The code of cells is one text: each byte of it has its place in the file, and commands of a kernel are replaced."""

from __future__ import annotations

import ast
import json
import random
import time

import pytest

from engines.execution.test_cells import drawn_notebook
from sourcelight.core.cells import read_cells
from sourcelight.core.cells.json_places import unescape
from sourcelight.core.cells.magics import mask_magics, mask_script
from sourcelight.core.cells.programs import Program, programs_of

LANGUAGES = ("Python", "R", "Julia")


def program(data: bytes, path: str = "a.ipynb") -> Program:
    return programs_of(read_cells(path, data), data, LANGUAGES)[0]


@pytest.mark.parametrize("seed", range(200))
def test_each_byte_of_a_program_is_a_byte_of_the_file(seed: int) -> None:
    draw = random.Random(seed)  # noqa: S311 - a seed for the test
    data = drawn_notebook(draw).encode()
    for code in programs_of(read_cells("a.ipynb", data), data, LANGUAGES):
        sources = ["".join(cell["source"]) for cell in json.loads(data)["cells"] if cell["cell_type"] == "code"]
        sources = [source for source in sources if source]
        assert code.text.decode() == "".join(source + "\n" * (not source.endswith("\n")) for source in sources)
        for offset, file_offset in enumerate(code.file_offsets(range(len(code.text))).tolist()):
            byte = code.text[offset : offset + 1]
            line = code.line_at(offset)
            assert code.file_lines[line] == data.count(b"\n", 0, code.file_offsets(code.line_starts[line])) + 1
            rest = code.text[code.line_starts[line] :]
            assert (
                sources[[*dict.fromkeys(code.cells.tolist())].index(code.cells[line])]
                .encode()
                .split(b"\n")[code.cell_lines[line] - 1]
                == rest.split(b"\n")[0]
            )
            if byte.isascii() and byte != b"\n":
                # The byte itself, or an escape that means it.
                assert unescape(data[file_offset : file_offset + 6]).startswith(byte)


def test_indentation_that_a_cell_shares_is_gone_and_columns_stay_true() -> None:
    text = "\n   ```{python}\n   def f():\n       return 1\n\n   f()\n   ```\n"
    code = program(text.encode(), "a.qmd")
    assert code.text == b"def f():\n    return 1\n\nf()\n"
    assert code.file_offsets([4, 23]).tolist() == [text.index("f():"), text.index("f()\n")]


@pytest.mark.parametrize(
    ("source", "result"),
    [
        ("%matplotlib inline\nx = 1", "pass              \nx = 1"),
        ("if COLAB:\n    !pip install x\n", "if COLAB:\n    pass          \n"),
        ("!a \\\n  b\nf()", "pass\n   \nf()"),
        ("!\\\n!x", "0 \n  "),
        ("files = !ls *.csv\n", "files = None     \n"),
        ("f?\n??g\n%time?\nh.x??", "0 \n0  \npass  \npass "),
        ("%%time\nf()", "pass  \nf()"),
        ("%%bash\nls $x\n", "      \n     \n"),
        ("x = (a\n     % b)\nif not a != b: pass", "x = (a\n     % b)\nif not a != b: pass"),
        ("'%d' % 1", "'%d' % 1"),
    ],
)
def test_commands_are_replaced_at_the_same_length(source: str, result: str) -> None:
    masked = mask_magics(source.encode(), "Python").decode()
    assert masked == result
    ast.parse(masked)


def test_other_kernels_lose_their_commands_only() -> None:
    assert mask_magics(b"%maven a:b\nx % y;", "Java") == b"          \nx % y;"
    assert mask_magics(b"!ls\n%x", "Shell") == b"!ls\n%x"


def test_only_percent_scripts_are_masked() -> None:
    text = b"# %%\n%run a\nx = '''\n%s\n'''\n"
    assert mask_script(text, "Python") == text.replace(b"%run a", b"pass  ")
    assert mask_script(text[4:], "Python") == text[4:]


@pytest.mark.parametrize("unit", [b" ", b"\\\n", b"a,", b"?", b"%%a\n", b"!\\", b"\n ", b"a=!"])
def test_a_hostile_cell_takes_no_more_time_than_its_size_warrants(unit: bytes) -> None:
    source = unit * (1024 * 1024 // len(unit))
    started = time.process_time()
    assert len(mask_magics(source + b"%", "Python")) == len(source) + 1
    assert time.process_time() - started < 3.0

"""Files of definitions in several languages, simple enough to be read line by line."""

from __future__ import annotations

from random import Random

NAMES = (
    b"foo", b"Foo", b"bar", b"parse", b"Parser", b"run_all", b"runAll", b"kelvin", b"sun", b"id2", b"x", b"_private",
    b"TODO", b"aab", b"Value", b"get_value", b"__init__", b"test_foo", b"E",
)  # fmt: skip
FOLDER = b"definitions/"


def source(rng: Random, ending: bytes) -> bytes:
    """A file of definitions and of lines that only look like some."""
    out = [b"package main\n\n"] if ending == b".go" else []
    for _ in range(rng.randint(1, 6)):
        first, second = rng.choice(NAMES), rng.choice(NAMES)
        out.append(_fragment(rng, ending, first, second))
    data = b"\n".join(out)
    return data.replace(b"\n", b"\r\n") if rng.random() < 0.1 else data


def _fragment(rng: Random, ending: bytes, first: bytes, second: bytes) -> bytes:
    forms: tuple[bytes, ...]
    match ending:
        case b".py":
            forms = (
                b"def %s(a, b=1):\n    return %s(a)\n", b"class %s:\n    def %s(self):\n        pass\n",
                b"async def %s():\n    await %s()\n",
                b"@decorated\ndef %s(x):\n    def %s():\n        return 1\n    return x\n",
                b"class %s(%s):\n    pass\n", b"# def %s and\n# class %s\n",
            )  # fmt: skip
        case b".go":
            forms = (
                b"func %s() {\n\t%s()\n}\n", b"type %s struct{}\n\nfunc (r *T) %s() int {\n\treturn 1\n}\n",
                b"type %s interface{}\n\nfunc (r T) %s() {}\n", b"// func %s\n// type %s\n",
            )  # fmt: skip
        case b".java":
            forms = (
                b"class %s {\n    void %s() {\n    }\n}\n",
                b"public final class %s {\n    public static int %s() {\n    }\n}\n",
                b"interface %s {\n}\n// class %s {\n", b"enum %s {\n}\n// void %s\n",
            )  # fmt: skip
        case _:
            forms = (
                b"fn %s() {\n    %s();\n}\n", b"pub struct %s;\n\ntrait %s {}\n", b"enum %s {}\n// fn %s\n",
                b"impl T {\n    pub fn %s(&self) {}\n}\n\nfn %s() {}\n",
            )  # fmt: skip
    return rng.choice(forms) % (first, second)

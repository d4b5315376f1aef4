"""How often navigation of Java, C and Rust is right, and how fast, against their compilers.

The method is that of `navigation_names`. Java: javac, without the libraries that a build would bring, so what depends
on them is not judged; kafka was looked at, spring-framework only scored. C: libclang, each file on its own, with the
bodies of functions of all files accepted beside what a header announces; redis was looked at, curl only scored.
Rust: the index file of ``rust-analyzer scip``; ripgrep was looked at, nothing was held out.

    java --add-modules jdk.compiler benchmarks/truth/Names.java CHECKOUT FOLDER... > java.jsonl
    python benchmarks/truth/c_names.py CHECKOUT "-Isrc -Ideps/lua/src" FILE... > c.jsonl      # needs libclang
    python benchmarks/truth/rust_names.py CHECKOUT index.scip > rust.jsonl
    python benchmarks/navigation_others.py CHECKOUT java.jsonl WORK --tables
"""

from navigation_names import run

if __name__ == "__main__":
    run(["Java", "C", "Rust"])

"""How often navigation of TypeScript is right, and how fast, against the language service of TypeScript.

The method is that of `navigation_names`; references are asked of the language service itself. hono and
vscode-languageserver-node were looked at while the rules were written; vuejs/core and vite were only scored. Install
the packages of a checkout first, without running their scripts; names that lead into them are left out, but what leads
through them is only known to the language service if they are there.

    node benchmarks/truth/typescript.js CHECKOUT definitions 1500 > core.jsonl          # needs the package typescript
    node benchmarks/truth/typescript.js CHECKOUT references 150 > core-references.jsonl
    python benchmarks/navigation_typescript.py CHECKOUT core.jsonl WORK --questions core-references.jsonl --tables
"""

from navigation_names import run

if __name__ == "__main__":
    run(["TypeScript", "TSX", "JavaScript"])

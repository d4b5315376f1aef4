"""How often navigation of Go is right, and how fast, against go/types; the method is that of `navigation_names`.

golang/tools and prometheus were looked at while the rules were written; zoekt was only scored.

    cd benchmarks/truth/go && go run . CHECKOUT > zoekt.jsonl
    python benchmarks/navigation_go.py CHECKOUT zoekt.jsonl WORK --tables
"""

from navigation_names import run

if __name__ == "__main__":
    run(["Go"])

# %% [markdown]
# # Navigation: follow a name across repositories
#
# What does a name mean, who uses it, who calls it, and which repositories depend on it? There is no build step:
# sourcelight reads files when a question needs them. Run the cells from top to bottom (Shift+Enter).

# %%
import os

import matplotlib.pyplot as plt
import pandas as pd

import sourcelight as sl

# Calls that take longer than half a second draw a bar; it is off here, so that this notebook is the same on each run.
os.environ["SOURCELIGHT_PROGRESS"] = "off"
pd.set_option("display.max_colwidth", 70)

code = sl.open(*os.environ.get("SOURCELIGHT_DEMO_PATHS", ".").split(os.pathsep))
repositories = code.list_repos()["repository"]


def named(ending: str) -> str:
    """Give the full name of a repository of the product."""
    return repositories[repositories.str.endswith(f"tidewatch/{ending}")].item()


def table(frame: pd.DataFrame, *columns: str) -> pd.DataFrame:
    """Show where something is, repositories by their last name, lines without their indent."""
    shown = frame.assign(repository=frame["repository"].astype(str).str.rpartition("/")[2])
    if "line" in columns:
        shown["line"] = shown["line"].str.strip()
    return shown[["repository", "path", "line_number", *columns]]


# %% [markdown]
# ## From a use to its definition
#
# Tide gauges send frames, and code in four languages reads them. The Python package has a fast reader in C, which
# includes the header of `decode_frame`. The header and the function are in another repository.

# %%
pytide, gauge, hub = named("pytide"), named("gauge"), named("hub")
definition = code.go_to_definition(pytide, "src/pytide/_fastwire.c", "decode_frame")
table(definition, "line", "kind", "how").head(2)

# %% [markdown]
# `how` is the method that found a definition: the scopes of the file, an import, the type of the receiver, or a ranking
# of equal names, which is a guess. `reason` explains it.

# %%
definition[["how", "score", "reason"]].head(2)

# %%
print(definition["code"].iloc[0])

# %% [markdown]
# ## From a definition to its references

# %%
references = code.find_references(gauge, "src/wire.c", "decode_frame")
table(references, "line", "role", "how")

# %% [markdown]
# The gauge has a simulator in Go. It writes frames with a package of the hub, the third repository.

# %%
encode = code.go_to_definition(gauge, "tools/gaugesim/main.go", "EncodeFrame")
table(encode, "signature", "how").head(1)

# %%
used = code.find_references(hub, encode["path"].iloc[0], "EncodeFrame")
table(used, "line", "role", "how")

# %% [markdown]
# A name can have several meanings in a file; `line` and `column` select one.

# %%
line = references[(references["repository"] == pytide)].iloc[0]
placed = code.go_to_definition(
    pytide, line["path"], "decode_frame", line=int(line["line_number"]), column=int(line["start"])
)
table(placed, "kind", "how").head(1)

# %% [markdown]
# ## Outline a file or a repository

# %%
outline = code.outline(hub, encode["path"].iloc[0])
outline["symbol"] = outline["depth"].map(lambda depth: "    " * depth) + outline["symbol"].astype(str)
outline[["line_number", "kind", "symbol", "signature"]].head(12)

# %%
print("\n".join(code.repo_map(pytide, limit=20)["text"]))

# %% [markdown]
# ## Who calls whom

# %%
callers = code.callers(hub, encode["path"].iloc[0], "EncodeFrame", depth=2)
callers[["depth", "caller", "callee", "caller_path", "line_number"]]

# %%
callees = code.callees(gauge, "src/main.c", "main")
callees[["caller", "callee", "callee_path", "line_number", "how"]].head(8)

# %% [markdown]
# ## Which repository depends on which

# %%
graph = code.dependency_graph(external=False)
edges = graph.edges
edges[["source", "target", "module", "files", "imports"]]

# %% [markdown]
# Each edge counts imports. `graph.to_networkx()` returns a networkx graph, if networkx is installed.

# %%
names = sorted({*edges["source"], *edges["target"]})
depth = dict.fromkeys(names, 0)
for _ in names:
    for edge in edges.itertuples():
        depth[edge.source] = max(depth[edge.source], depth[edge.target] + 1)
levels = pd.Series(depth).sort_index(kind="stable")
place = {}
for level, members in levels.groupby(levels):
    for number, name in enumerate(members.index):
        # Those in between stand a little higher, out of the way of longer arrows.
        place[name] = (level, (number + 1) / (len(members) + 1) + 0.2 * (0 < level < levels.max()))

figure, axes = plt.subplots(figsize=(8, 3.6), layout="constrained")
for edge in edges.itertuples():
    arrow = {"arrowstyle": "-|>", "color": "#5b7083", "shrinkA": 30, "shrinkB": 34, "lw": 1 + edge.imports / 2}
    axes.annotate("", place[edge.target], place[edge.source], arrowprops=arrow)
    middle = [(here + there) / 2 for here, there in zip(place[edge.source], place[edge.target], strict=True)]
    label = {"boxstyle": "round,pad=0.15", "fc": "white", "ec": "none"}
    axes.text(
        *middle, edge.module.rpartition("/")[2], ha="center", va="center", fontsize=9, color="#40525f", bbox=label
    )
for name, (x, y) in place.items():
    box = {"boxstyle": "round,pad=0.5", "fc": "#e3f1f4", "ec": "#1d7a8c"}
    axes.text(x, y, name.rpartition("/")[2], ha="center", va="center", fontsize=11, bbox=box)
axes.set(xlim=(-0.4, max(depth.values()) + 0.4), ylim=(0, 1), title="An arrow points at what is imported")
axes.axis("off")
plt.show()

# %% [markdown]
# With `external=True`, the default, the table has imports of other packages too.

# %%
outer = code.dependency_graph([hub, pytide]).edges
outer[outer["external"]][["source", "module", "files", "imports"]].head(8)

# %% [markdown]
# Next: [07 Deep search](07-deep-search.ipynb): questions in plain words.

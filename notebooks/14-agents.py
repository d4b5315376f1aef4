# %% [markdown]
# # Commits that name a coding assistant
#
# Which commits name a coding assistant? Who reviews, who joined and who left? The sample repositories name no
# assistant, so this notebook creates a small repository. With papermill, you can run it on other repositories; the next
# cell has its parameter:
#
# ```sh
# papermill 14-agents.ipynb mine.ipynb -p paths ~/src/project
# ```

# %% tags=["parameters"]
paths = ""  # directories with repositories, separated as in PATH; empty: a repository that the next cell creates

# %%
import os
import subprocess
import tempfile
from pathlib import Path

import pandas as pd

import sourcelight as sl
from sourcelight.testing import RepositoryBuilder

# The progress bar is off, so that each run of this notebook has the same output.
os.environ["SOURCELIGHT_PROGRESS"] = "off"
pd.set_option("display.max_colwidth", 70)


def make_example(folder: Path) -> Path:
    """Create a repository with three years of three people and their assistants."""
    repository = RepositoryBuilder(folder / "tides")
    ada, bo, cy = ("Ada <ada@sea.example>", "Bo <bo@sea.example>", "Cy <cy@port.example>")
    year = 365 * 24 * 3600
    start = 1_640_995_200  # 2022-01-01
    copilot = "Co-authored-by: Copilot <175728472+Copilot@users.noreply.github.com>"
    claude = "Co-authored-by: Claude <noreply@anthropic.com>"
    history = [
        (0.1, ada, "Measure the tide"),
        (0.2, bo, "Correct for pressure\n\nReviewed-by: Ada <ada@sea.example>"),
        (1.1, "Ada (aider) <ada@sea.example>", "Read the gauge"),
        (1.2, cy, f"Show a chart (#4)\n\n* Draw axes\n\n{copilot}\n\n* Fix labels"),
        (2.1, cy, f"Warn of a surge\n\nText.\n\nReviewed-by: Ada <ada@sea.example>\n{claude}"),
        (2.2, ada, "Describe how Claude and Copilot are used here"),
        (2.3, "devin-ai-integration[bot] <158243242+devin-ai-integration[bot]@users.noreply.github.com>", "Update"),
        (2.4, cy, "Repair the chart\n\nCoded with Claude."),
    ]
    for step, (when, author, message) in enumerate(history):
        files = {f"part{step % 3}.py": f"step = {step}\n" * (step + 1)}
        repository.commit(files, message, author=author, date=start + int(when * year))
    return folder


if not paths:
    paths = str(make_example(Path(tempfile.mkdtemp())))
code = sl.open(*paths.split(os.pathsep))
commits = code.commit_search()
named = commits[commits["agent"] != ""]
named[["commit_date", "author", "subject", "agent", "agent_traces"]].head(8)

# %% [markdown]
# `agent_traces` has the texts that name the assistant. A commit that only mentions an assistant doesn't count, and
# neither does the sentence "Coded with Claude", so the number is a lower bound. These commits mention an assistant
# without such a trace:

# %%
mentions = commits["message"].str.contains(r"\b(?:claude|copilot|cursor|codex|aider)\b", case=False, na=False)
commits.loc[mentions & (commits["agent"] == ""), ["author", "subject"]].head(8)

# %% [markdown]
# ## Check with git
#
# Git finds the same commits, a few rules at a time. This cell uses two of them. The documentation lists all rules, each
# with its pattern and its source.

# %%
rule = r"^co-authored-by: .*<(noreply@anthropic\.com|[0-9]+\+copilot@users\.noreply\.github\.com)>$"
folders = [folder.parent for path in paths.split(os.pathsep) for folder in Path(path).rglob(".git")]
log = ["log", "-i", "-E", f"--grep={rule}", "--format=%h %s", "HEAD"]
for folder in folders:
    print(subprocess.run(["git", "-C", folder, *log], capture_output=True, check=True, text=True).stdout)

# %% [markdown]
# ## In the report
#
# The contributor report counts these commits by assistant and by period. `share` is their share of all commits, or of
# all commits in the period.

# %%
report = sl.reports.contributors(code, period="year", ownership=False)
agents = report.tables.get("agents", pd.DataFrame())
agents[["agent", "commits", "share", "authors"]] if len(agents) else "no commit names an assistant"

# %%
activity = report.tables.get("agent_activity", pd.DataFrame())
activity if len(activity) else "no commit names an assistant"

# %%
[f"{metric.value}: {metric.counts}" for metric in report.metrics if "lower bound" in metric.counts]

# %% [markdown]
# `drill_down` lists the commits behind a row:

# %%
report.drill_down("agents", agent=agents["agent"].iloc[0])[["commit_date", "author", "subject"]] if len(agents) else ""

# %% [markdown]
# Current lines by author. `agent_lines` counts the lines whose commit names an assistant:

# %%
repository = code.list_repos()["repository"].iloc[0]
code.ownership(repository)[["author", "lines", "agent_lines"]].head(8)

# %% [markdown]
# ## Organizations, joiners, leavers, retention, reviewers
#
# `joined` lists people whose first commit is in the period of the report. `left` lists people who have commits in the
# period before, and none since.

# %%
report.tables["organizations"][["organization", "people", "commits", "share"]].head(8)

# %%
newest = pd.to_datetime(commits["commit_date"]).max()
recent = sl.reports.contributors(code, after=newest - pd.Timedelta(days=500), ownership=False)
{name: recent.tables[name]["author"].tolist()[:8] for name in ("joined", "left") if name in recent.tables}

# %%
report.tables.get("retention", "no second year")

# %%
report.tables.get("reviewers", "no trailer names a reviewer")

# %%
code.close()

"""What a release is made of fits together: one version, floors without ceilings, workflows, images and manifests."""

from __future__ import annotations

import json
import re
import runpy
import shutil
import subprocess
import tomllib
from itertools import chain
from pathlib import Path
from typing import Any

import pytest
import yaml

import sourcelight as sl

ROOT = Path(__file__).parents[1]
PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
DISTRIBUTIONS = runpy.run_path(str(ROOT / "scripts" / "distributions"))
CORE_TEXT: str = DISTRIBUTIONS["core_project"]((ROOT / "pyproject.toml").read_text("utf-8"))
CORE: dict[str, Any] = tomllib.loads(CORE_TEXT)["project"]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
NOTEBOOK = {"pandas", "matplotlib", "ipywidgets", "anywidget", "ipython"}
FOLDERS = (".github", "deploy", "packages", "scripts", "docs", "src")


def read(name: str) -> str:
    """Text of a file of the checkout."""
    return (ROOT / name).read_text("utf-8")


def names(requirements: list[str]) -> set[str]:
    """Names of required distributions, in lower case."""
    return {re.split(r"[\[>=;@ ]", requirement)[0].lower() for requirement in requirements}


def test_the_version_stands_in_one_place_and_its_copies_agree() -> None:
    assert PROJECT["dynamic"] == ["version"]
    assert yaml.safe_load(read("CITATION.cff"))["version"] == sl.__version__
    assert yaml.safe_load(read("packages/conda/recipe.yaml"))["context"]["version"] == sl.__version__
    (image,) = yaml.safe_load(read("docs/kubernetes/kustomization.yaml"))["images"]
    assert image["newTag"] == sl.__version__
    assert set(re.findall(r"image: \S+:(\S+)", read("docs/kubernetes/cell.yaml"))) == {sl.__version__}
    server = json.loads(read("server.json"))
    assert {server["version"], *(package["version"] for package in server["packages"])} == {sl.__version__}
    manifest = runpy.run_path(str(ROOT / "scripts" / "bundle"))["manifest"]()
    assert (manifest["version"], manifest["description"]) == (sl.__version__, server["description"])
    assert "version" in tomllib.loads(read("packages/sourcelight/pyproject.toml"))["project"]["dynamic"]


def headings(changes: str) -> list[tuple[str, str]]:
    """Return the versions of a changelog with their dates, in its order."""
    return re.findall(r"^## \[(.+?)\] - (\d{4}-\d\d-\d\d)$", changes, flags=re.MULTILINE)


def test_the_changelog_begins_with_the_version_of_the_package() -> None:
    changes = read("CHANGELOG.md")
    versions = headings(changes)
    assert versions[0][0] == sl.__version__
    assert len(versions) == changes.count("\n## "), "each section is that of a dated version"
    assert [date for _, date in versions] == sorted((date for _, date in versions), reverse=True)


def test_the_core_names_no_library_of_notebooks() -> None:
    assert not names(CORE["dependencies"]) & NOTEBOOK
    assert names(CORE["optional-dependencies"]["notebook"]) == NOTEBOOK


def test_a_checkout_is_the_core_with_its_notebook_libraries() -> None:
    """So that `pip install .` gives everything that the documentation shows."""
    assert (PROJECT["name"], CORE["name"]) == ("sourcelight", "sourcelight-core")
    assert PROJECT["dependencies"] == CORE["dependencies"] + CORE["optional-dependencies"]["notebook"]
    extras = set(CORE["optional-dependencies"]) - {"notebook"}
    assert extras == set(PROJECT["optional-dependencies"])
    for extra in extras - {"dev", "lab"}:
        assert CORE["optional-dependencies"][extra] == PROJECT["optional-dependencies"][extra]
    assert "sourcelight-core[notebook]" in CORE["optional-dependencies"]["lab"]


def test_dependencies_have_floors_and_no_ceilings() -> None:
    for item in chain(PROJECT["dependencies"], *PROJECT["optional-dependencies"].values()):
        requirement = item.partition(";")[0]
        assert re.fullmatch(r"[\w.-]+(\[[\w,-]+\])?(>=[\d.]+)?", requirement), item
        assert ">=" in requirement or requirement.startswith("sourcelight["), item


def test_the_recipe_for_conda_has_the_dependencies_and_their_floors() -> None:
    core, full = yaml.safe_load(read("packages/conda/recipe.yaml"))["outputs"]
    floors = {item.replace(">=", " >=").lower() for item in CORE["dependencies"]}
    assert set(core["requirements"]["run"]) - {"python >=3.11", "git >=2.31"} == floors
    required = {item.replace(">=", " >=").lower() for item in CORE["optional-dependencies"]["notebook"]}
    assert {item for item in full["requirements"]["run"] if not item.startswith("sourcelight-core")} == required


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_workflows_ask_for_no_more_rights_than_they_use(path: Path) -> None:
    workflow = yaml.safe_load(path.read_text("utf-8"))
    assert workflow["permissions"] == {"contents": "read"}
    writes = [
        (name, right)
        for name, job in workflow["jobs"].items()
        for right, level in job.get("permissions", {}).items()
        if level == "write"
    ]
    allowed = {("build", "id-token"), ("build", "attestations"), ("publish", "id-token"), ("publish", "pages")}
    assert set(writes) <= allowed
    assert "secrets." not in path.read_text("utf-8")


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_workflows_run_actions_of_one_commit(path: Path) -> None:
    """A tag of another project can be moved to other code; the version behind the commit is for readers."""
    actions = re.findall(r"uses: (?!\./)(.+)$", path.read_text("utf-8"), flags=re.MULTILINE)
    assert all(re.fullmatch(r"[\w.-]+/[\w.-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", action) for action in actions), actions


def test_workflows_try_each_interpreter_and_system() -> None:
    matrix = yaml.safe_load(read(".github/workflows/test.yml"))["jobs"]["systems"]["strategy"]["matrix"]
    assert matrix["python"] == ["3.11", "3.12", "3.13", "3.14"]
    assert {re.split(r"[-\d]", system)[0] for system in matrix["system"]} == {"ubuntu", "macos", "windows"}
    supported = {item.rpartition(" ")[2] for item in PROJECT["classifiers"] if re.search(r":: 3\.\d+$", item)}
    assert supported == set(matrix["python"])


def test_the_image_runs_as_a_plain_user_with_a_health_check() -> None:
    lines = read("deploy/Dockerfile").splitlines()
    last_stage = lines[max(number for number, line in enumerate(lines) if line.startswith("FROM ")) :]
    assert any(re.match(r"USER [1-9]\d*:[1-9]\d*$", line) for line in last_stage)
    assert any(line.startswith("HEALTHCHECK ") for line in last_stage)
    assert not any(line.startswith("ADD ") for line in lines)


def test_compose_gives_the_image_nothing_to_write_but_its_state() -> None:
    service = yaml.safe_load(read("deploy/compose.yaml"))["services"]["sourcelight"]
    assert service["read_only"]
    assert service["cap_drop"] == ["ALL"]
    assert all(port.startswith("127.0.0.1:") for port in service["ports"])
    assert [volume for volume in service["volumes"] if not volume.endswith(":ro")] == ["state:/state"]


def test_the_kustomization_shuts_every_container(tmp_path: Path) -> None:
    kubectl = shutil.which("kubectl")
    if kubectl is None:
        pytest.skip("kubectl is not installed")
    done = subprocess.run(
        [kubectl, "kustomize", str(ROOT / "docs" / "kubernetes")],
        capture_output=True, text=True, check=False, timeout=60, env={"HOME": str(tmp_path)},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    objects = list(yaml.safe_load_all(done.stdout))
    workloads = [item for item in objects if item["kind"] in {"Deployment", "StatefulSet"}]
    assert len(workloads) == 3
    for workload in workloads:
        pod = workload["spec"]["template"]["spec"]
        assert pod["securityContext"]["runAsNonRoot"], workload["metadata"]["name"]
        (container,) = pod["containers"]
        assert container["securityContext"]["readOnlyRootFilesystem"]
        assert container["securityContext"]["capabilities"] == {"drop": ["ALL"]}
        assert "/tmp" in {mount["mountPath"] for mount in container["volumeMounts"]}  # noqa: S108 - in the container


def test_no_file_names_the_host_of_a_registry() -> None:
    hosts = re.compile(r"pypi\.org|pythonhosted|npmjs\.|docker\.io|ghcr\.io|quay\.io|anaconda\.org", re.IGNORECASE)
    texts = [ROOT / "pyproject.toml", ROOT / "README.md", ROOT / "SECURITY.md"]
    for folder in FOLDERS:
        suffixes = {".md", ".yml", ".yaml", ".toml", ".py"}
        texts += [path for path in (ROOT / folder).rglob("*") if path.suffix in suffixes]
    assert [str(path) for path in texts if hosts.search(path.read_text("utf-8", "replace"))] == []


def test_forms_for_issues_can_be_read() -> None:
    for path in (ROOT / ".github" / "ISSUE_TEMPLATE").glob("*.yml"):
        form = yaml.safe_load(path.read_text("utf-8"))
        if path.name != "config.yml":
            assert {"name", "description", "body"} <= set(form)
            identifiers = [part["id"] for part in form["body"]]
            assert len(set(identifiers)) == len(identifiers)


def test_a_version_is_set_everywhere_at_once(tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    copies = (
        "src/sourcelight/__init__.py",
        "CITATION.cff",
        "packages/conda/recipe.yaml",
        "docs/kubernetes/kustomization.yaml",
        "docs/kubernetes/cell.yaml",
        "server.json",
        "CHANGELOG.md",
    )
    for name in ("scripts/set-version", *copies):
        (tree / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, tree / name)
    subprocess.run([str(tree / "scripts/set-version"), "7.8.9", "--date", "2030-01-02"], check=True, timeout=60)
    assert '__version__ = "7.8.9"' in (tree / "src/sourcelight/__init__.py").read_text("utf-8")
    assert "version: 7.8.9" in (tree / "CITATION.cff").read_text("utf-8")
    assert 'version: "7.8.9"' in (tree / "packages/conda/recipe.yaml").read_text("utf-8")
    assert (tree / "server.json").read_text("utf-8").count('"version": "7.8.9"') == 2
    assert (tree / "docs/kubernetes/cell.yaml").read_text("utf-8").count("/sourcelight:7.8.9\n") == 3
    assert 'newTag: "7.8.9"' in (tree / "docs/kubernetes/kustomization.yaml").read_text("utf-8")
    changes = (tree / "CHANGELOG.md").read_text("utf-8")
    assert headings(changes) == [("7.8.9", "2030-01-02"), *headings(read("CHANGELOG.md"))]
    # The same version again, on the day of its release: the heading gets that day.
    subprocess.run([str(tree / "scripts/set-version"), "7.8.9", "--date", "2030-02-03"], check=True, timeout=60)
    assert (tree / "CHANGELOG.md").read_text("utf-8") == changes.replace("2030-01-02", "2030-02-03")
    refused = subprocess.run([str(tree / "scripts/set-version"), "next"], capture_output=True, check=False, timeout=60)
    assert refused.returncode != 0

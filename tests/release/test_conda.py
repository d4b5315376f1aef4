"""The recipe for conda, read by its builder."""

from __future__ import annotations

import pytest

from release.conftest import ROOT

rattler_build = pytest.importorskip("rattler_build", reason="there is no py-rattler-build: the extra `release` has it")


def test_the_recipe_for_conda_is_read_by_its_builder() -> None:
    # Rendering checks keys, types and templates. Building needs a channel with the dependencies.
    recipe = rattler_build.Stage0Recipe.from_file(ROOT / "packages" / "conda" / "recipe.yaml")
    variants = recipe.render(rattler_build.VariantConfig({"python": ["3.11.*"]}))
    core, full = (variant.recipe.to_dict() for variant in variants)
    assert (core["package"]["name"], core["build"]["noarch"]) == ("sourcelight-core", "python")
    assert (full["package"]["name"], full["build"]["noarch"]) == ("sourcelight", "generic")
    assert f"sourcelight-core =={core['package']['version']}" in full["requirements"]["run"]

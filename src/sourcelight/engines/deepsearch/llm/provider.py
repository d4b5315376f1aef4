"""The choice of a model: a name, an address, a key from the environment."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from sourcelight.core.errors import ConfigurationError, MissingExtra

MODEL, ADDRESS, KEY = "SOURCELIGHT_MODEL", "SOURCELIGHT_MODEL_URL", "SOURCELIGHT_MODEL_KEY"
MAX_COST = "SOURCELIGHT_MODEL_MAX_COST"


@dataclass(frozen=True, slots=True)
class ModelConfig:
    """A model.

    Parameters
    ----------
    name
        As the model's library names it (``anthropic:…``, ``openai-chat:…``, ``ollama:…``), or, with an address, as the
        server there does.
    base_url
        Address of a server that speaks OpenAI's chat completions, such as ``http://127.0.0.1:8000/v1``; empty: the
        provider's own.
    api_key
        Its key; empty: from the provider's environment variable, or none for an address.
    """

    name: str
    base_url: str = ""
    api_key: str = field(default="", repr=False)

    @property
    def host(self) -> str:
        """Destination of text from repositories: a host, or the provider's name."""
        if self.base_url:
            return urlsplit(self.base_url).hostname or self.base_url
        return self.name.partition(":")[0]

    def open(self) -> Any:
        """Make the library's model.

        Raises
        ------
        MissingExtra
            When the library, or the part of it for this provider, is not installed.
        ConfigurationError
            When the provider doesn't take the name or the key.
        """
        try:
            from pydantic_ai.exceptions import UserError
            from pydantic_ai.models import infer_model
        except ImportError as exc:
            raise MissingExtra("sourcelight[llm]", "asking a model") from exc

        try:
            if self.base_url:
                from pydantic_ai.models.openai import OpenAIChatModel
                from pydantic_ai.providers.openai import OpenAIProvider

                provider = OpenAIProvider(base_url=self.base_url, api_key=self.api_key or "none")
                return OpenAIChatModel(self.name, provider=provider)
            return infer_model(self.name)
        except ImportError as exc:
            requirement = f"pydantic-ai-slim[{self.name.partition(':')[0].removesuffix('-chat')}]"
            raise MissingExtra(requirement, f"asking {self.name}") from exc
        except (UserError, ValueError) as exc:
            raise ConfigurationError(f"the model {self.name} can't be used: {exc}") from exc


def choose_model(environ: Mapping[str, str] | None = None, *, name: str = "") -> ModelConfig | None:
    """Read the choice from the environment; None when no model is named. `name` wins over the variable."""
    environment = os.environ if environ is None else environ
    model_name = name or environment.get(MODEL, "")
    return ModelConfig(model_name, environment.get(ADDRESS, ""), environment.get(KEY, "")) if model_name else None


def choose_cost_limit(environ: Mapping[str, str] | None = None) -> float | None:
    """Read from the environment how many dollars a question may cost; None: no limit.

    Raises
    ------
    ConfigurationError
        If it isn't a number above 0.
    """
    text = (os.environ if environ is None else environ).get(MAX_COST, "").strip()
    if not text:
        return None

    try:
        cost = float(text)
    except ValueError:
        cost = math.nan

    if not 0.0 < cost < math.inf:
        raise ConfigurationError(f"{MAX_COST} is {text!r}: give dollars for a question, such as 0.5")

    return cost

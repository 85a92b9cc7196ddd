"""A provider with an API like OpenAI's: `agents=["acme:acme-large"]`, key from ACME_API_KEY."""

from __future__ import annotations

from roundtable import hookimpl
from roundtable.providers import ChatServer, OpenAIChat
from roundtable.providers.http_provider import HttpProvider
from roundtable.providers.spec import ProviderSpec
from roundtable.types import ModelProfile

ROUNDTABLE_API = (1, 1)

ACME = ProviderSpec(
    name="acme",
    dialect=OpenAIChat("acme", server=ChatServer(name="acme", done_required=True)),  # streams end with [DONE]
    base_url="https://api.acme.example/v1",
    base_url_env="ACME_BASE_URL",
    key_env=("ACME_API_KEY",),
    default_model="acme-large",
    light_model="acme-small",
    profile=ModelProfile(streams=True, context_tokens=128_000),
    profiles={"acme-small": ModelProfile(streams=True, context_tokens=16_000)},
    summary="Acme's models.",
)


@hookimpl
def roundtable_register_providers(registrar):
    """Offer it under its name."""
    registrar.add(ACME.name, HttpProvider(ACME), summary=ACME.summary)

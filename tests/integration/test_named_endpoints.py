"""Named endpoints: two servers of one protocol in one debate, on every front; a key never leaves its host."""

from __future__ import annotations

import json
import re

import pytest

import roundtable as rt
from roundtable.api.endpoints import read_endpoints
from roundtable.errors import ConfigurationError
from roundtable.providers import chat_model
from roundtable.settings import Settings
from roundtable.testing import VendorServer
from roundtable.testing.vendor_server import VendorRefusal
from roundtable.types import ChatRequest, Message

pytestmark = pytest.mark.anyio


def _says(position):
    return lambda seen: {"position": position, "reasoning": "It keeps.", "confidence": 0.8}


def _settings(**variables):
    return Settings.from_env(variables)


def _keys(server):
    return {seen.headers.get("authorization") for seen in server.seen}


@pytest.fixture
def boxes():
    with VendorServer("compatible", _says("Tea")) as one, VendorServer("compatible", _says("Milk")) as two:
        yield one, two


def _endpoints(one, two, **more):
    return {
        "box-a": rt.ProviderConfig(kind="compatible", base_url=one.url, **more),
        "box-b": rt.ProviderConfig(kind="compatible", base_url=two.url),
    }


async def test_one_model_on_two_servers_debates_under_different_names(boxes):
    one, two = boxes
    async with rt.Roundtable(
        ["box-a:llama3", "box-b:llama3"], providers=_endpoints(one, two), storage="memory://", analyzer="basic"
    ) as table:
        result = await table.debate("Tea or milk?", rounds=1)
    assert [agent.name for agent in result.agents] == ["box-a (llama3)", "box-b (llama3)"]
    assert [answer.position for answer in result.rounds[-1].responses] == ["Tea", "Milk"]
    assert [agent.provider for agent in result.agents] == ["box-a", "box-b"]
    assert {json.loads(seen.body)["model"] for seen in (*one.seen, *two.seen)} == {"llama3"}


async def test_a_key_is_sent_only_to_its_own_endpoint(boxes):
    one, two = boxes
    settings = _settings(
        ROUNDTABLE_API_KEY="key-of-compatible", OPENAI_API_KEY="key-of-openai", ROUNDTABLE_BOX_A_API_KEY="key-of-box-a"
    )
    table = rt.Roundtable(
        ["box-a:m", "box-b:m"],
        providers=_endpoints(one, two),
        storage="memory://",
        settings=settings,
        analyzer="basic",
    )
    async with table:
        await table.debate("Tea or milk?", rounds=1)
    assert _keys(one) == {"Bearer key-of-box-a"}
    assert _keys(two) == {None}


async def test_no_address_of_the_environment_is_used_for_an_endpoint(boxes):
    settings = _settings(ROUNDTABLE_BASE_URL=boxes[0].url, ROUNDTABLE_MODEL="m")
    endpoint = {"box-a": rt.ProviderConfig(kind="compatible", model="m")}
    async with rt.Roundtable(["box-a:m"], providers=endpoint, storage="memory://", settings=settings) as table:
        with pytest.raises(ConfigurationError, match="'box-a' needs the address of a server") as caught:
            await table.debate("Tea?", rounds=1)
    assert "ROUNDTABLE_BASE_URL" not in str(caught.value.hint)
    assert boxes[0].seen == []


async def test_a_separate_account_at_a_vendor_needs_its_own_key():
    settings = _settings(OPENAI_API_KEY="key-of-openai")
    endpoint = {"second": rt.ProviderConfig(kind="openai")}
    async with rt.Roundtable(["second"], providers=endpoint, storage="memory://", settings=settings) as table:
        with pytest.raises(ConfigurationError, match="'second' needs an API key") as caught:
            await table.debate("Tea?", rounds=1)
    assert "ROUNDTABLE_SECOND_API_KEY" in str(caught.value.hint)


async def test_an_error_names_the_endpoint():
    with VendorServer("compatible", lambda seen: VendorRefusal(401, "wrong key")) as server:
        model = chat_model(
            "box-a:m", config=rt.ProviderConfig(kind="compatible", base_url=server.url, api_key="wrong-key")
        )
        with pytest.raises(rt.RoundtableError) as caught:
            await model.complete(ChatRequest(model="", messages=(Message(role="user", content="Tea?"),)))
        await model.aclose()
    assert caught.value.provider == "box-a"
    assert "compatible" not in caught.value.message


@pytest.mark.parametrize("wire", ["openai", "openai-chat", "anthropic", "google", "perplexity"])
async def test_every_wire_has_endpoints(wire):
    with VendorServer(wire, _says("Tea")) as server:
        endpoint = {"mine": rt.ProviderConfig(kind=wire, base_url=server.url, api_key="key-of-mine")}
        async with rt.Roundtable(["mine:m"], providers=endpoint, storage="memory://") as table:
            result = await table.debate("Tea?", rounds=1)
    assert result.rounds[-1].responses[0].position == "Tea"
    assert result.rounds[-1].turns[0].provider == "mine"


async def test_prices_come_from_the_endpoint_and_then_from_its_kind():
    usage = {"input": 1_000_000, "output": 0}

    async def cost(prices):
        with VendorServer("openai", _says("Tea")) as server:
            endpoint = {"mine": rt.ProviderConfig(kind="openai", base_url=server.url, api_key="k")}
            async with rt.Roundtable(["mine:m"], providers=endpoint, storage="memory://", prices=prices) as table:
                return (await table.debate("Tea?", rounds=1)).usage.cost_usd

    stated = await cost({"mine:m": usage})
    assert stated
    assert stated == await cost({"openai:m": usage})
    assert await cost({"mine:m": usage, "openai:m": {"input": 5_000_000, "output": 0}}) == stated
    assert await cost({}) is None


async def test_a_debate_is_resumed_on_its_endpoints(boxes, tmp_path):
    one, two = boxes
    storage = f"sqlite:///{tmp_path}/debates.db"
    agents, providers = ["box-a:m", "box-b:m"], _endpoints(one, two)
    async with rt.Roundtable(agents, providers=providers, storage=storage, analyzer="basic") as table:
        result = await table.debate("Tea or milk?", rounds=1)
    async with rt.Roundtable(providers=providers, storage=storage, analyzer="basic") as table:
        longer = await table.extend(result.session_id, rounds=1)
    assert len(longer.rounds) == 2
    async with rt.Roundtable(storage=storage, analyzer="basic") as table:
        with pytest.raises(ConfigurationError, match="box-"):
            await table.extend(result.session_id, rounds=1)


@pytest.mark.parametrize(
    ("name", "config", "message"),
    [
        ("openai", {"kind": "compatible"}, "'openai' is a provider already"),
        ("box:a", {"kind": "compatible"}, "cannot be the name of an endpoint"),
        ("7", {"kind": "compatible"}, "cannot be the name of an endpoint"),
        ("box", {"kind": "compatibel"}, "unknown provider 'compatibel'. Did you mean 'compatible'"),
        ("box", {"kind": "local"}, "'local' cannot have named endpoints"),
        ("box", {"kind": "command"}, "'command' cannot have named endpoints"),
        ("box", {"kind": 7}, "kind of providers"),
        ("box", {}, "unknown provider 'box'"),
        ("box", {"base_url": "http://127.0.0.1:1/v1"}, "unknown provider 'box'"),
        ("openai", {"timeout_s": "fast"}, "timeout_s of providers"),
        ("openai", {"retry": 5}, "retry of providers"),
        ("openai", {"api_key": 3}, "api_key of providers"),
        ("openai", {"breaker": "off"}, "breaker of providers"),
        ("openai", {"model": 3}, "model of providers"),
    ],
)
async def test_a_wrong_endpoint_is_refused_before_any_call(name, config, message):
    with pytest.raises(ConfigurationError, match=message):
        await rt.debate("Tea?", agents=["scripted"], providers={name: rt.ProviderConfig(**config)})


async def test_two_endpoints_never_share_a_key():
    configs = {name: rt.ProviderConfig(kind="compatible") for name in ("box-a", "box.a")}
    with pytest.raises(ConfigurationError, match="ROUNDTABLE_BOX_A_API_KEY"):
        await rt.debate("Tea?", agents=["scripted"], providers=configs)


async def test_the_environment_names_endpoints(boxes):
    one, two = boxes
    settings = _settings(ROUNDTABLE_PROVIDERS=f"box-a=compatible,{one.url}  box-b=compatible,{two.url}")
    async with rt.Roundtable(["box-a:m", "box-b:m"], storage="memory://", settings=settings, analyzer="basic") as table:
        result = await table.debate("Tea or milk?", rounds=1)
    assert [answer.position for answer in result.rounds[-1].responses] == ["Tea", "Milk"]


async def test_an_unknown_endpoint_name_is_refused_with_a_hint_about_its_kind():
    with pytest.raises(ConfigurationError) as caught:
        await rt.debate(
            "Tea?", agents=["scripted"], providers={"box": rt.ProviderConfig(base_url="http://127.0.0.1:1")}
        )
    assert "kind='compatible'" in caught.value.hint


@pytest.mark.parametrize(
    "text", ["box-a", "box-a=", "=compatible", "box-a=compatible,", "a=compatible,u a=compatible,u"]
)
async def test_a_mistyped_variable_is_refused_and_named(text):
    async with rt.Roundtable(storage="memory://", settings=_settings(ROUNDTABLE_PROVIDERS=text)) as table:
        with pytest.raises(ConfigurationError) as caught:
            await table.debate("Tea?")
    assert "ROUNDTABLE_PROVIDERS" in f"{caught.value} {caught.value.hint}"


async def test_a_file_names_endpoints_and_the_environment_their_keys(boxes, tmp_path):
    one, two = boxes
    file = tmp_path / "servers.toml"
    file.write_text(
        f'[providers.box-a]\nkind = "compatible"\nbase_url = "{one.url}"\n'
        f'[providers.box-b]\nkind = "compatible"\nbase_url = "{two.url}"\ntimeout_s = 30\n'
    )
    settings = _settings(ROUNDTABLE_PROVIDERS=str(file), ROUNDTABLE_BOX_A_API_KEY="key-of-box-a")
    async with rt.Roundtable(["box-a:m", "box-b:m"], storage="memory://", settings=settings, analyzer="basic") as table:
        result = await table.debate("Tea or milk?", rounds=1)
    assert [answer.position for answer in result.rounds[-1].responses] == ["Tea", "Milk"]
    assert _keys(one) == {"Bearer key-of-box-a"}
    assert "Bearer key-of-box-a" not in _keys(two)
    assert read_endpoints([str(file)], "--provider")["box-b"].timeout_s == 30


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[box-a]", "must contain tables of providers"),
        ("[providers]", "must contain tables of providers"),
        ("[providers]\nbox-a = 3", "providers.box-a must be a table"),
        ("[providers.box-a]\nbase_url = 'http://127.0.0.1:1'", "providers.box-a lacks its kind"),
        ("[providers.box-a]\nkind = 'compatible'\napi_key = 'sk-1'", "ROUNDTABLE_BOX_A_API_KEY"),
        ("[providers.box-a]\nkind = 'compatible'\nbase_ur = 'x'", "unknown field 'base_ur'.*Did you mean 'base_url'"),
        ("[providers.box-a", "cannot be read"),
        (None, "cannot be read"),
    ],
    ids=["no providers", "empty", "no table", "no kind", "key", "field", "syntax", "missing"],
)
def test_an_invalid_file_is_refused_with_the_place_of_the_error(tmp_path, text, message):
    file = tmp_path / "servers.toml"
    if text is not None:
        file.write_text(text)
    with pytest.raises(ConfigurationError) as caught:
        read_endpoints([str(file)], "--provider")
    assert "servers.toml" in caught.value.message
    assert re.search(message, f"{caught.value} {caught.value.hint}")
    assert "sk-1" not in f"{caught.value} {caught.value.hint}"


@pytest.mark.parametrize("field", ["allow_plain_http", "trust_env", "cache_prompts"])
def test_a_file_with_a_boolean_written_as_text_is_refused(tmp_path, field):
    file = tmp_path / "servers.toml"
    file.write_text(f"[providers.box-a]\nkind = 'compatible'\nbase_url = 'http://127.0.0.1:1'\n{field} = 'false'\n")
    with pytest.raises(
        ConfigurationError, match=rf"servers.toml.*{field} of providers\['box-a'\] must be True or False"
    ):
        read_endpoints([str(file)], "--provider")


@pytest.mark.parametrize("value", ["2024-01-01", "nan"])
def test_a_file_with_fields_that_no_request_can_have_is_refused(tmp_path, value):
    file = tmp_path / "servers.toml"
    file.write_text(f"[providers.box-a]\nkind = 'compatible'\nextra_body = {{when = {value}}}\n")
    with pytest.raises(ConfigurationError, match=r"servers.toml.*extra_body of providers\['box-a'\] is not JSON"):
        read_endpoints([str(file)], "--provider")

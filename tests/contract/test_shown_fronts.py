"""What a table tells programs that serve debates; each of these methods is public."""

from __future__ import annotations

import pytest

from roundtable import AgentConfig, Budget, ProviderConfig, Roundtable
from roundtable.api import AgentProfile
from roundtable.core.types.request import DebateRequest
from roundtable.errors import ConfigurationError
from roundtable.settings import Settings
from roundtable.testing import scripted_agents


def table(**more: object) -> Roundtable:
    return Roundtable(scripted_agents({"ada": "Tea", "bo": "Tea"}), **({"storage": "memory://"} | more))  # type: ignore[arg-type]


async def test_a_table_says_what_it_offers() -> None:
    served = table()
    assert served.default_rates() == {"scripted": None}
    assert {"anthropic", "scripted"} <= served.provider_names()
    assert served.price_source
    without_keys = Roundtable(storage="memory://", settings=Settings.from_env({}))
    assert [offer.provider for offer in without_keys.providers()]
    assert without_keys.plugin_reports() is not None


async def test_a_request_its_prices_and_profiles_are_checked_before_anything_is_spent() -> None:
    served = table()
    served.check_request(DebateRequest(topic="Tea?"))
    with pytest.raises(ConfigurationError, match="colaborative"):
        served.check_request(DebateRequest(topic="Tea?", mode="colaborative"))
    box = ProviderConfig(kind="compatible", base_url="http://127.0.0.1:9/v1")
    unpriced = AgentConfig(id="x", name="X", provider="box", model="nobody-prices-this")
    priced = Roundtable([unpriced], providers={"box": box}, storage="memory://")
    with pytest.raises(ConfigurationError, match="nobody-prices-this"):
        await priced.check_prices([None], Budget(max_cost_usd=1))
    clerk = AgentProfile("clerk", instructions="Help.", tools=["no_such_tool"])
    with pytest.raises(ConfigurationError, match="no_such_tool"):
        table(profiles=[clerk]).check_profiles()
    assert await served.estimate_aside("Tea?", rounds=2) == served.estimate("Tea?", rounds=2)


async def test_a_fork_is_followed_and_runs_meanwhile() -> None:
    async with table() as served:
        first = await served.debate("Tea?", rounds=2)
        assert await served.is_running(first.session_id) is False
        async with served.stream_fork(first.session_id, at_round=1) as stream:
            assert await served.is_running(stream.session_id) is not None
            events = [event.type async for event in stream]
        assert events[-1] == "debate_complete"
        assert stream.result.answer == "Tea"

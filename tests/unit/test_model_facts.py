"""What a model declares about itself, in `facts` or in the attributes of earlier plugins."""

from __future__ import annotations

import math
from decimal import Decimal
from typing import Any

import pytest

from roundtable.core.chat_models import announcing, facts_of, meters_of, refused_at, trouble_of
from roundtable.errors import ConfigurationError
from roundtable.gateway.default_rates import default_rate_of
from roundtable.providers.scripted import ScriptedModel
from roundtable.types import ModelFacts


class Plain:
    """An object that has whatever attributes it is given."""

    def __init__(self, **attributes: Any) -> None:
        vars(self).update(attributes)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("requests_per_minute", 0),
        ("requests_per_minute", "many"),
        ("calls_at_once", -1),
        ("patience_s", 0),
        ("patience_s", math.nan),
        ("price_share", 0.5),
        ("price_share", Decimal(-1)),
        ("cost_limit_usd", -0.1),
        ("cost_limit_usd", "1"),
    ],
)
def test_an_invalid_number_is_refused_when_it_is_declared(field: str, value: Any) -> None:
    with pytest.raises(ConfigurationError, match=f"{field} must be a"):
        ModelFacts(**{field: value})
    assert facts_of(Plain(**{field: value})) == ModelFacts()
    assert facts_of(Plain(**{field: value}, endpoint="https://x.example")) == ModelFacts(endpoint="https://x.example")


def test_the_attributes_of_earlier_plugins_are_facts() -> None:
    old = {
        "kind": "openai",
        "endpoint": "https://x.example",
        "account": "hash",
        "requests_per_minute": 30,
        "calls_at_once": 4,
        "price_share": Decimal("0.5"),
        "cost_limit_usd": 2,
        "patience_s": 60,
        "keeps_deadline": True,
    }
    assert facts_of(Plain(**old)) == ModelFacts(**old)
    assert facts_of(Plain(**old, facts=ModelFacts(endpoint="new"))) == ModelFacts(endpoint="new")
    assert facts_of(Plain(facts={"endpoint": "no facts"})) == ModelFacts()
    assert facts_of(None) == ModelFacts()


def test_a_wrapper_has_the_facts_of_its_first_model_but_may_wait_itself() -> None:
    first, second = Plain(facts=ModelFacts(account="a", keeps_deadline=True)), Plain(facts=ModelFacts(account="b"))
    assert facts_of(Plain(inner_models=[first, second])) == ModelFacts(account="a")
    assert facts_of(Plain(inner_models=[first], facts=ModelFacts())) == ModelFacts()
    assert facts_of(Plain(inner_models="first")) == ModelFacts()


def test_a_rate_counts_for_servers_elsewhere_only() -> None:
    assert default_rate_of(Plain(requests_per_minute=30, endpoint="https://x.example")) == 30
    assert default_rate_of(Plain(requests_per_minute=30, endpoint="http://127.0.0.1:1")) is None
    assert default_rate_of(Plain()) is None


class Guard(Plain):
    """A third party's model that limits its calls."""

    most_tries = 3

    def without_retries(self, timeout_s: float) -> Guard:
        return self


class Meter(Plain):
    def worst_cost(self, *_: object, **__: object) -> Decimal:
        return Decimal(1)


def test_trouble_tries_and_meters_are_found_inside_of_wrappers() -> None:
    refused, fine = Guard(trouble="refused", refused_at=5.0), Guard(trouble=None, refused_at=0.0)
    busy = Guard(trouble="busy", refused_at=7.0)
    assert trouble_of(Plain(inner_models=(refused, fine))) is None
    both = Plain(inner_models=(refused, Plain(inner_models=(busy,))))
    assert (trouble_of(both), refused_at(both)) == ("refused", 7.0)
    assert (trouble_of(Plain()), refused_at(Plain())) == (None, 0.0)
    meter = Meter()
    inside = Plain(inner_models=(Guard(inner_models=(Plain(inner_models=(meter,)),)), meter))
    assert [(found, tries) for found, tries in meters_of(inside)] == [(meter, 3), (meter, 1)]


async def nothing() -> None:
    pass


def test_a_model_that_announces_no_calls_leaves_the_announcement_to_the_caller() -> None:
    plain: Any = ScriptedModel(["Yes."])
    assert announcing(plain, nothing) is None
    wrapper: Any = Plain(inner_models=(plain,), with_inner_models=lambda models: models[0])
    assert announcing(wrapper, nothing) is None

"""`--provider`: servers of one protocol side by side, as providers of their own."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from cli.kit import Command, said

from roundtable.testing import VendorServer


@pytest.fixture
def boxes() -> Iterator[tuple[str, str]]:
    with (
        VendorServer("compatible", lambda _seen: said("Tea")) as one,
        VendorServer("compatible", lambda _seen: said("Milk")) as two,
    ):
        yield f"box-a=compatible,{one.url}", f"box-b=compatible,{two.url}"


def test_two_servers_debate_with_one_model(command: Command, boxes: tuple[str, str]) -> None:
    words = ("--provider", boxes[0], "--provider", boxes[1], "--analyzer", "basic", "--rounds", "1", "--json")
    done = command("Tea or milk?", "--agents", "box-a:llama3,box-b:llama3", *words)
    assert done.code == 0, done.both
    assert [agent["name"] for agent in done.json["agents"]] == ["box-a (llama3)", "box-b (llama3)"]  # type: ignore[index,call-overload,union-attr]


def test_a_hint_repeats_the_endpoints(command: Command, boxes: tuple[str, str]) -> None:
    words = ("--provider", boxes[0], "--analyzer", "basic", "--rounds", "1", "--agents", "box-a:m")
    done = command("Tea?", *words)
    assert done.code == 0, done.both
    shown = command("agents", "--provider", boxes[0], "--agents", "box-a:m")
    assert "box-a" in shown.out


@pytest.mark.parametrize("text", ["box-a", "box-a=", "=compatible", "box-a=compatible,"])
def test_a_mistyped_endpoint_is_refused(command: Command, text: str) -> None:
    done = command("Tea?", "--provider", text)
    assert done.code == 2
    assert "--provider takes NAME=KIND,URL" in done.both


def test_a_price_makes_a_budget_in_dollars_possible(command: Command, boxes: tuple[str, str]) -> None:
    words = ("--provider", boxes[0], "--analyzer", "basic", "--rounds", "1", "--agents", "box-a:m", "--json")
    refused = command("Tea?", *words, "--budget", "usd=1")
    assert refused.code == 2
    assert "no price is known for box-a:m" in refused.both
    done = command("Tea?", *words, "--budget", "usd=1000", "--price", "box-a:m=1000,1000")
    assert done.code == 0, done.both
    usage = done.json["usage"]  # type: ignore[index,call-overload]
    tokens = usage["inputTokens"] + usage["outputTokens"]
    assert usage["costUsd"] == pytest.approx(tokens / 1000)
    of_all = command("Tea?", *words, "--price", "box-a:*=0,0")
    assert of_all.json["usage"]["costUsd"] == 0  # type: ignore[index,call-overload]


@pytest.mark.parametrize(
    "text", ["box-a:m", "box-a:m=", "=1,2", "box-a:m=1", "box-a:m=1,2,3", "box-a:m=1,", "box-a:m=,1"]
)
def test_a_mistyped_price_is_refused(command: Command, text: str) -> None:
    done = command("Tea?", "--price", text)
    assert done.code == 2
    assert "--price takes PROVIDER:MODEL=INPUT,OUTPUT" in done.both


@pytest.mark.parametrize(
    ("prices", "reason"),
    [
        (["box-a:m=1,2", "box-a:m=3,4"], "'box-a:m' is given twice"),
        (["box-a:m=1,x"], "must be a number"),
        (["box-a:m=1,-2"], "at least 0"),
        (["box-a=1,2"], "'provider:model'"),
    ],
)
def test_an_impossible_price_is_refused(command: Command, prices: list[str], reason: str) -> None:
    done = command("Tea?", *(word for price in prices for word in ("--price", price)))
    assert done.code == 2
    assert reason in done.both


def test_doctor_names_each_endpoint_with_its_address_and_key(
    command: Command, boxes: tuple[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ROUNDTABLE_PROVIDERS", boxes[1])
    monkeypatch.setenv("ROUNDTABLE_BOX_A_API_KEY", "sk-canary")
    done = command("doctor", "--provider", boxes[0])
    text = " ".join(done.out.split())
    address = boxes[0].partition(",")[2]
    assert f"endpoint box-a: compatible at {address}, with the key of ROUNDTABLE_BOX_A_API_KEY; not called" in text
    assert "with no key, as ROUNDTABLE_BOX_B_API_KEY is not set; not called" in text
    assert "sk-canary" not in done.both

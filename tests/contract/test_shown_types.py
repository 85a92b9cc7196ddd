"""Data travels as the seeds write it: each type reads its example, writes it again, and refuses one with a gap."""

from __future__ import annotations

import json
from typing import Any

import pytest
from contract.examples import EXAMPLES
from contract.seed_api import ROWS
from contract.seed_checks import resolved
from contract.seed_rows import Member, Row, snake
from pydantic import ValidationError

from roundtable.errors import ConfigurationError

TYPES = {(row.seed, row.name): row for row in ROWS if row.kind == "type"}
CASES = [pytest.param(TYPES[key], example, id=f"{key[0]:03d}-{key[1]}") for key, example in EXAMPLES.items()]
every_type = pytest.mark.parametrize(("row", "example"), CASES)


def required(row: Row) -> list[str]:
    """Return the fields without which the seed's type is not one."""
    fields = [one for one in ROWS if one.seed == row.seed and one.name.rpartition(".")[0] == row.name]
    return [
        one.name.rpartition(".")[2]
        for one in fields
        if isinstance(one.expects, Member) and not one.expects.optional and resolved(one).is_required()
    ]


def part(whole: Any, wanted: Any) -> Any:
    """Return of a JSON value what another one asks for; ours may say more."""
    if isinstance(wanted, dict):
        return {name: part(whole[name], value) for name, value in wanted.items()}
    return [part(*pair) for pair in zip(whole, wanted, strict=True)] if isinstance(wanted, list) else whole


@every_type
def test_a_value_is_read_and_written_as_on_the_wire(row: Row, example: dict[str, Any]) -> None:
    value = resolved(row).from_json(json.dumps(example))
    assert part(json.loads(value.to_json()), example) == example
    assert type(value).from_json(value.to_json()) == value


@every_type
def test_a_value_with_a_gap_is_refused(row: Row, example: dict[str, Any]) -> None:
    for name in required(row):
        with pytest.raises((ValidationError, ConfigurationError), match=rf"{name}|{snake(name)}"):
            resolved(row).from_json(json.dumps({key: value for key, value in example.items() if key != name}))

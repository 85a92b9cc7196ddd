"""`--answer-schema`: a file with the type of what agents give beside their positions."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from cli.kit import Command, said, script

SCHEMA = {"type": "object", "properties": {"price": {"type": "number"}}, "required": ["price"]}


def test_values_of_the_type_in_a_file_are_in_the_result(command: Command) -> None:
    Path("price.json").write_text(json.dumps(SCHEMA), "utf-8")
    agents = ",".join(script(Path.cwd(), name, {"*": said("Tea", value={"price": 3})}) for name in ("ada", "bo"))
    done = command("Tea?", "--agents", agents, "--rounds", "1", "--answer-schema", "price.json", "--json")
    assert done.code == 0, done.both
    assert done.json["value"] == {"price": 3}  # type: ignore[index,call-overload]
    assert done.json["config"]["answerSchema"] == SCHEMA  # type: ignore[index,call-overload]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (None, "'price.json' cannot be read as JSON"),
        ("{", "'price.json' cannot be read as JSON"),
        ("[]", "'price.json' contains no JSON object"),
        ('{"type": "string"}', "must have"),
    ],
    ids=["missing", "no JSON", "a list", "no object"],
)
def test_a_file_without_a_valid_schema_is_refused(command: Command, text: str | None, problem: str) -> None:
    if text is not None:
        Path("price.json").write_text(text, "utf-8")
    agents = script(Path.cwd(), "ada", {"*": said("Tea")})
    done = command("Tea?", "--agents", agents, "--answer-schema", "price.json")
    assert done.code == 2
    assert problem in " ".join(done.err.split())

"""Conformance tests for tools, to inherit in the tests of a tool."""

from __future__ import annotations

import copy
import inspect
import json
from typing import TYPE_CHECKING, ClassVar

import anyio
import pytest
from jsonschema import Draft202012Validator  # type: ignore[import-untyped]  # it has no types

from roundtable.core.types.base import JsonValue
from roundtable.core.types.chat import AgentTool, ToolResult
from roundtable.testing.suite import Suite, runs_beside
from roundtable.tools import DefaultAgentToolkit

if TYPE_CHECKING:
    from roundtable.core.protocols import Tool
    from roundtable.core.types.base import JsonObject

__all__ = ["ToolSuite"]

JUNK: tuple[JsonValue, ...] = (None, True, -1, 1e308, "", "\0\ud83d", "'; --", "x" * 10_000, [], [None], {"a": [{}]})
"""Values that a model may send instead of a valid argument."""


class ToolSuite(Suite):
    """Tests of the `Tool` protocol: inherit this class, and define the fixture `tool` and a `good_input`.

    Example:
        ```python
        class TestWeather(ToolSuite):
            good_input = {"city": "Oslo"}

            @pytest.fixture
            def tool(self):
                return weather
        ```
    """

    good_input: ClassVar[JsonObject] = {}
    """Arguments with which the tool succeeds."""
    limit_s: ClassVar[float] = 10.0
    """Seconds that one call may take."""

    @pytest.fixture
    def tool(self) -> Tool:
        """Return the tool under test."""
        raise NotImplementedError("a tool suite needs a fixture `tool`")

    async def _run(self, tool: Tool, tool_input: JsonObject) -> ToolResult:
        """Call the tool as an agent does, through a toolkit: an error becomes a failed result."""
        toolkit = DefaultAgentToolkit(standard=False)
        toolkit.register_tool(tool)
        with anyio.fail_after(self.limit_s):
            return await toolkit.execute_tool(tool.definition.name, tool_input)

    def test_a_model_is_told_what_it_does(self, tool: Tool) -> None:
        """The tool has a name that is valid for every provider, a description, and a JSON Schema of its arguments."""
        definition = tool.definition
        assert isinstance(definition, AgentTool)
        assert definition.name.replace("_", "").replace("-", "").isalnum()
        assert definition.name.isascii()
        assert len(definition.name) <= 64
        assert definition.description.strip()
        assert not definition.parameters or definition.parameters.get("type") == "object"
        json.dumps(dict(definition.parameters))
        assert tool.definition == definition

    def test_its_schema_is_one_and_describes_its_arguments(self, tool: Tool) -> None:
        """The schema is valid, matches the good input, and describes every argument of the good input."""
        schema = dict(tool.definition.parameters)
        Draft202012Validator.check_schema(schema)
        faults = [fault.message for fault in Draft202012Validator(schema).iter_errors(dict(self.good_input))]
        assert not faults, f"set `good_input` in your class: {self.good_input!r} does not fit the schema: {faults[0]}"
        properties = schema.get("properties", {})
        assert isinstance(properties, dict)
        unknown = [name for name in self.good_input if name not in properties]
        assert not unknown, f"the schema does not describe {unknown}"

    async def test_it_succeeds_on_a_good_input(self, tool: Tool) -> None:
        """The result of a good input can be stored as JSON."""
        result = await self._run(tool, copy.deepcopy(self.good_input))
        assert result.success, result.error
        assert result.error is None, "a result that succeeded has no error"
        assert ToolResult.model_validate_json(result.model_dump_json()) == result

    async def test_it_returns_a_tool_result(self, tool: Tool) -> None:
        """`run` is a coroutine function with one argument, and returns a `ToolResult`."""
        inspect.signature(tool.run).bind(dict(self.good_input))
        with anyio.fail_after(self.limit_s):
            pending: object = tool.run(copy.deepcopy(self.good_input))
            assert inspect.isawaitable(pending), f"run must be `async def`; it returned {type(pending).__name__}"
            result: object = await pending
        assert isinstance(result, ToolResult), f"run must return a ToolResult, not {type(result).__name__}"

    async def test_it_lets_other_agents_run(self, tool: Tool) -> None:
        """A call does not block the event loop, on which all debates of the process run."""
        await runs_beside(lambda: self._run(tool, copy.deepcopy(self.good_input)))

    async def test_an_input_is_left_as_it_was(self, tool: Tool) -> None:
        """The input is recorded, so the tool must not change it."""
        tool_input = copy.deepcopy(self.good_input)
        await self._run(tool, tool_input)
        assert tool_input == self.good_input

    @pytest.mark.parametrize("junk", JUNK, ids=[f"junk {index}" for index in range(len(JUNK))])
    async def test_a_bad_input_is_a_result(self, tool: Tool, junk: JsonValue) -> None:
        """The call ends for any input, and a failed result has a message."""
        names = [*self.good_input, "no_such_argument"]
        inputs: tuple[JsonObject, ...] = ({names[0]: junk}, dict.fromkeys(names, junk))
        for tool_input in inputs:
            result = await self._run(tool, dict(tool_input))
            assert result.success or result.error, "a failed result needs a message"

    async def test_calls_at_once_do_not_disturb_each_other(self, tool: Tool) -> None:
        """Agents of one stage may call the tool at the same time."""
        results: list[ToolResult] = []

        async def call() -> None:
            results.append(await self._run(tool, copy.deepcopy(self.good_input)))

        async with anyio.create_task_group() as group:
            for _ in range(3):
                group.start_soon(call)
        assert all(result.success for result in results)

"""Tools by themselves: made from functions, checked, bounded, tried again, never raising."""

from __future__ import annotations

import datetime as dt
import functools
import threading
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import anyio
import pytest
from pydantic import BaseModel, Field
from snapshots.prompt_views import planned, view

from roundtable import tool
from roundtable.errors import APIRateLimitError, ConfigurationError
from roundtable.tools import (
    TOOL_ATTEMPTS,
    DefaultAgentToolkit,
    ToolDefinition,
    create_default_toolkit,
    is_transient_error,
)
from roundtable.tools.toolkit import call_tool, misfits
from roundtable.types import JsonObject, ToolResult


class City(BaseModel):
    """A city."""

    name: str
    people: Annotated[int, Field(ge=0)] = 0


@dataclass
class Point:
    x: float
    y: float = 0.0


def definition(execute: object, **facts: object) -> ToolDefinition:
    return ToolDefinition("probe", "Probes.", {"type": "object"}, execute, **facts)  # type: ignore[arg-type]


async def no_wait(seconds: float) -> None:
    """Wait for nothing; the delays themselves are looked at elsewhere."""


# ---------------------------------------------------------------- from functions


def test_a_function_becomes_a_tool_with_its_name_text_and_schema() -> None:
    @tool
    def area(shape: Literal["square", "circle"], side: float, unit: str = "m") -> float:
        """Return the area of a shape.

        Works for two shapes.

        Args:
            shape: Which one.
            side: Length of a side,
                or the radius.

        Returns:
            The area.
        """
        return side * side

    assert (area.name, area.description) == ("area", "Return the area of a shape. Works for two shapes.")
    assert area.parameters == {
        "type": "object",
        "properties": {
            "shape": {"type": "string", "enum": ["square", "circle"], "description": "Which one."},
            "side": {"type": "number", "description": "Length of a side, or the radius."},
            "unit": {"type": "string", "default": "m"},
        },
        "required": ["shape", "side"],
        "additionalProperties": False,
    }
    assert area("square", 3) == 9


def test_a_field_list_in_a_docstring_describes_parameters_too() -> None:
    def look(word):
        """Look a word up.

        :param str word: The word.
        """

    made = tool(look)
    assert made.description == "Look a word up."
    assert made.parameters["properties"] == {"word": {"description": "The word."}}


def test_stated_descriptions_win_over_derived_ones() -> None:
    made = tool(name="other", description="Does it.", retryable=True, cached=False, timeout_s=5)(lambda: 1)
    assert (made.name, made.description, made.retryable, made.cached) == ("other", "Does it.", True, False)
    assert made.timeout_s == 5


async def test_models_dataclasses_and_awkward_names_are_passed_with_their_types() -> None:
    @tool
    def where(city: City, at: Point, model_config: list[int], self: bool = False, *, schema: str = "s") -> list[object]:
        return [type(city).__name__, city.people, at.x, model_config, self, schema]

    given: JsonObject = {"city": {"name": "Rome"}, "at": {"x": 1}, "model_config": [1], "schema": "t"}
    assert (await where.run(given)).data == ["City", 0, 1.0, [1], False, "t"]


async def test_methods_partials_and_callable_objects_are_functions_too() -> None:
    class Shop:
        def price(self, item: str) -> str:
            return f"{item}: 3"

        async def __call__(self, item: str) -> str:
            return item

    assert (await tool(Shop().price).run({"item": "tea"})).data == "tea: 3"
    assert (await tool(name="shop")(Shop()).run({"item": "tea"})).data == "tea"
    half = tool(functools.partial(pow, 2))
    assert half.name == "pow"


async def test_valid_arguments_with_a_wrong_value_are_reported_in_plain_words() -> None:
    @tool
    def opened(day: dt.date) -> str:
        return str(day)

    @tool
    async def closed(day: dt.date) -> str:
        return str(day)

    for made in (opened, closed):
        assert (await made.run({"day": "2026-01-02"})).data == "2026-01-02"
        error = (await made.run({"day": "soon"})).error or ""
        assert error.startswith("the arguments do not fit: day: Input should be a valid date")
        assert "pydantic" not in error


async def test_an_async_function_inside_a_plain_decorator_is_awaited() -> None:
    async def inner(item: str) -> str:
        return item.upper()

    @functools.wraps(inner)
    def logged(item: str) -> Any:
        return inner(item)

    assert (await tool(logged).run({"item": "tea"})).data == "TEA"


@pytest.mark.parametrize(
    "function",
    [lambda *args: 0, lambda **kwargs: 0, lambda a, /: 0],
    ids=["args", "kwargs", "by place only"],
)
def test_parameters_without_a_name_are_refused(function: object) -> None:
    with pytest.raises(ConfigurationError, match="cannot be passed by keyword"):
        tool(name="odd")(function)  # type: ignore[call-overload]


def test_a_type_without_a_schema_is_refused() -> None:
    def odd(lock: threading.Thread) -> None: ...

    with pytest.raises(ConfigurationError, match="no JSON Schema"):
        tool(odd)


@pytest.mark.parametrize("name", ["", "two words", "über", "a" * 65, "1st", "a:b", "<lambda>"])
def test_a_name_that_some_provider_refuses_is_refused(name: str) -> None:
    with pytest.raises(ConfigurationError, match="invalid tool name"):
        ToolDefinition(name, "d", {}, lambda given: given)


def test_a_time_limit_of_zero_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="above 0"):
        definition(lambda given: given, timeout_s=0)


# ---------------------------------------------------------------- calling


async def test_a_plain_function_runs_on_its_own_thread() -> None:
    names: list[str] = []
    await call_tool(definition(lambda given: names.append(threading.current_thread().name)), {})
    assert names == ["roundtable tool"]


async def test_a_blocking_tool_does_not_delay_others() -> None:
    begun, release = threading.Event(), threading.Event()

    def block(_given: JsonObject) -> bool:
        begun.set()
        return release.wait(20)

    results: list[ToolResult] = []
    async with anyio.create_task_group() as group:

        async def call() -> None:
            results.append(await call_tool(definition(block), {}))

        group.start_soon(call)
        while not begun.is_set():  # noqa: ASYNC110  (set on a thread)
            await anyio.sleep(0.001)
        release.set()  # only a loop that runs while the tool blocks comes here
    assert [result.data for result in results] == [True]


@pytest.mark.parametrize("kind", ["async", "plain"])
async def test_a_tool_that_hangs_is_cancelled(kind: str) -> None:
    ended: list[str] = []
    release = threading.Event()

    async def hang(given: JsonObject) -> None:
        try:
            await anyio.sleep(3600)
        finally:
            ended.append("cancelled")

    slow = definition(hang if kind == "async" else lambda given: release.wait(3600), timeout_s=0.02)
    result = await call_tool(slow, {})
    release.set()
    assert (result.success, result.error) == (False, 'Tool "probe" timed out after 20ms')
    assert ended == (["cancelled"] if kind == "async" else [])


def test_the_limit_of_an_attempt_is_30_seconds() -> None:
    assert definition(lambda given: given).timeout_s == 30


async def test_a_retryable_tool_is_tried_again_after_temporary_errors() -> None:
    """Of seed 001: twice ECONNRESET, then success."""
    calls: list[JsonObject] = []
    waited: list[float] = []

    def flaky(given: JsonObject) -> str:
        calls.append(given)
        if len(calls) < TOOL_ATTEMPTS:
            raise OSError("read ECONNRESET")
        return "there"

    async def wait(seconds: float) -> None:
        waited.append(seconds)

    result = await call_tool(definition(flaky, retryable=True), {"a": 1}, sleep=wait)
    assert result == ToolResult(success=True, data="there")
    assert calls == [{"a": 1}] * 3
    assert waited == [0.5, 1.0]


async def test_a_tool_that_is_not_retryable_fails_at_once() -> None:
    """Of seed 001."""
    calls: list[JsonObject] = []

    def flaky(given: JsonObject) -> str:
        calls.append(given)
        raise OSError("read ECONNRESET")

    result = await call_tool(definition(flaky), {}, sleep=no_wait)
    assert (result.success, len(calls)) == (False, 1)


@pytest.mark.parametrize(("error", "calls"), [("connect ETIMEDOUT", 3), ("no such city", 1)])
async def test_only_temporary_errors_are_retried(error: str, calls: int) -> None:
    made: list[str] = []

    class Told:
        definition = definition(lambda given: given).definition
        retryable = True

        async def run(self, tool_input: JsonObject) -> ToolResult:
            made.append(error)
            return ToolResult(success=False, error=error)

    result = await call_tool(Told(), {}, sleep=no_wait)
    assert (result.error, len(made)) == (error, calls)


async def test_a_timeout_counts_as_temporary_and_is_retried() -> None:
    calls: list[int] = []

    async def late(given: JsonObject) -> str:
        calls.append(1)
        if len(calls) == 1:
            await anyio.sleep(3600)
        return "there"

    assert (await call_tool(definition(late, retryable=True, timeout_s=0.5), {}, sleep=no_wait)).data == "there"


@pytest.mark.parametrize(
    ("error", "passes"),
    [
        (ConnectionResetError(), True),
        (TimeoutError(), True),
        (APIRateLimitError("slower"), True),
        (ConfigurationError("no"), False),
        ("fetch failed", True),
        ("Tool timed out after 30000ms", True),
        (KeyError("x"), False),
        (None, False),
    ],
    ids=repr,
)
def test_temporary_errors_are_recognized(error: object, passes: bool) -> None:
    assert is_transient_error(error) is passes


class Custom(BaseException):
    """What is not made to be caught."""


@pytest.mark.parametrize("error", [KeyError("k"), KeyboardInterrupt(), SystemExit(3), GeneratorExit(), Custom("c")])
async def test_any_error_of_a_plain_function_is_reported(error: BaseException) -> None:
    def fail(given: JsonObject) -> None:
        raise error

    result = await call_tool(definition(fail), {})
    assert not result.success
    assert type(error).__name__ in str(result.error)


async def test_an_async_object_inside_a_partial_is_a_tool() -> None:
    class Shop:
        async def __call__(self, item: str, *, shelf: str) -> str:
            await anyio.lowlevel.checkpoint()
            return f"{item} on {shelf}"

    order = tool(name="order")(functools.partial(Shop(), shelf="top"))
    result = await call_tool(order, {"item": "tea"})
    assert (result.error, result.data) == (None, "tea on top")


@pytest.mark.parametrize("kind", [Exception, BaseException])
async def test_an_error_that_cannot_be_shown_is_reported_too(kind: type[BaseException]) -> None:
    class Mute(kind):  # type: ignore[misc,valid-type]  # the base is the case
        def __str__(self) -> str:
            raise LookupError

    def plain(given: JsonObject) -> None:
        raise Mute

    async def coloured(given: JsonObject) -> None:
        raise Mute

    for function in (plain, coloured):
        told = (await call_tool(definition(function, retryable=True), {})).error or ""
        assert "Mute: (it cannot be shown: LookupError)" in told


async def test_any_other_error_of_an_async_tool_is_reported() -> None:
    async def fail(given: JsonObject) -> None:
        raise Custom("c")

    assert (await call_tool(definition(fail), {})).error == "Custom: c"


async def test_a_cancelled_turn_cancels_its_tool() -> None:
    release = threading.Event()
    with anyio.move_on_after(0.02) as scope:
        await call_tool(definition(lambda given: release.wait(60)), {})
    release.set()
    assert scope.cancelled_caught


async def cyclic() -> object:
    loop: list[object] = []
    loop.append(loop)
    return loop


@pytest.mark.parametrize(
    ("given", "data"),
    [
        (float("nan"), "NaN"),
        (City(name="Rome"), {"name": "Rome", "people": 0}),
        (Point(1), {"x": 1.0, "y": 0.0}),
        (b"text", "text"),
        (None, None),
        ({1: {2}}, {"1": [2]}),
        (ToolResult(success=True, data=[1]), [1]),
    ],
    ids=["nan", "model", "dataclass", "bytes", "none", "keys and sets", "a result"],
)
async def test_the_return_value_of_a_tool_becomes_json(given: object, data: object) -> None:
    assert await call_tool(definition(lambda _: given), {}) == ToolResult(success=True, data=data)


@pytest.mark.parametrize("kind", ["bytes", "cycle", "object"])
async def test_a_return_value_that_json_cannot_express_is_a_failure(kind: str) -> None:
    given = {"bytes": b"\xff\xfe", "cycle": await cyclic(), "object": object()}[kind]
    result = await call_tool(definition(lambda _: given), {})
    assert not result.success
    assert "does not fit into JSON" in str(result.error)


async def test_a_huge_result_is_cut() -> None:
    result = await call_tool(definition(lambda _: "é" * 1_000_000), {})
    assert result.success
    assert len(str(result.data).encode()) < 20_020
    assert str(result.data).endswith("é … (cut)")
    given = ToolResult(success=True, data="x" * 30_000)
    assert len(str((await call_tool(definition(lambda _: given), {})).data)) == 20_008


def nested(depth: int) -> list[Any]:
    """Make a list of so many levels."""
    value: list[Any] = []
    for _ in range(depth - 1):
        value = [value]
    return value


class Box(BaseModel):
    inside: object


@pytest.mark.parametrize("wrap", [lambda x: x, lambda x: ToolResult(success=True, data=x)], ids=["value", "result"])
async def test_a_result_nested_too_deeply_is_given_as_text(wrap: Any) -> None:
    for depth in (65, 194, 250):
        deep = await call_tool(definition(lambda _, depth=depth: wrap(nested(depth))), {})
        assert deep == ToolResult(success=True, data="[" * depth + "]" * depth)
    kept = await call_tool(definition(lambda _: wrap(nested(64))), {})
    assert kept.data == nested(64)


async def test_a_result_nested_too_deeply_inside_an_object_is_given_as_text_too() -> None:
    deep = await call_tool(definition(lambda _: Box(inside=nested(100))), {})
    assert deep.data == '{"inside":' + "[" * 100 + "]" * 100 + "}"
    long = await call_tool(definition(lambda _: [nested(100)] * 1_000), {})
    assert str(long.data).endswith(" … (cut)")


# ---------------------------------------------------------------- the toolkit


def counting() -> tuple[ToolDefinition, list[JsonObject]]:
    ran: list[JsonObject] = []

    async def run(given: JsonObject) -> int:
        ran.append(given)
        await anyio.sleep(0.01)
        return len(ran)

    return definition(run), ran


def toolkit_of(*tools: ToolDefinition) -> DefaultAgentToolkit:
    kit = DefaultAgentToolkit(standard=False)
    for one in tools:
        kit.register_tool(one)
    return kit


async def test_a_tool_can_be_registered_only_once() -> None:
    made, _ = counting()
    kit = toolkit_of(made)
    assert [one.name for one in kit.get_tools()] == ["probe"]
    with pytest.raises(ConfigurationError, match="two tools named 'probe'"):
        kit.register_tool(made)


async def test_an_unknown_tool_and_wrong_arguments_give_failed_results() -> None:
    @tool
    def echo(text: str) -> str:
        return text

    kit = toolkit_of(echo)
    assert (await kit.execute_tool("gone\x1b[2J", {})).error == "Tool not found: gone?[2J"
    assert (await kit.execute_tool("echo", {"text": 3})).error == "the arguments do not fit: text: must be string"
    assert (await kit.execute_tool("echo", {"text": "a"})).data == "a"


async def test_a_number_that_no_float_can_hold_is_passed_to_the_tool() -> None:
    @tool
    def digits(number: int) -> int:
        return len(str(number))

    @tool
    def half(number: float) -> float:
        return number / 2

    kit = toolkit_of(digits, half)
    assert (await kit.execute_tool("digits", {"number": 10**400})).data == 401
    assert not (await kit.execute_tool("half", {"number": 10**400})).success


async def test_arguments_nested_too_deeply_give_a_failed_result() -> None:
    made, ran = counting()
    kit = toolkit_of(made)
    deep = await kit.execute_tool("probe", {"a": nested(64)})
    assert (deep.success, deep.error, ran) == (False, "the arguments are nested more than 64 levels deep", [])
    assert (await kit.execute_tool("probe", {"a": nested(63)})).success


@pytest.mark.parametrize(
    "schema",
    [
        {"required": 5},
        {"required": [["a"]]},
        {"type": 5},
        {"type": [[]]},
        {"enum": 5},
        {"anyOf": 5},
        {"properties": {"a": {"minLength": "x"}}},
        {"properties": []},
        {"$ref": 5},
    ],
    ids=repr,
)
async def test_an_invalid_schema_does_not_end_the_turn(schema: JsonObject) -> None:
    kit = DefaultAgentToolkit(standard=False)
    kit.register_tool(ToolDefinition("strange", "Of a stranger.", schema, lambda given: given["a"]))
    assert (await kit.execute_tool("strange", {"a": "tea"})).data == "tea"


def test_wrong_arguments_are_reported_even_if_the_rest_of_the_schema_is_invalid() -> None:
    assert misfits({"a": "x"}, {"required": ["b"], "properties": {"a": {"minLength": "x"}}}) == "b: is missing"


async def test_equal_calls_in_a_round_are_made_once_for_all_agents() -> None:
    made, ran = counting()
    kit = toolkit_of(made)
    ada, bo = kit.for_turn(planned(view())), kit.for_turn(planned(view()))
    outcomes = []

    async def call(one: DefaultAgentToolkit, given: JsonObject) -> None:
        outcomes.append(await one.call("probe", given))

    async with anyio.create_task_group() as group:
        group.start_soon(call, ada, {"a": 1, "b": 2})
        group.start_soon(call, bo, {"b": 2, "a": 1})
    await call(ada, {"a": 1, "b": 2})
    await call(bo, {"a": 2})
    assert ran == [{"a": 1, "b": 2}, {"a": 2}]
    assert [outcome.cached for outcome in outcomes] == [False, True, True, False]
    assert [outcome.result.data for outcome in outcomes] == [1, 1, 1, 2]


async def test_results_are_not_shared_with_another_round_another_debate_or_no_debate() -> None:
    made, ran = counting()
    kit = toolkit_of(made)
    here = planned(view())
    for context in (here, here.model_copy(update={"current_round": 9}), here.model_copy(update={"session_id": "t"})):
        await kit.for_turn(context).execute_tool("probe", {})
    await kit.execute_tool("probe", {})
    await kit.execute_tool("probe", {})
    assert len(ran) == 5


async def test_a_tool_may_opt_out_of_sharing() -> None:
    made, ran = counting()
    kit = toolkit_of(definition(made.execute, cached=False)).for_turn(planned(view()))
    for _ in range(2):
        assert not (await kit.call("probe", {})).cached
    assert len(ran) == 2


async def test_a_failure_is_not_cached_and_a_cancelled_call_is_made_by_the_next_waiting_agent() -> None:
    calls: list[int] = []

    async def run(given: JsonObject) -> str:
        calls.append(1)
        if len(calls) == 1:
            await anyio.sleep(3600)
        if len(calls) == 2:
            raise ValueError("no")
        return "there"

    kit = toolkit_of(definition(run)).for_turn(planned(view()))
    results: list[ToolResult] = []

    async def wait() -> None:
        results.append(await kit.execute_tool("probe", {}))

    async with anyio.create_task_group() as group:
        with anyio.move_on_after(0.02):
            group.start_soon(anyio.sleep, 0)
            await kit.execute_tool("probe", {})
        group.start_soon(wait)
    results.append(await kit.execute_tool("probe", {}))
    assert [result.success for result in results] == [False, True]


@pytest.mark.slow
async def test_results_of_old_debates_are_removed() -> None:
    kit = toolkit_of(definition(lambda given: 1))
    for number in range(300):
        await kit.for_turn(planned(view()).model_copy(update={"session_id": str(number)})).execute_tool("probe", {})
    assert len(kit._shared._rounds) == 256


async def test_tools_of_a_custom_toolkit_are_offered_with_the_limits_of_the_library() -> None:
    inner = toolkit_of(definition(lambda given: "theirs"))
    kit = toolkit_of()
    kit.include(inner)
    assert (await kit.for_turn(planned(view())).execute_tool("probe", {})).data == "theirs"
    kit.register_tool(definition(lambda given: "ours"))
    assert (await kit.execute_tool("probe", {})).data == "ours"
    assert len(kit.get_tools()) == 1


async def test_the_default_toolkit_looks_at_the_context_it_is_given() -> None:
    kit = create_default_toolkit()
    assert (await kit.execute_tool("get_context", {})).error == "there is no debate to look at"
    kit.set_context(view())
    found = await kit.execute_tool("get_context", {})
    assert isinstance(found.data, dict)
    assert found.data["topic"] == view().topic


async def test_a_long_error_of_a_tool_is_cut() -> None:
    given = ToolResult(success=False, error="no " * 1000)
    assert len(str((await call_tool(definition(lambda _: given), {})).error)) == 500

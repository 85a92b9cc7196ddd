"""What the library logs reaches one place, in one line a record, without secrets and without control characters."""

from __future__ import annotations

import io
import json
import logging
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from roundtable.errors import ConfigurationError
from roundtable.logs import ContextFormatter, configure_logging

if TYPE_CHECKING:
    from collections.abc import Iterator

CANARY = "sk-canary-8f14e45fceea167a"
LOGGER = logging.getLogger("roundtable.engine")


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def refuse(why: str) -> None:
    raise ValueError(why)


@pytest.fixture(autouse=True)
def own_configuration() -> Iterator[None]:
    root = logging.getLogger("roundtable")
    before = root.level, list(root.handlers)
    yield
    root.setLevel(before[0])
    for handler in [handler for handler in root.handlers if handler not in before[1]]:
        root.removeHandler(handler)


def test_a_line_is_json_if_the_output_is_not_a_terminal() -> None:
    out = io.StringIO()
    configure_logging("info", stream=out)
    LOGGER.warning("slow turn", extra={"session": "s1", "agent": "ada", "round": 2, "share": 0.5, "stage": None})
    line = json.loads(out.getvalue())
    assert line.pop("timestamp").endswith("Z")
    assert line == {
        "level": "warning",
        "logger": "roundtable.engine",
        "message": "slow turn",
        "session": "s1",
        "agent": "ada",
        "round": 2,
        "share": 0.5,
    }


def test_a_line_is_text_on_a_terminal_with_the_context_at_its_end() -> None:
    out = Terminal()
    configure_logging("info", stream=out)
    LOGGER.warning("slow turn", extra={"agent": "ada", "why": "took too long", "round": 2, "empty": ""})
    text = out.getvalue()
    assert " WARNING roundtable.engine: slow turn  " in text
    assert text.endswith('agent=ada why="took too long" round=2 empty=""\n')


def test_json_can_be_requested_on_a_terminal() -> None:
    out = Terminal()
    configure_logging("info", stream=out, json=True)
    LOGGER.warning("slow turn")
    assert json.loads(out.getvalue())["message"] == "slow turn"


def test_without_a_stream_lines_go_to_the_current_standard_error(capsys: pytest.CaptureFixture[str]) -> None:
    configure_logging("info", json=False)
    LOGGER.warning("heard")
    assert "heard" in capsys.readouterr().err


@pytest.mark.parametrize(("level", "heard"), [("debug", 3), ("info", 2), ("warning", 1), ("error", 0), ("critical", 0)])
def test_messages_below_the_level_are_not_written(level: str, heard: int) -> None:
    out = io.StringIO()
    configure_logging(level, stream=out)
    LOGGER.debug("one")
    LOGGER.info("two")
    LOGGER.warning("three")
    assert len(out.getvalue().splitlines()) == heard


def test_configuring_again_replaces_the_output() -> None:
    first, second = io.StringIO(), io.StringIO()
    configure_logging("info", stream=first)
    configure_logging("info", stream=second)
    LOGGER.warning("once")
    assert first.getvalue() == ""
    assert second.getvalue().count("once") == 1


@pytest.mark.parametrize("as_json", [True, False])
def test_a_secret_is_removed_from_every_part_of_a_record(as_json: bool) -> None:
    out = io.StringIO()
    configure_logging("debug", stream=out, json=as_json, secrets=[CANARY, "x", CANARY[:8]], stack=True)
    try:
        refuse(f"refused {CANARY}")
    except ValueError:
        LOGGER.exception("next call with %s failed", CANARY, extra={"header": f"Bearer {CANARY}", "tried": [CANARY]})
    LOGGER.warning("%s", {"key": CANARY}, extra={CANARY: 1})
    assert "canary" not in out.getvalue()
    assert out.getvalue().count("[redacted]") >= 5
    assert "x" in "".join(out.getvalue().split("[redacted]"))


def test_control_characters_are_written_as_escapes_in_one_line() -> None:
    out = Terminal()
    configure_logging("info", stream=out)
    LOGGER.warning("one\ntwo \x1b[31mred\x1b[0m \u202egnp.exe \u2028", extra={"agent": "a\r\nlevel=error"})
    text = out.getvalue()
    assert text.count("\n") == 1
    assert "\x1b" not in text
    assert "\u202e" not in text
    assert r"one\ntwo \x1b[31mred" in text


def test_letters_of_any_script_are_kept() -> None:
    form = ContextFormatter()
    record = logging.makeLogRecord({"msg": "über 東京 ✓ 👍", "name": "roundtable"})
    assert "über 東京 ✓ 👍" in form.format(record)


def test_an_exception_is_named_and_its_stack_only_written_on_request() -> None:
    def logged(*, stack: bool) -> dict[str, object]:
        out = io.StringIO()
        configure_logging("info", stream=out, stack=stack)
        try:
            refuse("broken")
        except ValueError:
            LOGGER.exception("failed")
        return json.loads(out.getvalue())

    assert logged(stack=False)["error"] == "ValueError: broken"
    assert "stack" not in logged(stack=False)
    assert "Traceback" in str(logged(stack=True)["stack"])


def test_numbers_that_json_cannot_express_are_written_as_text() -> None:
    out = io.StringIO()
    configure_logging("info", stream=out)
    LOGGER.warning("odd", extra={"share": float("nan")})
    assert json.loads(out.getvalue())["share"] == "nan"


def test_an_unknown_level_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="debug, info"):
        configure_logging("loud")


def test_the_library_says_nothing_by_itself() -> None:
    code = "import logging, roundtable.logs; logging.getLogger('roundtable.engine').warning('unheard')"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout + done.stderr == ""

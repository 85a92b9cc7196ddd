"""The parts of the command: what is told of an event, how a terminal looks, what a signal does."""

from __future__ import annotations

import io
import os
import re
import signal
import sys
import threading
from typing import TYPE_CHECKING

import anyio
import anyio.lowlevel
import pytest
from rich.console import Console

from roundtable.__main__ import main
from roundtable.cli.event_printer import EventPrinter, line, turn_lines
from roundtable.cli.exit_codes import MEANING, ExitCode, exit_code
from roundtable.cli.live import picture
from roundtable.cli.render import Screen
from roundtable.cli.signals import Outcome, interruptible
from roundtable.cli.storage_location import find_storage
from roundtable.core.types.base import utc_now
from roundtable.errors import BudgetExceeded, ContextTooLong, PluginError, RoundtableError, SessionBusy, error_kinds
from roundtable.settings import Settings
from roundtable.testing.servers import LoopbackServer, WireReply
from roundtable.testing.storage_samples import answered
from roundtable.types import (
    AgentError,
    AgentResponseChunk,
    AgentStart,
    ContextRequest,
    ContextRequested,
    Control,
    ErrorInfo,
    FailedTurn,
    Retry,
    RoundRecord,
    RoundStart,
    TextAnswer,
    Turn,
    TurnResult,
)

if TYPE_CHECKING:
    from pathlib import Path

    from cli.kit import Command

NOW = utc_now()
ERROR = ErrorInfo(
    name="APIRateLimitError", message="slow\x1b[31m down", code="API_RATE_LIMIT", hint="wait [b]a bit[/b]"
)
IN_A_SESSION = {"session_id": "s", "timestamp": NOW}


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def story() -> EventPrinter:
    told = EventPrinter({"ada": "Ada [x]", "bo": "Bo\x07"}, 2, lambda: 100.0)
    told.handle_event(RoundStart(**IN_A_SESSION, round=1, agents=("ada", "bo")))
    return told


def failed(agent: str) -> AgentError:
    turn = FailedTurn(round=1, stage="positions", slot=1, agent_id=agent, timestamp=NOW, error=ERROR)
    return AgentError(**IN_A_SESSION, turn=turn, agent=agent, round=1, error=ERROR.message)


# ------------------------------------------------------------------ codes


def test_every_error_has_an_exit_code_and_every_exit_code_a_meaning() -> None:
    assert {exit_code(kind()) for kind in error_kinds()} == {ExitCode(number) for number in range(1, 8)}
    assert set(MEANING) == set(ExitCode)
    assert [exit_code(error) for error in (SessionBusy(), ContextTooLong(), PluginError(), BudgetExceeded())] == [
        6,
        1,
        1,
        1,
    ]


# ------------------------------------------------------------------ the story


def test_a_round_shows_who_thinks_writes_retries_and_fails() -> None:
    told = story()
    assert [doing.state for doing in told.doing] == ["waiting", "waiting"]
    start = AgentStart(**IN_A_SESSION, agent="ada", round=1, stage="positions", slot=0)
    assert told.handle_event(start) == []
    assert (told.doing[0].state, told.doing[0].since_s) == ("thinking", 100.0)
    assert told.handle_event(AgentResponseChunk(**IN_A_SESSION, agent="ada", round=1, chunk="Te")) == []
    assert told.doing[0].state == "writing"
    lines = told.handle_event(Retry(**IN_A_SESSION, agent="ada", attempt=2, delay_s=0.5, error=ERROR))
    assert [shown.text for shown in lines] == ["Ada [x]: try 2 in 0.5 s, after: slow[31m down"]
    assert told.doing[0].state == "try 2"
    assert "a model: try 3" in told.handle_event(Retry(**IN_A_SESSION, attempt=3, delay_s=1, error=ERROR))[0].text
    shown = told.handle_event(failed("bo"))
    assert [one.text for one in shown] == ["bo FAILED: slow[31m down", "hint: wait [b]a bit[/b]"]
    assert told.doing[1].state == "failed"


def test_an_interrupted_round_continues_with_the_answers_it_has() -> None:
    told = EventPrinter({"ada": "Ada", "bo": "Bo", "cy": "Cy"}, 3, lambda: 100.0)
    spoken = answered("s", round=2).turn
    lines = told.take_up(RoundRecord(number=2, turns=(spoken, failed("bo").turn), focus_question="At noon?"))
    assert lines[0].text == "Round 2 of 3: At noon?"
    assert [one.text for one in lines if "FAILED" in one.text] == ["bo FAILED: slow[31m down"]
    assert lines[-1].text == "stored before; resumed here"
    assert [(doing.state, doing.position) for doing in told.doing] == [
        ("answered", "Tea"),
        ("failed", ""),
        ("waiting", ""),
    ]
    assert told.title == "Round 2 of 3"
    assert [one.text for one in told.take_up(RoundRecord(number=3))] == ["Round 3 of 3"]


def test_events_of_agents_outside_the_round_are_shown_without_a_place() -> None:
    told = story()
    before = told.doing
    assert told.handle_event(failed("cy"))
    assert told.doing == before


def test_requests_for_information_and_requests_to_stop_are_shown() -> None:
    told = story()
    request = ContextRequest(id="r1", agent_id="ada", query="Which team?", reason="It matters.", priority="optional")
    lines = told.handle_event(ContextRequested(**IN_A_SESSION, round=1, requests=(request,)))
    assert lines[1].text == "Ada [x] asks (optional): Which team?"
    assert told.handle_event(Control(**IN_A_SESSION, action="stop", by="Eve"))[0].text == "Eve asked to stop the debate"
    assert told.handle_event(Control(**IN_A_SESSION, action="pause"))[0].text == "Someone asked to pause the debate"
    assert told.handle_event(Control(**IN_A_SESSION, action="extend", total_rounds=7)) == []
    assert told.title == "Round 1 of 7"


def test_a_turn_that_gave_no_position_and_one_in_a_role_are_shown() -> None:
    turn = Turn(
        round=1,
        stage="verdict",
        slot=0,
        agent_id="judge",
        role="judge",
        timestamp=NOW,
        result=TurnResult(answer=TextAnswer(text="Enough."), warnings=("odd",)),
    )
    assert [shown.text for shown in turn_lines(turn)] == ["judge (judge): Enough.", "note: odd"]


def test_the_display_of_a_round_reads_nothing_as_markup() -> None:
    told = story()
    told.handle_event(AgentStart(**IN_A_SESSION, agent="bo", round=1, stage="positions", slot=1))
    told.levels = ("0.50", "1.00")
    console = Console(file=io.StringIO(), width=80, record=True)
    console.print(picture(told, 103.4))
    text = console.export_text()
    assert "Round 1 of 2 · agreement so far: 0.50, 1.00" in text
    assert "Ada [x]" in text
    assert "thinking 3 s" in text
    console.print(picture(EventPrinter({}, 1, lambda: 0.0), 0.0))
    assert console.export_text().strip() == "Starting"


# ------------------------------------------------------------------ the screen


def test_a_terminal_gets_colours_and_is_restored(monkeypatch: pytest.MonkeyPatch) -> None:
    out, err = Terminal(), Terminal()
    monkeypatch.setattr(sys, "stdout", out)
    monkeypatch.setattr(sys, "stderr", err)
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.delenv("NO_COLOR", raising=False)
    screen = Screen()
    screen.show([line("[bold]no markup[/bold]", "bold red", indent=2)])
    with screen.show_live(story()):
        screen.show([line("within")])
    screen.restore()
    text = out.getvalue()
    assert "[bold]no markup[/bold]" in text
    assert "\x1b[1;31m" in text
    assert text.rstrip().endswith("\x1b[?25h")
    screen.progress(10**6, 4 * 10**6)
    screen.progress(4 * 10**6, 4 * 10**6)
    assert err.getvalue().endswith("\rDownloading the embedded model: 100 % of 4 MB\n")


@pytest.mark.parametrize("live", [True, False])
def test_paths_and_commands_are_not_broken_on_a_narrow_terminal(monkeypatch: pytest.MonkeyPatch, live: bool) -> None:
    path, out = "/home/ada/a-folder-with-a-very/long_name-of-many/debates.db", Terminal()
    command = f"roundtable show 1a2b3c4d --db '{path.replace('ada', 'my  own')}'"
    monkeypatch.setattr(sys, "stdout", out)
    monkeypatch.setattr(Screen, "width", 20)
    monkeypatch.setenv("COLUMNS", "20")
    monkeypatch.setenv("TERM", "xterm-256color")
    screen = Screen(live=live)
    screen.show([line("茶" * 25, hang=2)])
    assert live == ("茶" * 9 + "\n  " in out.getvalue())
    screen.show([line(f"Stored somewhere in {path}, with more"), line(command, "dim", indent=2, wraps=False)])
    assert path in out.getvalue()
    assert f"  {command}" in re.sub(r"\x1b\[\d*m", "", out.getvalue())
    assert "Stored somewhere in\n" in out.getvalue()


def test_progress_without_a_terminal_is_printed_at_most_four_times(capsys: pytest.CaptureFixture[str]) -> None:
    screen = Screen()
    for done in range(101):
        screen.progress(done, 100)
    screen.progress(0, 0)
    assert len(capsys.readouterr().err.splitlines()) == 5


def test_json_is_written_as_text_to_a_stream_without_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    out = io.StringIO()
    monkeypatch.setattr(sys, "stdout", out)
    Screen(as_json=True).data({"letters": "für 東京"})
    assert out.getvalue() == '{"letters": "für 東京"}\n'


def test_an_error_without_a_hint_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    Screen().error(RoundtableError("broken\nhere"))
    assert capsys.readouterr().err == "Error: broken here\n"


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        ("redis://me:secret@host/1?token=secret", "redis://host/1"),
        ("memory://", "memory://"),
        ("sqlite:///debates.db", "sqlite:///debates.db"),
        ("postgresql://me:secret@db/app", "postgresql://me@db/app"),
        ("postgresql://:secret@db/app", "postgresql://db/app"),
        ("postgres://me@one,two:5433/app?schema=x", "'postgres://me@one,two:5433/app?schema=x'"),
        ("postgresql:///app?password=secret&host=/run&schema=a%20b", "'postgresql:///app?host=/run&schema=a%20b'"),
        ("postgresql://me:se/cret@db/app?schema=x", "'postgresql://***'"),
        ("postgresql://db?options=-c%20a.b%3Dsecret#secret", "postgresql://db"),
    ],
)
def test_an_address_is_shown_without_its_secrets(given: str, shown: str) -> None:
    place = find_storage(Settings(), given, None)
    assert place.url == given
    assert place.command("sessions") == f"roundtable sessions --storage {shown}"
    assert "secret" not in place.shown


def test_a_suggested_command_uses_the_same_servers_and_shows_no_key() -> None:
    place = find_storage(Settings(), None, "a.db").with_servers(
        {"compatible": "http://me:secret@127.0.0.1:1/v1?key=secret"}
    )
    assert place.running("resume", "1a") == (
        "roundtable resume 1a --base-url compatible=http://127.0.0.1:1/v1 --db a.db"
    )
    assert place.command("show", "1a") == "roundtable show 1a --db a.db"


def test_the_place_of_a_custom_storage_is_its_address() -> None:
    place = find_storage(Settings(), "redis://host/1", None)
    assert (place.path, place.shown, place.is_persistent) == (None, "redis://host/1", True)


# ------------------------------------------------------------------ signals


def test_interrupted_work_cleans_up_first(capsys: pytest.CaptureFixture[str]) -> None:
    cleaned = []

    async def work() -> str:
        try:
            os.kill(os.getpid(), signal.SIGTERM)
            await anyio.sleep(30)
        finally:
            cleaned.append(True)
        return "never"

    outcome = anyio.run(interruptible, work, Screen())
    assert outcome == Outcome(None, ExitCode.TERMINATED)
    assert cleaned == [True]
    assert "saving what is done" in capsys.readouterr().err


def test_failed_work_raises_its_own_error_outside_of_any_group() -> None:
    async def work() -> None:
        await anyio.lowlevel.checkpoint()
        raise RoundtableError("as it is")

    with pytest.raises(RoundtableError, match="as it is"):
        anyio.run(interruptible, work, Screen())


def test_ctrl_c_in_the_middle_pauses_the_session(command: Command) -> None:
    waiting = threading.Event()

    def hang(_: object) -> WireReply:
        waiting.set()
        return WireReply([60.0])

    def interrupt() -> None:
        waiting.wait(30)
        os.kill(os.getpid(), signal.SIGINT)

    with LoopbackServer(hang) as server:
        threading.Thread(target=interrupt, daemon=True).start()
        done = command("Tea?", "--agents", "compatible:m", "--base-url", f"compatible={server.url}")
    assert done.code == 130
    assert "No position was given." in done.out
    assert "roundtable resume" in done.out
    listed = command("sessions", "--json", "--status", "paused").json
    assert isinstance(listed, list)
    assert len(listed) == 1
    assert "not completed" in command("show", listed[0]["id"]).out


@pytest.mark.slow
def test_ctrl_c_before_the_debate_says_that_nothing_was_asked(
    command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_RETRIES", "0")

    def interrupt() -> None:
        os.kill(os.getpid(), signal.SIGINT)

    timer = threading.Timer(0.6, interrupt)
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    timer.start()
    done = command("models", "install")
    timer.cancel()
    assert done.code in {4, 130}
    assert "Traceback" not in done.both


def test_a_keyboard_interrupt_of_python_shows_no_traceback(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("roundtable.cli.plugins.list_modes", interrupted)
    done = command("modes")
    assert (done.code, done.out) == (130, "")


# ------------------------------------------------------------------ without the extra


@pytest.mark.parametrize("missing", ["typer", "rich"])
def test_without_its_extra_the_command_says_how_to_install_it(
    missing: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in [name for name in sys.modules if name.startswith("roundtable.cli")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, missing, None)
    code = main(["modes", "--json"])
    told = capsys.readouterr()
    if missing == "typer":
        assert code == 2
        assert "pip install 'roundtable-sdk[cli]'" in told.err
    else:
        # rich draws on terminals only.
        assert code == 0


def test_a_broken_installation_is_not_reported_as_a_missing_extra(monkeypatch: pytest.MonkeyPatch, place: Path) -> None:
    for name in [name for name in sys.modules if name.startswith("roundtable.cli")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "roundtable.cli.exit_codes", None)
    with pytest.raises(ModuleNotFoundError):
        main(["modes"])

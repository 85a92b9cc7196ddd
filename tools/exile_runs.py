"""Print everything that a user sees of one thing of the catalog; run twice by `exile.py`, and compared.

python tools/exile_runs.py modes oxford
"""

from __future__ import annotations

import argparse
import contextlib
import csv
import io
import json
import os
import re
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import anyio
from mcp import Client
from starlette.testclient import TestClient

from roundtable import Roundtable as AsyncRoundtable
from roundtable.auth import LocalUser
from roundtable.errors import RoundtableError
from roundtable.mcp import create_mcp_server
from roundtable.plugins import Registrar
from roundtable.providers import ScriptedModel
from roundtable.providers.scripted import Reply
from roundtable.server import create_app
from roundtable.settings import Settings
from roundtable.sync import Roundtable
from roundtable.testing.servers import LoopbackServer, Seen, WireReply, chat_reply, http_reply
from roundtable.types import ChatRequest, JsonValue, ProviderConfig

OPTIONS = ("Tea", "Coffee")
OWN = frozenset({"seq", "sessionId", "timestamp", "previousHash", "hash", "durationS", "owner", "requestId", "lease"})
"""Fields of events that differ between any two debates."""


ANSWER = json.dumps({"position": "Tea", "reasoning": "It keeps [1].", "confidence": 0.8})
WHOLE: dict[str, JsonValue] = {
    "perplexity": {
        "id": "r",
        "model": "sonar-pro",
        "usage": {"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120},
        "choices": [{"message": {"role": "assistant", "content": ANSWER}, "finish_reason": "stop"}],
        "search_results": [{"title": "Why tea", "url": "https://tea.example/why"}],
    },
    "anthropic": {
        "id": "r",
        "type": "message",
        "role": "assistant",
        "model": "claude-sonnet-4-5",
        "content": [{"type": "text", "text": ANSWER}],
        "stop_reason": "end_turn",
        "usage": {"input_tokens": 100, "output_tokens": 20},
    },
}
"""A whole response of each provider."""


def leave_out(kind: str, name: str) -> None:
    """Make the library forget to register one built-in."""
    add = Registrar.add

    def add_others(self: Registrar[object], name_: str, thing: object, *, summary: str = "") -> None:
        is_it = name_ == name and self._source != "exiled" and self._registry.kind == singular(kind)
        if not is_it:
            add(self, name_, thing, summary=summary)

    Registrar.add = add_others  # type: ignore[method-assign]


def singular(kind: str) -> str:
    """Return the name of one thing of a kind."""
    return kind.removesuffix("s").replace("_", " ")


def reply(request: ChatRequest) -> str:
    """Answer every kind of turn, depending on the agent and the round alone."""
    agent, number = request.metadata.get("agent", "?"), request.metadata.get("round", "0")
    choice = OPTIONS[(len(agent) + int(number or 0)) % 2]
    other = OPTIONS[1 - OPTIONS.index(choice)]
    answer: dict[str, JsonValue] = {
        "position": choice,
        "choice": choice,
        "bottomLine": choice,
        "reasoning": f"{agent} has its reasons for {choice} in round {number}.",
        "confidence": 0.8,
        "ranking": [choice, other],
        "scores": {choice: 4, other: 2},
        "approved": [choice],
        "keyPoints": [f"{choice} keeps."],
    }
    return json.dumps(answer)


def agents(answer: Callable[[ChatRequest], Reply] = reply) -> list[ScriptedModel]:
    """Create three scripted agents."""
    return [ScriptedModel(answer, model=f"model-{name}") for name in "abc"]


def table(answer: Callable[[ChatRequest], Reply] = reply, **more: object) -> Roundtable:
    """Create a table of three scripted agents."""
    return Roundtable(agents(answer), analyzer="basic", **({"storage": "memory://"} | more))  # type: ignore[arg-type]


def masked(value: JsonValue) -> JsonValue:
    """Return a JSON value without what differs between any two debates."""
    if isinstance(value, dict):
        return {key: masked(part) for key, part in value.items() if key not in OWN}
    return [masked(part) for part in value] if isinstance(value, list) else value


def plain(text: str) -> str:
    """Return a text without ids, times and hashes."""
    text = re.sub(r"\b[0-9a-f]{8}-[0-9a-f-]{27}\b|\b[0-9a-f]{16,64}\b|\b[0-7][0-9A-HJKMNP-TV-Z]{25}\b", "ID", text)
    text = re.sub(r"(?<=show |tend )[0-9a-f]{8}\b", "ID", text.replace(str(Path.cwd()), "FOLDER"))
    text = re.sub(r"datetime\.datetime\([^()]*\)", "TIME", text)
    text = re.sub(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:\d\d| UTC)?", "TIME", text)
    text = re.sub(r"\b\d+(?:\.\d+)? m?s\b", "DURATION", text)
    return re.sub(r'"(durationMs|durationS|latencyMs|elapsedS)": [\d.e-]+', r'"\1": 0', text)


def show(title: str, text: object) -> None:
    """Print one part under a title."""
    print(f"== {title}\n{plain(str(text))}")


@contextlib.contextmanager
def refused(title: str) -> Iterator[None]:
    """Print the error that a mistake causes."""
    try:
        yield
    except RoundtableError as error:
        show(title, json.dumps(masked(error.to_dict()), indent=1))
    else:
        show(title, "no error")


def command(*arguments: str) -> str:
    """Run the command in this process, and return its output and its exit code."""
    from roundtable.__main__ import main

    out = io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
        try:
            code: object = main(list(arguments))
        except SystemExit as error:
            code = error.code
    return f"{out.getvalue()}exit code {code}"


def rows_with(name: str, text: str) -> str:
    """Return the lines of a listing that mention a name, without the column that says where it comes from."""
    lines = [line for line in text.splitlines() if re.search(rf"\b{re.escape(name)}\b", line)]
    return re.sub(r"\s+(?:built-in|exiled(?: 1\.0)?)\b", "", "\n".join(lines))


def show_debate(seats: Roundtable, **options: object) -> str:
    """Hold a debate, and print its estimate, result, reports and events; return its id."""
    show("estimate", seats.estimate("Tea or coffee?", **options))  # type: ignore[arg-type]
    result = seats.debate("Tea or coffee?", **options)  # type: ignore[attr-defined]
    show("result", result)
    show("json", json.dumps(masked(json.loads(result.to_json())), indent=1))
    for form in ("markdown", "html"):
        show(form, seats.export(result.session_id, form))
    rows = csv.DictReader(io.StringIO(str(seats.export(result.session_id, "csv"))))
    show("csv", json.dumps([{key: value for key, value in row.items() if key not in OWN} for row in rows], indent=1))
    events = [masked(event.to_wire()) for event in seats.watch(result.session_id)]
    show("events", "\n".join(sorted(json.dumps(event, sort_keys=True) for event in events)))
    return str(result.session_id)


def show_fronts(**options: JsonValue) -> None:
    """Hold the same debate over HTTP, over MCP and with the command, whose agents ask a server."""
    request: dict[str, JsonValue] = {"topic": "Tea or coffee?", "rounds": 1, **options}
    app = create_app(AsyncRoundtable(agents(), storage="memory://", analyzer="basic"), auth=LocalUser())
    with TestClient(app, base_url="http://127.0.0.1", client=("127.0.0.1", 50_000)) as web:
        show("http", json.dumps(masked(web.post("/api/debates?wait=60", json=request).json()), indent=1))
    show("mcp", json.dumps(masked(anyio.run(over_mcp, request)), indent=1))
    switches = [part for name, value in options.items() for part in switch(name, value)]

    def answer(_: Seen) -> WireReply:
        return chat_reply(json.dumps({"position": "Tea", "choice": "Tea", "reasoning": "It keeps.", "confidence": 0.8}))

    with LoopbackServer(answer) as server:
        os.environ["ROUNDTABLE_BASE_URL"] = server.url
        named = ["--agents", "compatible:m,compatible:n", "--analyzer", "basic", "--rounds", "1", "--db", "front.db"]
        told = command("debate", "Tea or coffee?", *named, *switches)
        show("command", "\n".join(sorted(told.splitlines())))  # agents may answer in any order


async def over_mcp(request: dict[str, JsonValue]) -> JsonValue:
    """Call the MCP tool that starts a debate."""
    server = create_mcp_server(tables=lambda tenant: AsyncRoundtable(agents(), storage="memory://", tenant=tenant))
    async with Client(server.lowlevel) as client:
        result = await client.call_tool("start_roundtable", request)
    return json.loads(result.content[0].text)


def switch(name: str, value: JsonValue) -> list[str]:
    """Return the switch of the command for an option of a request."""
    if name == "options" and isinstance(value, list):
        return [part for option in value for part in ("--option", str(option))]
    return [
        f"--{re.sub('[A-Z]', lambda letter: '-' + letter[0].lower(), name)}",
        *([] if value is True else [str(value)]),
    ]


def run_mode(name: str) -> None:
    """Use a mode."""
    show_fronts(mode=name, options=list(OPTIONS))
    show("listed", rows_with(name, command("modes")))
    show("explained", command("modes", name))
    with table() as seats:
        session = show_debate(seats, mode=name, rounds=2, options=list(OPTIONS))
        show("fork", seats.fork(session, at_round=1, rounds=2))
        with refused("an unknown option"):
            seats.debate("Tea or coffee?", mode=f"{name}:no-such-option=1")
        with refused("one agent"):
            seats.debate("Tea or coffee?", mode=name, agents=[ScriptedModel(reply)])


VOTED = ("score", "scorf")
"""Rules on grades, which debaters give in a vote."""


def run_rule(name: str) -> None:
    """Use a decision rule."""
    show_fronts(decide=name, options=list(OPTIONS), **({"vote": True} if name in VOTED else {}))
    judges = {"judge": [ScriptedModel(reply, model=f"judge-{name}") for name in "xyz"]}
    with table(seats=judges) as seats:
        show_debate(seats, decide=name, rounds=2, options=list(OPTIONS), vote=name in VOTED)
        with refused("without options"):
            show_debate(seats, decide=name, rounds=1)
        with refused("an unknown parameter"):
            seats.debate("Tea or coffee?", decide=f"{name}(no_such=1)", options=list(OPTIONS))


def run_exit(name: str) -> None:
    """Use a stop criterion."""
    show_fronts(exitWhen=name)
    facilitators = {"facilitator": ScriptedModel(reply, model="facilitator")}
    with table(seats=facilitators) as seats:
        show_debate(seats, exit_when=name, rounds=3)
        with refused("an unknown field"):
            seats.debate("Tea or coffee?", exit_when=f"{name}(no_such=1)")


def run_analyzer(name: str) -> None:
    """Measure with an analyzer, and with none of its models at hand."""
    reading = {"agreementLevel": 0.4, "clusters": [{"theme": "Tea", "agentIds": ["A1", "A2"]}]}
    seats = {"analyzer": [ScriptedModel(lambda _: json.dumps(reading), model=f"reader-{at}") for at in "xy"]}
    with Roundtable(agents(), analyzer=name, storage="memory://", seats=seats) as table_:
        first = show_debate(table_, rounds=2)
        show("read again", json.dumps(masked(json.loads(table_.reread(first).to_json())), indent=1))
    with Roundtable(agents(), analyzer=name, storage="memory://") as table_:
        show_debate(table_, rounds=1, options=list(OPTIONS))


def run_search(name: str) -> None:
    """Use a search service."""
    page = {"title": "Tea", "url": "https://tea.example/", "description": "Tea keeps.", "page_age": "2026-01-02"}

    def found(_: Seen) -> WireReply:
        return http_reply(json.dumps({"web": {"results": [page]}}).encode())

    def wish(request: ChatRequest) -> Reply:
        if any(message.role == "tool" for message in request.messages) or not request.tools:
            return reply(request)
        return {"toolCalls": [{"name": "web_search", "args": {"query": "tea"}}]}

    os.environ["BRAVE_API_KEY"] = "key-for-tests-1"
    with LoopbackServer(found) as server:
        for search in (f"{name}:{server.origin}", name):
            with refused(search.replace(server.origin, "URL")), table(wish, search=search) as seats:
                show_debate(seats, rounds=1)


def run_exporter(name: str) -> None:
    """Use an export format."""
    with table() as seats:
        result = seats.debate("Tea or coffee?", rounds=2, options=list(OPTIONS))
        show("export", seats.export(result.session_id, name))
        written = seats.export_file(result.session_id, Path(f"report.{name}"), format=name)
        show("file", Path(f"report.{name}").read_text("utf-8") == seats.export(result.session_id, name))
        show("written", written)
    with refused("an unknown session"), table() as seats:
        seats.export("no-such-session", name)


def run_storage(name: str) -> None:
    """Use a storage."""
    address = f"{name}:///debates.db"
    with table(storage=address) as seats:
        session = show_debate(seats, rounds=2, options=list(OPTIONS))
    with table(storage=address) as seats:
        show("kept", seats.session(session))
        show("found", seats.search("reasons"))
        show("listed", seats.sessions())
        seats.backup("copy.db")
        show("deleted", seats.delete(session))
        show("empty", seats.sessions())
    show("command", command("sessions", "list", "--db", address))
    show("doctor", command("doctor", "--db", address))
    with refused("no file"), table(storage=f"{name}://") as seats:
        seats.sessions()


def run_provider(name: str) -> None:
    """Use a provider of models."""
    of = next(known for known in WHOLE if known[:-1] == name[:-1])

    def answer(_: Seen) -> WireReply:
        return http_reply(json.dumps(WHOLE[of]).encode())

    for key in {f"{name.upper()}_API_KEY", f"{of.upper()}_API_KEY"}:
        os.environ[key] = "key-for-tests-1"
    show("listed", rows_with(name, command("agents")))
    show("doctor", rows_with(name, command("doctor")))
    with LoopbackServer(answer) as server:
        config = ProviderConfig(base_url=server.origin)
        with Roundtable(storage="memory://", analyzer="basic", providers={name: config}) as seats:
            show("default agents", [seat.name for seat in seats.agents()])
            show_debate(seats, rounds=2)
    with refused("no key"), Roundtable([name], storage="memory://", settings=Settings()) as seats:
        seats.debate("Tea or coffee?")


RUNS: dict[str, Callable[[str], None]] = {
    "modes": run_mode,
    "rules": run_rule,
    "exits": run_exit,
    "analyzers": run_analyzer,
    "search_providers": run_search,
    "exporters": run_exporter,
    "storages": run_storage,
    "providers": run_provider,
}


def main() -> None:
    """Run what the arguments name."""
    parser = argparse.ArgumentParser()
    parser.add_argument("kind", choices=RUNS)
    parser.add_argument("name")
    parser.add_argument("--without", help="a built-in that is not registered")
    arguments = parser.parse_args()
    if arguments.without:
        leave_out(arguments.kind, arguments.without)
    with tempfile.TemporaryDirectory() as keep, contextlib.chdir(Path(keep)):
        RUNS[arguments.kind](arguments.name)


if __name__ == "__main__":
    sys.exit(main())

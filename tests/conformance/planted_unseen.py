"""Twenty plugins with one realistic mistake each, written from the documentation alone, not from the laws.

`planted_unseen_suites.py` says which law catches each of them. Never change a plugin so that a law catches it.
"""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from fnmatch import fnmatchcase
from fractions import Fraction
from typing import ClassVar

import anyio
from anyio.lowlevel import checkpoint

from roundtable.analysis import PlainAnalyzer
from roundtable.errors import APINetworkError, StorageError
from roundtable.exits import Exit
from roundtable.http import SseFramer
from roundtable.modes import BaseModeStrategy, everything, parallel, positions
from roundtable.providers import HttpProvider, OpenAIChat
from roundtable.providers.spec import ProviderSpec
from roundtable.scoring import Outcome, Rule, first_places
from roundtable.storage import MemoryStorage, SystemClock, memory, rules, well_formed
from roundtable.types import (
    AgentTool,
    Cluster,
    ConsensusResult,
    ExitResult,
    ModelProfile,
    Note,
    ProviderConfig,
    SessionRecord,
    SessionSummary,
    ToolResult,
    TurnSpec,
    Usage,
    Visible,
    durable_event,
)

# --- providers: dialects and models of an API like Chat Completions -------------------------------------------------


def provider_of(dialect):
    """Bind a dialect to the vendor Acme."""
    return HttpProvider(
        ProviderSpec(
            name="acme",
            dialect=dialect,
            base_url="https://api.acme.example/v1",
            key_env=("ACME_API_KEY",),
            default_model="acme-1",
            profile=ModelProfile(streams=True, structured_output=True),
        )
    )


class AcmeModel:
    """A model that leaves everything to the model of the library; correct."""

    provider = "acme"
    model = "acme-1"

    def __init__(self, inner):
        self._inner = inner
        self.profile = inner.profile
        self.endpoint = inner.endpoint
        self.account = inner.account

    def __repr__(self):
        return "AcmeModel()"

    async def complete(self, request):
        return await self._inner.complete(request)

    async def stream(self, request):
        async with self._inner.stream(request) as pieces:
            async for piece in pieces:
                yield piece
            yield pieces.response

    async def aclose(self):
        await self._inner.aclose()


class AddsRunningTotals(OpenAIChat):
    """A server may report what an answer used so far with every piece; this dialect adds up these running totals."""

    def stream_decoder(self, headers):
        return _AddingDecoder(super().stream_decoder(headers))


class _AddingDecoder:
    def __init__(self, inner):
        self._inner = inner
        self._framer = SseFramer()
        self._sent = self._made = 0

    def feed(self, chunk):
        pieces = self._inner.feed(chunk)
        for event in self._framer.feed(chunk):
            used = json.loads(event.data).get("usage") if event.data.startswith(b"{") else None
            if isinstance(used, dict):
                self._sent += used.get("prompt_tokens", 0)
                self._made += used.get("completion_tokens", 0)
        return pieces

    def finish(self):
        response = self._inner.finish()
        usage = Usage(input_tokens=self._sent, output_tokens=self._made, calls=1)
        return response.model_copy(update={"usage": usage}) if self._sent else response


class KeepsFirstInstructions(OpenAIChat):
    """This dialect keeps the system prompt of its first call, and sends it with the calls of all other sessions."""

    def __init__(self, provider):
        super().__init__(provider)
        self._system = None

    def build_request(self, request, *, base_url, stream):
        system = tuple(message for message in request.messages if message.role == "system")
        if system and self._system is None:
            self._system = system
        rest = tuple(message for message in request.messages if message.role != "system")
        messages = (self._system if system else ()) + rest
        return super().build_request(
            request.model_copy(update={"messages": messages}), base_url=base_url, stream=stream
        )


class CutsLongMessages(OpenAIChat):
    """The vendor once had a limit of 8,000 characters, so this dialect cuts each message there without a word."""

    def build_request(self, request, *, base_url, stream):
        messages = tuple(
            message.model_copy(update={"content": message.content[:8_000]}) for message in request.messages
        )
        return super().build_request(
            request.model_copy(update={"messages": messages}), base_url=base_url, stream=stream
        )


class RestartsCutStream(AcmeModel):
    """When its connection breaks, this model asks again and goes on with the new pieces after the old ones."""

    async def stream(self, request):
        for attempt in range(3):
            try:
                async with self._inner.stream(request) as pieces:
                    async for piece in pieces:
                        yield piece
                    yield pieces.response
                return
            except APINetworkError:
                if attempt == 2:
                    raise


class ShieldsItsCall(AcmeModel):
    """This model shields its calls from cancellation, so a stopped debate waits for an answer that nobody reads."""

    async def complete(self, request):
        with anyio.CancelScope(shield=True):
            return await self._inner.complete(request)


class HidesWhyItEnded(OpenAIChat):
    """Every answer without tool calls ends with the reason `stop`, also one that was cut at the limit or filtered."""

    def parse_response(self, status, headers, body):
        return _simple_reason(super().parse_response(status, headers, body))

    def stream_decoder(self, headers):
        return _SimpleReasonDecoder(super().stream_decoder(headers))


def _simple_reason(response):
    reason = "tool_calls" if response.tool_calls else "stop"
    return response.model_copy(update={"finish_reason": reason})


class _SimpleReasonDecoder:
    def __init__(self, inner):
        self._inner = inner

    def feed(self, chunk):
        return self._inner.feed(chunk)

    def finish(self):
        return _simple_reason(self._inner.finish())


class ReadsKeyAtImport:
    """This factory reads the key from the environment when its module is imported; a key that is set later is lost."""

    key = os.environ.get("ACME_API_KEY")

    def __init__(self):
        self._make = provider_of(OpenAIChat("acme"))

    def __call__(self, model, config, settings):
        return self._make(model, ProviderConfig(base_url=config.base_url, api_key=self.key or config.api_key), settings)


# --- modes ----------------------------------------------------------------------------------------------------------


class TellsTheVotes(BaseModeStrategy):
    """All vote twice, and before the second vote, a note tells each voter by name how the others have just voted."""

    name = "two-ballots"
    summary = "All speak, then all vote twice; the second vote decides."
    has_own_vote = True

    def steps(self, view):
        def vote(seat, sees):
            cast = [
                f"{turn.agent_name or turn.agent_id}: {turn.answer.choice}"
                for turn in view.transcript
                if turn.round == view.current_round and turn.outcome == "answered" and turn.answer.kind == "ballot"
            ]
            return TurnSpec(
                slot=0,
                agent=seat.id,
                task="Vote for one option.",
                sees=sees,
                answer="ballot",
                options=view.options or ("yes", "no"),
                counts="decide",
                notes=(Note(label="Votes", text="\n".join(cast)),) if cast else (),
            )

        def speak(seat, sees):
            return TurnSpec(slot=0, agent=seat.id, task="Give your view.", sees=sees, options=view.options)

        spoken = parallel(view, speak)
        first = parallel(view, vote, sees=everything, name="first-vote")
        return spoken + first + parallel(view, vote, sees=everything, name="second-vote")


class RemembersSeats(BaseModeStrategy):
    """The speaking order is kept for each number of agents, so a second debate asks the agents of the first one."""

    name = "remembering"
    summary = "All speak at once, the last one first."

    def __init__(self):
        super().__init__()
        self._orders = {}

    def steps(self, view):
        order = self._orders.setdefault(len(view.agents), tuple(reversed(view.agents)))

        def speak(seat, sees):
            return TurnSpec(slot=0, agent=seat.id, task="Give your position.", sees=sees, options=view.options)

        return parallel(view, speak, seats=order)


class FoldsIds(BaseModeStrategy):
    """Each agent sees the others' latest positions, but two agents `ada` and `Ada` count as one."""

    name = "latest"
    summary = "All speak at once, and see the latest positions of the others."

    def steps(self, view):
        def latest_of_others(view, seat):
            latest = {turn.agent_id.casefold(): turn for turn in positions(view) if turn.round < view.current_round}
            latest.pop(seat.id.casefold(), None)
            return tuple(Visible(turn=turn.key, shown_as=turn.agent_name or turn.agent_id) for turn in latest.values())

        def speak(seat, sees):
            return TurnSpec(slot=0, agent=seat.id, task="Give your position.", sees=sees, options=view.options)

        return parallel(view, speak, sees=latest_of_others)


# --- decision rules -------------------------------------------------------------------------------------------------


class RoundsShares:
    """The most votes win, but shares are rounded to whole percents first, so 1,001 votes tie with 1,000."""

    @staticmethod
    def count(ballots, parameters):
        profile = ballots.read(first_places)
        votes = dict.fromkeys(profile.roll.options, Fraction(0))
        for vote in profile.votes:
            for option in vote.form:
                votes[option] += Fraction(vote.weight) / len(vote.form)
        total = sum(votes.values())
        percents = {option: round(100 * number / total) if total else 0 for option, number in votes.items()}
        most = max(percents.values(), default=0)
        leaders = tuple(option for option, number in percents.items() if total and number == most)
        return Outcome(profile.roll, votes, leaders, f"{most} % of the votes")

    rule = Rule("rounded", count.__func__, "The most votes win.")


class TruncatesWeights:
    """The most votes win, but weights become whole numbers first, so a weight of one half counts nothing."""

    @staticmethod
    def count(ballots, parameters):
        profile = ballots.read(first_places)
        votes = dict.fromkeys(profile.roll.options, Fraction(0))
        for vote in profile.votes:
            for option in vote.form:
                votes[option] += Fraction(int(vote.weight)) / len(vote.form)
        most = max(votes.values(), default=Fraction(0))
        leaders = tuple(option for option, number in votes.items() if most and number == most)
        return Outcome(profile.roll, votes, leaders, f"{most} votes")

    rule = Rule("whole", count.__func__, "The most votes win.")


# --- storages -------------------------------------------------------------------------------------------------------

_TABLES = """
    create table if not exists session (
        tenant text, id text, record text, summary text, token integer, owner text, until text,
        primary key (tenant, id));
    create table if not exists event (tenant text, id text, seq integer, body text, turn text);
    create table if not exists token (tenant text primary key, last integer);
"""


class SmallStorage:
    """Sessions in an SQLite file, in one transaction a call; correct."""

    order = "seq"

    def __init__(self, path, clock=None):
        self._path = str(path)
        self._clock = clock or SystemClock()
        self._closed = False
        self._connection = self._connect()

    def _connect(self):
        connection = sqlite3.connect(self._path, isolation_level=None, check_same_thread=False, timeout=30)
        connection.executescript(_TABLES)
        return connection

    async def create(self, record):
        text, stored = rules.record_text(record)
        key = stored.tenant, stored.id

        def work(run):
            if run("select 1 from session where tenant = ? and id = ?", key).fetchone():
                raise rules.session_exists(record.id)
            summary = memory.initial_summary(stored).to_json()
            run("insert into session values (?, ?, ?, ?, null, null, null)", (*key, text, summary))

        await self._do(work)

    async def append(self, session_id, expected_seq, token, events, *, tenant="default"):
        rules.check_append(session_id, token, events)
        key = rules.session_key(tenant, session_id)

        def work(run):
            _, text, *lease = self._row(run, key, session_id)
            if token is not None:
                rules.check_token(session_id, _lease_of(lease), token)
            summary = SessionSummary.from_json(text)
            rules.check_number(session_id, expected_seq, summary.last_seq)

            def stored(turn):
                sql = "select body from event where tenant = ? and id = ? and turn = ?"
                found = run(sql, (*key, json.dumps(turn))).fetchone()
                return found and found[0]

            fresh = rules.numbered(events, summary.last_seq, stored)
            summary = memory.updated_summary(summary, fresh)
            for entry in fresh:
                turn = entry.place and json.dumps(entry.place)
                run("insert into event values (?, ?, ?, ?, ?)", (*key, entry.seq, entry.text, turn))
            run("update session set summary = ? where tenant = ? and id = ?", (summary.to_json(), *key))
            return summary.last_seq

        return await self._do(work)

    async def read(self, session_id, after=0, *, tenant="default"):
        key = rules.session_key(tenant, session_id)

        def work(run):
            record = self._row(run, key, session_id)[0]
            sql = f"select body from event where tenant = ? and id = ? and seq > ? order by {self.order}"
            return record, run(sql, (*key, min(max(after, 0), rules.MAX_NUMBER))).fetchall()

        record, rows = await self._do(work)
        return SessionRecord.from_json(record), tuple(durable_event(body) for (body,) in rows)

    async def list(self, filter):
        def work(run):
            return run("select summary from session where tenant = ?", (well_formed(filter.tenant),)).fetchall()

        found = [SessionSummary.from_json(text) for (text,) in await self._do(work)]
        wanted = [summary for summary in found if memory.is_wanted(summary, filter)]
        wanted.sort(key=lambda summary: (summary.created_at, summary.id), reverse=True)
        return tuple(wanted[: filter.limit])

    async def lease(self, session_id, owner, ttl_s, *, tenant="default"):
        key = rules.session_key(tenant, session_id)

        def work(run):
            held = _lease_of(self._row(run, key, session_id)[2:])

            def next_token():
                run("insert into token values (?, 0) on conflict do nothing", key[:1])
                run("update token set last = last + 1 where tenant = ?", key[:1])
                return run("select last from token where tenant = ?", key[:1]).fetchone()[0]

            given = rules.grant(session_id, held, owner, ttl_s, now=self._clock.now(), next_token=next_token)
            sql = "update session set token = ?, owner = ?, until = ? where tenant = ? and id = ?"
            run(sql, (given.token, given.owner, given.expires_at.isoformat(), *key))
            return given.to_lease(owner)

        return await self._do(work)

    async def holder(self, session_id, *, tenant="default"):
        key = rules.session_key(tenant, session_id)
        row = await self._do(lambda run: self._row(run, key, session_id))
        return rules.live_holder(_lease_of(row[2:]), self._now())

    def _now(self):
        return self._clock.now()

    async def delete(self, session_id, *, tenant="default"):
        key = rules.session_key(tenant, session_id)

        def work(run):
            self._row(run, key, session_id)
            run("delete from session where tenant = ? and id = ?", key)
            run("delete from event where tenant = ? and id = ?", key)

        await self._do(work)

    async def aclose(self):
        self._closed = True
        self._connection.close()

    @staticmethod
    def _row(run, key, session_id):
        sql = "select record, summary, token, owner, until from session where tenant = ? and id = ?"
        row = run(sql, key).fetchone()
        if row is None:
            raise rules.session_not_found(session_id)
        return row

    async def _do(self, work):
        await checkpoint()
        if self._closed:
            raise StorageError("the storage is closed", hint="Open a new one.")
        try:
            self._connection.execute("begin immediate")
        except sqlite3.Error as error:
            raise StorageError(f"SQLite failed: {error}", cause=error, hint="Look at the file.") from error
        try:
            result = work(self._connection.execute)
        except BaseException:
            self._connection.execute("rollback")
            raise
        self._connection.execute("commit")
        return result


def _lease_of(row):
    token, owner, until = row
    return rules.LeaseState(token, owner, datetime.fromisoformat(until)) if token else None


class SortsNumbersAsText(SmallStorage):
    """The events are read in the order of their numbers as text, so the tenth comes before the second."""

    order = "cast(seq as text)"


class HolderBySystemClock(SmallStorage):
    """Leases are taken by the clock that the storage was given, but `holder` asks the system's clock who holds one."""

    def _now(self):
        return datetime.now(UTC)


class ClosesSharedConnection(SmallStorage):
    """All storages of a file share one connection, and the first of them that is closed closes it for all."""

    _open: ClassVar[dict[str, sqlite3.Connection]] = {}

    def _connect(self):
        if self._path not in self._open:
            self._open[self._path] = super()._connect()
        return self._open[self._path]

    async def aclose(self):
        self._closed = True
        self._connection.close()
        self._open.pop(self._path, None)


class PagesByTimeAlone(MemoryStorage):
    """The next page begins with an earlier time, so sessions of the same moment are lost between two pages."""

    async def list(self, filter):
        if filter.place is None:
            return await super().list(filter)
        moment, _ = filter.place
        every = await super().list(filter.model_copy(update={"after": None, "limit": 10_000}))
        return tuple(summary for summary in every if summary.created_at < moment)[: filter.limit]


class ScansWithGlob:
    """A scan looks for the keys that match the prefix as a pattern, so `*`, `?` and `[` in a prefix mean other keys."""

    def __init__(self, clock=None):
        self._kv = MemoryStorage(clock).kv
        self.get = self._kv.get
        self.put = self._kv.put
        self.delete = self._kv.delete
        self.update = self._kv.update

    async def scan(self, prefix="", *, tenant="default"):
        return tuple(
            (key, value)
            for key, value in await self._kv.scan(tenant=tenant)
            if fnmatchcase(key, f"{well_formed(prefix)}*")
        )


# --- a tool ---------------------------------------------------------------------------------------------------------


class ChangesItsInput:
    """The tool takes arguments out of the object that it gets, so the record of the call lacks them."""

    definition = AgentTool(
        name="temperature",
        description="Converts a temperature from Celsius.",
        parameters={
            "type": "object",
            "properties": {"celsius": {"type": "number"}, "unit": {"type": "string"}},
            "required": ["celsius"],
        },
    )

    async def run(self, tool_input):
        unit = tool_input.pop("unit", "K")
        celsius = tool_input.get("celsius")
        if not isinstance(celsius, int | float):
            return ToolResult(success=False, error="celsius must be a number")
        degrees = celsius * 9 / 5 + 32 if unit == "F" else celsius + 273.15
        return ToolResult(success=True, data=degrees)


# --- a stop criterion -----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ComparesBySeat(Exit):
    """Ends when nobody moved, but compares answers by their place, so an agent that failed shifts all the others."""

    kind: ClassVar[str] = "nobody-moved"

    def check(self, rounds: Sequence) -> ExitResult:
        if len(rounds) < 2 or not rounds[-1].responses:
            return ExitResult(should_exit=False)
        pairs = list(zip(rounds[-2].responses, rounds[-1].responses, strict=False))
        if not pairs or any(before.position != now.position for before, now in pairs):
            return ExitResult(should_exit=False)
        return ExitResult(should_exit=True, reason="nobody-moved", details="Nobody moved.")


# --- an analyzer ----------------------------------------------------------------------------------------------------


class CountsNames(PlainAnalyzer):
    """Positions are kept by the agents' display names, so of two agents with one name only the later one counts."""

    def analyze(self, responses):
        said = {response.agent_name: response for response in responses}
        groups = {}
        for response in said.values():
            groups.setdefault(response.choice or response.position, []).append(response.agent_id)
        largest = max(map(len, groups.values()), default=0)
        return ConsensusResult(
            agreement_level=largest / len(said) if said else 0,
            clusters=tuple(
                Cluster(theme=position or "(nothing)", agent_ids=tuple(sorted(ids)))
                for position, ids in sorted(groups.items(), key=lambda group: (-len(group[1]), group[0]))
            ),
            summary=f"{len(groups)} positions of {len(said)} agents.",
            method="names",
        )

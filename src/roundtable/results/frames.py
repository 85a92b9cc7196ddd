"""Frames of debates: typed columns of turns, sessions, votes, pairs and events, for pandas, polars or Arrow."""

from __future__ import annotations

from importlib import import_module
from itertools import combinations
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias, get_args

from roundtable._version import __version__
from roundtable.analysis import cast_votes
from roundtable.analysis.movement import pair_verdicts
from roundtable.core.errors import ConfigurationError
from roundtable.report import csv_parts
from roundtable.report.latex import latex_table
from roundtable.results.rows import DEBATE_COLUMNS, compact_json, debate_row, turn_row

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from roundtable.core.types.base import JsonObject, JsonValue
    from roundtable.core.types.events import DurableEvent
    from roundtable.results.rows import DebateFields

__all__ = [
    "FRAME_COLUMNS",
    "LATEX_COLUMNS",
    "ColumnType",
    "Frame",
    "FrameBackend",
    "FrameBuilder",
    "FrameKind",
    "event_rows",
    "frame_of_rows",
    "rows_of",
]

FrameKind: TypeAlias = Literal["turns", "sessions", "votes", "pairs", "events"]
"""The kind of rows of a frame: turns, sessions, votes, pairs of agents in a round, or stored events."""
FrameBackend: TypeAlias = Literal["pandas", "polars", "arrow", "records", "csv", "latex"]
"""The form of a frame: a data frame of pandas or polars, an Arrow table, a list of rows, or text in CSV or LaTeX."""
Frame: TypeAlias = Any
"""A pandas or polars `DataFrame`, a `pyarrow.Table`, a list of rows, or a text, according to the `FrameBackend`."""
ColumnType: TypeAlias = Literal["text", "whole", "number", "flag", "time"]
"""Type of a column: text, whole number, number, truth value, or point in time."""

_MADE_WITH: Final[dict[str, ColumnType]] = {"seed": "whole", "promptVersion": "text", "libraryVersion": "text"}
_USAGE: Final[dict[str, ColumnType]] = {
    "calls": "whole",
    "inputTokens": "whole",
    "outputTokens": "whole",
    "tokens": "whole",
    "costUsd": "number",
    "durationS": "number",
}
_SESSION: Final[dict[str, ColumnType]] = {"sessionId": "text", "topic": "text", "mode": "text"}
_DEBATE_TYPES: Final[dict[str, ColumnType]] = {
    **dict.fromkeys(("agreement", "agreementAtMost", "independentAgreement", "independentAgreementAtMost"), "number"),
    **dict.fromkeys(("conformityDelta", "costUsd", "durationS"), "number"),
    **dict.fromkeys(("rounds", "answered", "failed", "calls", "tokens"), "whole"),
    "passed": "flag",
}

FRAME_COLUMNS: Final[Mapping[FrameKind, Mapping[str, ColumnType]]] = {
    "turns": {
        **_SESSION,
        "round": "whole",
        "stage": "text",
        "slot": "whole",
        "attempt": "whole",
        "agentId": "text",
        "agentName": "text",
        "role": "text",
        "outcome": "text",
        "position": "text",
        "bottomLine": "text",
        "value": "text",
        "choice": "text",
        "confidence": "number",
        "stance": "text",
        "reasoning": "text",
        "ballot": "text",
        "same": "text",
        "compared": "text",
        "claims": "text",
        "independent": "flag",
        "error": "text",
        "errorCode": "text",
        "provider": "text",
        "model": "text",
        **_USAGE,
        "endedAt": "time",
        **_MADE_WITH,
        "readingRule": "text",
        "readingCertainty": "text",
    },
    "sessions": {
        **{name: _DEBATE_TYPES.get(name, "text") for name in DEBATE_COLUMNS},
        "agents": "text",
        "models": "text",
        "inputTokens": "whole",
        "outputTokens": "whole",
        "createdAt": "time",
        "updatedAt": "time",
        **_MADE_WITH,
    },
    "votes": {
        **_SESSION,
        "round": "whole",
        "rule": "text",
        "agentId": "text",
        "agentName": "text",
        "vote": "text",
        "won": "flag",
        "confidence": "number",
        "reasoning": "text",
        "provider": "text",
        "model": "text",
    },
    "pairs": {
        **_SESSION,
        "round": "whole",
        "agentId": "text",
        "otherId": "text",
        "relation": "text",
        "agentModel": "text",
        "otherModel": "text",
    },
    "events": {
        "sessionId": "text",
        "seq": "whole",
        "timestamp": "time",
        "type": "text",
        "round": "whole",
        "agentId": "text",
        "data": "text",
    },
}
"""The columns of each kind of frame, in order, with their types. New columns are added at the end."""

LATEX_COLUMNS: Final[Mapping[FrameKind, tuple[str, ...]]] = {
    "turns": ("round", "agentName", "outcome", "choice", "bottomLine", "confidence", "tokens", "costUsd"),
    "sessions": ("topic", "mode", "status", "answer", "rounds", "agreement", "calls", "costUsd"),
    "votes": ("topic", "round", "agentName", "vote", "won", "confidence"),
    "pairs": ("topic", "round", "agentId", "otherId", "relation"),
    "events": ("seq", "timestamp", "type", "round", "agentId"),
}
"""The columns of each kind of frame in LaTeX: at most eight, so that a table fits a page."""

_BY_ROW: Final = frozenset({"records", "csv", "latex"})
"""Backends that need whole rows."""

_DTYPES: Final = {"text": "string", "whole": "Int64", "number": "float64", "flag": "boolean"}


def rows_of(kind: FrameKind, result: DebateFields) -> Iterator[JsonObject]:
    """Yield the rows of a debate.

    Raises:
        ConfigurationError: The kind is unknown; or it is `events`, which only the storage has.
    """
    match kind:
        case "turns":
            return _turns(result)
        case "sessions":
            return iter([_session(result)])
        case "votes":
            return _votes(result)
        case "pairs":
            return _pairs(result)
        case "events":
            hint = "Use frames('events') of the Roundtable that stored the session."
            raise ConfigurationError("a result has no events", hint=hint)
        case _:
            raise _unknown(kind)


def event_rows(events: Iterable[DurableEvent]) -> Iterator[JsonObject]:
    """Yield one row for each stored event; `data` is the JSON that event streams send."""
    for event in events:
        wire = event.to_wire()
        data = wire["data"]
        fields: JsonObject = data if isinstance(data, dict) else {}
        turn = fields.get("turn")
        turn_fields: JsonObject = turn if isinstance(turn, dict) else fields
        yield {
            "sessionId": event.session_id,
            "seq": event.seq,
            "timestamp": event.timestamp.isoformat(),
            "type": event.type,
            "round": turn_fields.get("round"),
            "agentId": turn_fields.get("agentId"),
            "data": compact_json(fields),
        }


class FrameBuilder:
    """Collects rows, and creates a frame with the typed columns of their kind, even if there are no rows.

    For pandas, polars and Arrow, values are collected by column. Rows are not kept, because the rows of a large frame
    need several times the memory of its columns.

    Args:
        kind: Kind of rows.
        backend: Form of the frame.

    Raises:
        ConfigurationError: The kind or backend is unknown, or the library of the backend is not installed.

    Example:
        >>> builder = FrameBuilder("events", "csv")
        >>> builder.add([{"sessionId": "s", "seq": 1}])
        >>> builder.build().splitlines()[1]
        's,1,,,,,'
    """

    def __init__(self, kind: FrameKind, backend: FrameBackend = "pandas") -> None:
        if kind not in FRAME_COLUMNS:
            raise _unknown(kind)
        if backend not in get_args(FrameBackend):
            raise ConfigurationError(f"unknown backend {backend!r}; choose {', '.join(get_args(FrameBackend))}")
        self._types = FRAME_COLUMNS[kind]
        self._shown = LATEX_COLUMNS[kind]
        self._backend = backend
        self._rows: list[JsonObject] = []
        self._columns: dict[str, list[JsonValue]] = {name: [] for name in self._types}
        if backend not in _BY_ROW:
            self.build()  # so that a missing library is noticed before anything is read

    def add(self, rows: Iterable[JsonObject]) -> None:
        """Add rows; names without a column are ignored, and columns without a value are empty."""
        if self._backend in _BY_ROW:
            self._rows += ({name: row.get(name) for name in self._types} for row in rows)
            return
        fill = [(name, column.append) for name, column in self._columns.items()]
        for row in rows:
            for name, append in fill:
                append(row.get(name))

    def build(self) -> Frame:
        """Return the frame of all rows so far."""
        match self._backend:
            case "records":
                return self._rows
            case "csv":
                return "".join(csv_parts([*self._types], self._rows))
            case "latex":
                return latex_table(self._shown, self._rows)
            case _:
                return _READERS[self._backend](self._columns, self._types)


def frame_of_rows(kind: FrameKind, rows: Iterable[JsonObject], backend: FrameBackend = "pandas") -> Frame:
    """Return rows as a frame; see `FrameBuilder`.

    Raises:
        ConfigurationError: The kind or backend is unknown, or the library of the backend is not installed.
    """
    builder = FrameBuilder(kind, backend)
    builder.add(rows)
    return builder.build()


def _unknown(kind: str) -> ConfigurationError:
    return ConfigurationError(f"unknown kind of frame {kind!r}; choose {', '.join(get_args(FrameKind))}")


def _pandas(columns: dict[str, list[JsonValue]], types: Mapping[str, ColumnType]) -> Frame:
    try:
        import pandas as pd
    except ImportError as error:
        hint = "Install it: pip install 'roundtable-sdk[frames]'"
        raise ConfigurationError("a pandas frame needs pandas", hint=hint, cause=error) from error
    return pd.DataFrame(
        {
            name: pd.to_datetime(pd.Series(cells, dtype="string"), utc=True, format="ISO8601")
            if types[name] == "time"
            else pd.Series(cells, dtype=_DTYPES[types[name]])
            for name, cells in columns.items()
        }
    )


def _polars(columns: dict[str, list[JsonValue]], types: Mapping[str, ColumnType]) -> Frame:
    polars = _library("polars")
    schema = {
        name: {"text": polars.String, "whole": polars.Int64, "number": polars.Float64, "flag": polars.Boolean}.get(
            kind, polars.String
        )
        for name, kind in types.items()
    }
    frame = polars.DataFrame(columns, schema=schema, strict=False)
    times = [name for name, kind in types.items() if kind == "time"]
    return frame.with_columns(polars.col(name).str.to_datetime(time_unit="us", time_zone="UTC") for name in times)


def _arrow(columns: dict[str, list[JsonValue]], types: Mapping[str, ColumnType]) -> Frame:
    from datetime import datetime

    arrow = _library("pyarrow")
    kinds = {
        "text": arrow.string(),
        "whole": arrow.int64(),
        "number": arrow.float64(),
        "flag": arrow.bool_(),
        "time": arrow.timestamp("us", tz="UTC"),
    }
    cells = {
        name: [None if text is None else datetime.fromisoformat(f"{text}") for text in column]
        if types[name] == "time"
        else column
        for name, column in columns.items()
    }
    return arrow.table(cells, schema=arrow.schema([(name, kinds[kind]) for name, kind in types.items()]))


_READERS: Final[Mapping[str, Callable[[dict[str, list[JsonValue]], Mapping[str, ColumnType]], Frame]]] = {
    "pandas": _pandas,
    "polars": _polars,
    "arrow": _arrow,
}


def _library(name: str) -> Any:  # noqa: ANN401  (a module)
    try:
        return import_module(name)
    except ImportError as error:
        msg = f"this kind of frame needs {name}, which is not installed"
        raise ConfigurationError(msg, hint=f"Install it: pip install {name}", cause=error) from error


def _head(result: DebateFields) -> JsonObject:
    return {"sessionId": result.session_id, "topic": result.topic, "mode": result.mode}


def _models(result: DebateFields) -> dict[str, str]:
    """Return the model of each agent, as `provider:model`."""
    return {agent.id: ":".join(filter(None, (agent.provider, agent.model))) for agent in result.agents}


def _turns(result: DebateFields) -> Iterator[JsonObject]:
    head: JsonObject = {**_head(result), "seed": result.config.seed, "libraryVersion": __version__}
    for turn in (turn for record in result.rounds for turn in record.turns):
        usage = turn.usage if turn.outcome == "failed" else turn.result.usage
        yield {
            **turn_row(result.session_id, turn),
            **head,
            "attempt": turn.attempt,
            "agentName": turn.agent_name,
            "independent": None if turn.outcome == "failed" else turn.independent,
            "provider": turn.provider if turn.outcome == "failed" else turn.result.provider or turn.provider,
            "model": turn.model if turn.outcome == "failed" else turn.result.model or turn.model,
            "inputTokens": usage.input_tokens,
            "outputTokens": usage.output_tokens,
            "endedAt": turn.timestamp.isoformat(),
            "promptVersion": None if turn.outcome == "failed" else turn.result.prompt_version,
        }


def _session(result: DebateFields) -> JsonObject:
    versions = [
        turn.result.prompt_version
        for record in result.rounds
        for turn in record.turns
        if turn.outcome == "answered" and turn.result.prompt_version
    ]
    return {
        **debate_row(result),
        "agents": "; ".join(agent.name for agent in result.agents),
        "models": "; ".join(_models(result).values()),
        "inputTokens": result.usage.input_tokens,
        "outputTokens": result.usage.output_tokens,
        "createdAt": result.created_at.isoformat(),
        "updatedAt": result.updated_at.isoformat(),
        "seed": result.config.seed,
        "promptVersion": versions[0] if versions else None,
        "libraryVersion": __version__,
    }


def _votes(result: DebateFields) -> Iterator[JsonObject]:
    agents = {agent.id: agent for agent in result.agents}
    for record in result.rounds:
        decision = record.decision
        if not record.complete or decision is None:
            continue
        for cast in cast_votes(record.as_stated, record.consensus, options=result.config.options is not None):
            agent = agents.get(cast.agent_id)
            counted_for = None if cast.vote is None else decision.mapping.get(cast.vote, cast.vote)
            yield {
                **_head(result),
                "round": record.number,
                "rule": decision.rule,
                "agentId": cast.agent_id,
                "agentName": cast.agent_name,
                "vote": cast.vote,
                "won": None if counted_for is None else counted_for == decision.winner,
                "confidence": None if cast.said is None else cast.said.confidence,
                "reasoning": cast.reasoning or (None if cast.said is None else cast.said.reasoning),
                "provider": None if agent is None else agent.provider,
                "model": None if agent is None else agent.model,
            }


def _pairs(result: DebateFields) -> Iterator[JsonObject]:
    complete = [record for record in result.rounds if record.complete]
    known, models = pair_verdicts(complete), _models(result)
    for record in complete:
        for agent, other_agent in combinations([response.agent_id for response in record.responses], 2):
            yield {
                **_head(result),
                "round": record.number,
                "agentId": agent,
                "otherId": other_agent,
                "relation": known.get((record.number, frozenset((agent, other_agent))), "unknown"),
                "agentModel": models.get(agent),
                "otherModel": models.get(other_agent),
            }

"""Rows of the seed contract, and the notation they are written in.

The seeds describe a TypeScript API. A table repeats their wording line by line, so that it can be read beside them:

```
temperature?: number = 0.7          a field or an attribute: optional, with its default
async getSession(id)                a method that returns a promise
filter?: 'day'|'week'|...            one of these words; `...` says that ours takes more
runRound(sessionId, focusQuestion?) parameters; `?` is optional, `?=5` has a default, `input as tool_input` is renamed
```

A line may end in options: `| issue=5` for a row that belongs to other work than its block, `| python=module:Name` for a
name that does not follow from the TypeScript one, and anything else is a note for the reader of the docs page.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, TypeAlias

Kind: TypeAlias = Literal[
    "type", "choice", "class", "field", "attribute", "method", "function", "constant", "error", "environment",
    "module", "mode", "provider", "tool", "event", "http", "message", "behaviour",
]  # fmt: skip


class _Unset:
    """Marks a default that the seed does not state."""

    def __repr__(self) -> str:
        return "UNSET"


UNSET = _Unset()


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter of a function, by its Python name."""

    name: str
    optional: bool = False
    default: object = UNSET


@dataclass(frozen=True, slots=True)
class Call:
    """A callable: its parameters, whether it is awaited, whether ours may ask for more than the seed's."""

    parameters: tuple[Parameter, ...]
    is_async: bool = False
    asks_more: bool = False


@dataclass(frozen=True, slots=True)
class Member:
    """A field or an attribute: its TypeScript type, whether it may be left out, its default."""

    type: str
    optional: bool = False
    default: object = UNSET


@dataclass(frozen=True, slots=True)
class Choices:
    """The values a name may take."""

    values: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Constant:
    """A fixed value."""

    value: object


@dataclass(frozen=True, slots=True)
class Fault:
    """An error: its code, whether it may be retried, its default message if the seed gives one."""

    code: str
    retryable: bool
    message: str | None = None


Expectation: TypeAlias = Call | Member | Choices | Constant | Fault | None


@dataclass(frozen=True, slots=True)
class Row:
    """One promise of a seed and the place where it is kept."""

    seed: int
    issue: int
    kind: Kind
    name: str
    """As the seed writes it, with its owner: `AgentConfig.maxTokens`."""
    python: str
    """Where it is: `module:Name.member`."""
    expects: Expectation = None
    note: str = ""

    @property
    def module(self) -> str:
        """Module that holds it."""
        return self.python.partition(":")[0]

    @property
    def path(self) -> tuple[str, ...]:
        """Names to follow from the module."""
        place = self.python.partition(":")[2]
        return tuple(place.split(".")) if place else ()


def snake(name: str) -> str:
    """Turn `maxTokens` into `max_tokens`, and leave snake_case as it is."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()


def _split(text: str) -> list[str]:
    parts: list[str] = []
    depth = 0
    for piece in text.split(","):
        if depth:
            parts[-1] += "," + piece
        else:
            parts.append(piece)
        depth += piece.count("(") + piece.count("[") + piece.count("{")
        depth -= piece.count(")") + piece.count("]") + piece.count("}")
    return [part.strip() for part in parts if part.strip()]


def _parameter(text: str) -> Parameter:
    name, equals, default = text.partition("=")
    seed_name, renamed, python_name = name.partition(" as ")
    optional = seed_name.strip().endswith("?") or bool(equals)
    python = python_name if renamed else snake(seed_name.strip().rstrip("?"))
    return Parameter(python.strip(), optional, ast.literal_eval(default) if equals else UNSET)


@dataclass(frozen=True, slots=True)
class _Line:
    name: str
    expects: Call | Member
    options: dict[str, str]
    note: str


def _line(text: str) -> _Line:
    head, *rest = (part.strip() for part in text.split(" | "))
    options = dict(part.split("=", 1) for part in rest if re.match(r"(?:issue|python)=", part))
    note = "; ".join(part for part in rest if not re.match(r"(?:issue|python)=", part))
    if method := re.fullmatch(r"(async )?(\w+)\((.*?)(, \.\.\.)?\)", head):
        wait, name, parameters, more = method.groups()
        return _Line(name, Call(tuple(map(_parameter, _split(parameters))), bool(wait), bool(more)), options, note)
    if member := re.fullmatch(r"([\w.-]+)(\?)?: (.+?)(?: = (.+))?", head):
        name, mark, kind, default = member.groups()
        stated = ast.literal_eval(default) if default else UNSET
        return _Line(name, Member(kind, bool(mark) or stated is not UNSET, stated), options, note)
    raise ValueError(f"not in the notation of this table: {text!r}")


def _lines(text: str) -> Iterator[_Line]:
    return (_line(line.strip()) for line in text.splitlines() if line.strip())


@dataclass(frozen=True, slots=True)
class Block:
    """The rows of one seed that belong to one piece of work and live in one module."""

    seed: int
    issue: int
    module: str

    def row(
        self, kind: Kind, name: str, place: str | None = None, expects: Expectation = None, note: str = ""
    ) -> tuple[Row, ...]:
        """Return one row; `place` is the name in the module, or a whole path with a colon."""
        python = place if place is not None and ":" in place else f"{self.module}:{name if place is None else place}"
        return (Row(self.seed, self.issue, kind, name, python, expects, note),)

    def _members(self, owner: str, holder: str, text: str, plain: Kind) -> Iterator[Row]:
        for line in _lines(text):
            python = line.options.get("python", f"{self.module}:{holder}.{snake(line.name)}")
            kind: Kind = "method" if isinstance(line.expects, Call) else plain
            if isinstance(line.expects, Call) and line.name == "constructor":
                python = f"{self.module}:{holder}"
            issue = int(line.options.get("issue", self.issue))
            yield Row(self.seed, issue, kind, f"{owner}.{line.name}", python, line.expects, line.note)

    def interface(self, name: str, text: str = "", *, python: str | None = None, note: str = "") -> tuple[Row, ...]:
        """Return rows for a data type and its fields."""
        holder = python or name
        return (*self.row("type", name, holder, note=note), *self._members(name, holder, text, "field"))

    def protocol(self, name: str, text: str = "", *, python: str | None = None, note: str = "") -> tuple[Row, ...]:
        """Return rows for a class or a protocol, its attributes and methods."""
        holder = python or name
        return (*self.row("class", name, holder, note=note), *self._members(name, holder, text, "attribute"))

    def functions(self, text: str) -> tuple[Row, ...]:
        """Return rows for free functions."""
        return tuple(
            Row(
                self.seed,
                int(line.options.get("issue", self.issue)),
                "function",
                line.name,
                line.options.get("python", f"{self.module}:{snake(line.name)}"),
                line.expects,
                line.note,
            )
            for line in _lines(text)
        )

    def wire(self, kind: Kind, name: str, text: str = "", *, python: str, note: str = "") -> tuple[Row, ...]:
        """Return rows for something with its seed name on a wire, such as a tool or an event, and its fields."""
        fields = (
            Row(self.seed, int(line.options.get("issue", self.issue)), "field", f"{name}.{line.name}",
                line.options.get("python", f"{python}.{snake(line.name)}"), line.expects, line.note)
            for line in _lines(text)
        )  # fmt: skip
        return (*self.row(kind, name, python, note=note), *fields)

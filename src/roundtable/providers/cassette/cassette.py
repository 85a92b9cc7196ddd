"""What was recorded, what was given back, and what is recorded next."""

from __future__ import annotations

import logging
import os
import threading
from typing import TYPE_CHECKING, Final, Literal, NamedTuple, TypeAlias

from roundtable._secrets import Scrubber
from roundtable.errors import CassetteMiss, ConfigurationError
from roundtable.gateway.wrapping import endpoint_of
from roundtable.providers.cassette.canon import canonical, difference, key_of, nearest
from roundtable.providers.cassette.tape import Call, Tape
from roundtable.types import ModelProfile

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from roundtable.protocols import ChatModel
    from roundtable.providers.cassette.taped import TapedModel
    from roundtable.types import ChatRequest, JsonObject, JsonValue

__all__ = ["Cassette", "CassetteMode", "Known"]

_log: logging.Logger = logging.getLogger(__name__)

CassetteMode: TypeAlias = Literal["auto", "record", "replay"]
"""What happens to a call: see `Cassette`."""

_LABELS: Final = ("agent", "round", "slot")


class Known(NamedTuple):
    """What is recorded of a model."""

    model: str
    """Model id used when a request names none."""
    profile: ModelProfile
    """What prompts are made for."""
    endpoint: str
    """Root of the API that was called; prices may depend on it."""

    @classmethod
    def of(cls, model: ChatModel) -> Known:
        """Take from a model what it says of itself."""
        return cls(model.model, model.profile, endpoint_of(model))


class Cassette:
    """A file of recorded calls, from which debates can be held again without a network.

    - `auto` gives back what is recorded and records what is not.
    - `record` begins the file anew with the first call and records all calls.
    - `replay` never calls a model; a call that is not recorded is a `CassetteMiss`, which ends the debate.

    Calls are told apart by provider, model and the canonical form of their request: messages with all fence ids
    alike, tools, output schema, temperature, `max_tokens`, seed. Equal calls are given back in the order in which they
    were recorded, each once, those of the same agent, round and slot first. Failed calls are recorded too, where the
    library raised the error, also those that ended at their deadline; a call that was cut short from outside (a stop,
    the deadline of a turn or debate, a stream that was left) is not. Usage is part of a response; cost is
    computed anew.

    Secrets are taken out before anything is written: keys that the table knows, in plain, URL-encoded and base64
    form, and what looks like a key or stands where keys stand. Read a cassette before you publish it all the
    same: it holds the whole conversation.

    One object may serve several tables. In `auto`, several objects and processes may use one file.

    Args:
        path: The file, JSON lines; `.jsonl` is usual.
        mode: What to do with calls.
        secrets: More texts that never get into the file.

    Raises:
        ConfigurationError: There is no such mode, or, to replay, no such file; or it is no cassette.
    """

    def __init__(
        self, path: str | os.PathLike[str], mode: CassetteMode = "auto", *, secrets: Iterable[str] = ()
    ) -> None:
        if mode not in {"auto", "record", "replay"}:
            raise ConfigurationError(f"a cassette's mode is 'auto', 'record' or 'replay', not {mode!r}")
        if not isinstance(path, str | os.PathLike) or not os.fspath(path):
            raise ConfigurationError(
                f"a cassette must be a path or a Cassette, not {path!r}", hint='Give a file, such as "debate.jsonl".'
            )
        self.mode: CassetteMode = mode
        self._tape = Tape(path)
        self._scrubber = Scrubber(secrets)
        # Tables may run in several threads.
        self._lock = threading.RLock()
        self._models: dict[tuple[str, str | None], Known] = {}
        self._calls: list[Call] = []
        self._waiting: dict[str, list[Call]] = {}
        self._begun = mode != "record"
        if mode == "replay" and not self._tape.path.exists():
            raise ConfigurationError(
                f"there is no cassette {str(self._tape.path)!r} to replay", hint="Record it with mode='auto'."
            )
        if mode != "record":
            self._refresh()

    def __repr__(self) -> str:
        return f"Cassette({str(self._tape.path)!r}, mode={self.mode!r})"

    @property
    def path(self) -> str:
        """Where the file is."""
        return str(self._tape.path)

    @property
    def unused(self) -> tuple[Call, ...]:
        """Recorded calls that were not given back yet."""
        with self._lock:
            return tuple(call for calls in self._waiting.values() for call in calls)

    def hide(self, secrets: Iterable[str]) -> None:
        """Learn of texts that never get into the file."""
        with self._lock:
            self._scrubber.add(secrets)

    def over(self, model: ChatModel) -> TapedModel:
        """Put a model that is at hand behind this cassette."""
        from roundtable.providers.cassette.taped import TapedModel

        return TapedModel(self, model.provider, lambda: model, known=Known.of(model))

    def model(self, provider: str, asked: str | None, make: Callable[[], ChatModel]) -> TapedModel:
        """Give a model by name, which is made only where it has to be called.

        Args:
            provider: Name of the provider.
            asked: Model id; `None` is the provider's default.
            make: Makes it.

        Raises:
            CassetteMiss: To replay, and the cassette knows no such model.
            RoundtableError: The model has to be made, and cannot be.
        """
        from roundtable.providers.cassette.taped import TapedModel

        with self._lock:
            known = self._models.get((provider, asked)) if self.mode != "record" else None
        if known is not None:
            return TapedModel(self, provider, make, known=known)
        name = f"{provider}:{asked}" if asked else provider
        if self.mode == "replay":
            there = ", ".join(sorted({f"{of}:{model.model}" for (of, _), model in self._models.items()})) or "none"
            raise CassetteMiss(f"the cassette {self.path!r} knows no model {name!r}; it knows: {there}")
        made = make()
        self._remember(provider, asked, made)
        return TapedModel(self, provider, lambda: made, known=Known.of(made), made=made)

    def first_model(self) -> Known | None:
        """Give the model that was recorded first, if any was."""
        with self._lock:
            return next(iter(self._models.values()), None)

    def _remember(self, provider: str, asked: str | None, model: ChatModel) -> None:
        known = Known.of(model)
        with self._lock:
            if self._models.get((provider, asked)) == known:
                return
            self._models[provider, asked] = known
            if self._begun:
                self._tape.append([self._model_line(provider, asked, known)])

    def _model_line(self, provider: str, asked: str | None, known: Known) -> JsonObject:
        return {
            "kind": "model",
            "provider": provider,
            "asked": asked,
            "model": known.model,
            "endpoint": self._scrubber.text(known.endpoint),
            "profile": known.profile.model_dump(mode="json"),
        }

    def find(self, request: ChatRequest, provider: str | None, model: str) -> Call | None:
        """Give back the recording of a call; `None` where it has to be made.

        Args:
            request: The call.
            provider: Who is asked; `None` takes the recording of any provider and model.
            model: Model that is asked.

        Raises:
            CassetteMiss: It is not recorded, and the cassette only replays.
        """
        if self.mode == "record":
            return None
        facts = canonical(request, self._scrubber)
        with self._lock:
            found = self._take(key_of(facts), provider, model, self._label(request))
            if found is None:
                # Somebody else may have recorded it meanwhile.
                self._refresh()
                found = self._take(key_of(facts), provider, model, self._label(request))
            if found is None and self.mode == "replay":
                raise self._miss(facts, provider, model)
        return found

    def _take(self, key: str, provider: str | None, model: str, label: JsonObject) -> Call | None:
        waiting = self._waiting.get(key, [])
        fitting = [call for call in waiting if provider is None or (call.provider, call.model) == (provider, model)]
        if not fitting:
            return None
        found = next((call for call in fitting if call.label == label), fitting[0])
        waiting.remove(found)
        return found

    def _miss(self, facts: JsonObject, provider: str | None, model: str) -> CassetteMiss:
        near = nearest(facts, self._calls)
        head = f"the cassette {self.path!r} does not hold this call"
        if near is None:
            return CassetteMiss(f"{head}; it holds no call at all", provider=provider)
        where = f"line {near.line}" + (f", for {near.label['agent']}" if "agent" in near.label else "")
        details: dict[str, JsonValue] = {
            "nearest": {"line": near.line, "provider": near.provider, "model": near.model, "for": near.label}
        }
        found = difference(near.request, facts)
        if found is not None:
            path, recorded, asked = found
            details |= {"path": path, "recorded": recorded, "asked": asked}
            why = f"differs in {path}: recorded {recorded!r}, asked {asked!r}"
        elif provider is not None and (near.provider, near.model) != (provider, model):
            why = f"was recorded of {near.provider}:{near.model}, asked is {provider}:{model}"
        else:
            why = "is the same, but was given back as often as it was recorded"
        return CassetteMiss(f"{head}; the nearest ({where}) {why}", provider=provider, details=details)

    def record(self, request: ChatRequest, provider: str, model: str, outcome: JsonObject) -> None:
        """Write down what a call gave.

        Raises:
            ConfigurationError: The file cannot be written.
        """
        facts = canonical(request, self._scrubber)
        with self._lock:
            if not self._begun:
                self._tape.begin_anew()
                self._tape.append(self._model_line(*name, known) for name, known in self._models.items())
                self._begun = True
            line = Call(0, key_of(facts), provider, model, self._label(request), facts, self._clean(outcome)).to_line()
            self._tape.append([line])
            self._refresh(own=line)

    def _label(self, request: ChatRequest) -> JsonObject:
        return {name: self._scrubber.text(request.metadata[name]) for name in _LABELS if name in request.metadata}

    def _clean(self, outcome: JsonObject) -> JsonObject:
        """Scrub what came. A secret that lies across the pieces of a stream goes too; they become one piece then."""
        clean = {name: self._scrubber.value(value) for name, value in outcome.items()}
        deltas = outcome.get("deltas")
        if isinstance(deltas, list):
            whole = "".join(str(piece.get("text", "")) for piece in deltas if isinstance(piece, dict))
            scrubbed = self._scrubber.text(whole)
            if scrubbed != whole or clean.get("response") != outcome.get("response"):
                clean["deltas"] = [{"text": scrubbed}]
        return clean

    def rewind(self) -> None:
        """Let everything recorded be given back once more."""
        with self._lock:
            self._waiting = {}
            for call in self._calls:
                self._waiting.setdefault(call.key, []).append(call)

    def _refresh(self, own: JsonObject | None = None) -> None:
        """Read what was written since; what was recorded here just now is not given back here."""
        for number, line in self._tape.read():
            if line["kind"] == "model":
                name, known = _model_of(number, line, self.path)
                self._models[name] = known
            elif line["kind"] == "call":
                call = _call_of(number, line, self.path)
                self._calls.append(call)
                if line == own:
                    own = None
                else:
                    self._waiting.setdefault(call.key, []).append(call)


def _model_of(number: int, line: JsonObject, path: str) -> tuple[tuple[str, str | None], Known]:
    provider, asked, model = line.get("provider"), line.get("asked"), line.get("model")
    try:
        profile = ModelProfile.model_validate(line.get("profile"))
    except ValueError as error:
        raise _broken(number, path) from error
    if not isinstance(provider, str) or not isinstance(model, str) or not isinstance(asked, str | None):
        raise _broken(number, path)
    return (provider, asked), Known(model, profile, str(line.get("endpoint", "")))


def _call_of(number: int, line: JsonObject, path: str) -> Call:
    key, provider, model = line.get("key"), line.get("provider"), line.get("model")
    label, request = line.get("for"), line.get("request")
    if not (isinstance(key, str) and isinstance(provider, str) and isinstance(model, str)):
        raise _broken(number, path)
    if not (isinstance(label, dict) and isinstance(request, dict) and ("response" in line or "error" in line)):
        raise _broken(number, path)
    outcome: JsonObject = {name: line[name] for name in ("deltas", "response", "error") if name in line}
    return Call(number, key, provider, model, label, request, outcome)


def _broken(number: int, path: str) -> ConfigurationError:
    return ConfigurationError(f"line {number} of the cassette {path!r} lacks what a line of its kind holds")

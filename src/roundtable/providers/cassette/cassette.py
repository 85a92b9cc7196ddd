"""Cassettes: the recorded calls, the search for the recording of a new call, and the model that replays them."""

from __future__ import annotations

import difflib
import hashlib
import json
import logging
import os
import re
import threading
from typing import TYPE_CHECKING, Final, Literal, NamedTuple, TypeAlias

import anyio.lowlevel

from roundtable.core.base.secrets import Scrubber
from roundtable.core.chat_models import facts_of
from roundtable.core.errors import CassetteMiss, ConfigurationError
from roundtable.core.types.agents import ModelProfile
from roundtable.core.types.chat import ChatDelta
from roundtable.gateway import ChatStream
from roundtable.gateway.default_rates import default_rate_of
from roundtable.providers.cassette.model import recorded_deltas, replay_call
from roundtable.providers.cassette.tape import CassetteFile, RecordedCall

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Iterable

    from roundtable.core.protocols import ChatModel
    from roundtable.core.types.agents import ProviderConfig
    from roundtable.core.types.base import JsonObject, JsonValue
    from roundtable.core.types.chat import ChatRequest, ChatResponse
    from roundtable.providers.cassette.model import RecordedModel
    from roundtable.settings import Settings

__all__ = [
    "Cassette",
    "CassetteMode",
    "KnownModel",
    "ReplayModel",
    "ReplayProvider",
    "canonical",
    "difference",
    "most_similar_call",
    "request_hash",
]

_log: logging.Logger = logging.getLogger(__name__)

_LEFT_OUT: Final = {"model", "metadata", "extra_headers"}
"""The model is matched separately, `metadata` does not change the answer, and headers may hold secrets."""
_MARKER: Final = re.compile(r"^(BEGIN|END) QUOTE [^\s()]+(?=$| \()", re.MULTILINE)
_ECHO: Final = re.compile(r"\b(BEGIN|END) QUOTE [0-9a-f]{16}\b")
_SAMPLE_CHARS: Final = 4000
_MOST_COMPARED: Final = 200
_CONTENT: Final = frozenset({"url", "data"})
_SHOWN_CHARS: Final = 60

_LABELS: Final = ("agent", "round", "slot")


def canonical(request: ChatRequest, scrubber: Scrubber) -> JsonObject:
    r"""Return the canonical form of a request: without secrets, and without details that differ between equal calls.

    The form holds messages, tools, output schema, temperature, `max_tokens`, seed and every other field that differs
    from its default. It leaves out the model, `metadata` and headers. The word `fence` replaces the random id of a
    fence, and a hash replaces an image or a document.

    Example:
        >>> from roundtable.core.base.secrets import Scrubber
        >>> from roundtable.types import ChatRequest, Message
        >>> quoted = "BEGIN QUOTE 81f0b2c4d6e8fa1c (question)\n| Tea?\nEND QUOTE 81f0b2c4d6e8fa1c"
        >>> asked = ChatRequest(model="m", messages=(Message(role="user", content=quoted),))
        >>> canonical(asked, Scrubber())["messages"][0]["content"]
        'BEGIN QUOTE fence (question)\n| Tea?\nEND QUOTE fence'
    """
    facts: JsonObject = request.model_dump(mode="json", exclude=_LEFT_OUT, exclude_defaults=True)
    facts["messages"] = _unfenced(facts.get("messages"))
    clean = scrubber.value(facts)
    return clean if isinstance(clean, dict) else {}


def _unfenced(value: JsonValue) -> JsonValue:
    if isinstance(value, str):
        return _ECHO.sub(r"\1 QUOTE fence", _MARKER.sub(r"\1 QUOTE fence", value))
    if isinstance(value, list):
        return [_unfenced(item) for item in value]
    if isinstance(value, dict):
        hashed = {name: _hash_of_content(name, item) for name, item in value.items()} if value.keys() & _CONTENT else {}
        return {name: hashed.get(name) or _unfenced(item) for name, item in value.items()}
    return value


def _hash_of_content(name: str, value: JsonValue) -> str | None:
    """Return the hash that replaces a file in base64; `None` for any other value."""
    if not isinstance(value, str) or not (name == "data" or (name == "url" and value.startswith("data:"))):
        return None
    return f"sha256:{hashlib.sha256(value.encode()).hexdigest()}"


def request_hash(facts: JsonObject) -> str:
    """Return a hash of a canonical form; it is the key of all calls with this form."""
    text = json.dumps(facts, sort_keys=True, ensure_ascii=True)
    return hashlib.sha256(text.encode()).hexdigest()[:20]


def most_similar_call(asked: JsonObject, calls: Iterable[RecordedCall]) -> RecordedCall | None:
    """Return the call with the most similar request among the latest 200 recorded calls; `None` if there are none."""
    matcher = difflib.SequenceMatcher(autojunk=False)
    matcher.set_seq2(_sample(asked))
    best: tuple[float, RecordedCall] | None = None
    for call in list(calls)[-_MOST_COMPARED:]:
        matcher.set_seq1(_sample(call.request))
        if best is None or matcher.quick_ratio() > best[0]:
            ratio = matcher.quick_ratio()
            best = (ratio, call)
    return None if best is None else best[1]


def _sample(facts: JsonObject) -> str:
    return json.dumps(facts, ensure_ascii=False)[-_SAMPLE_CHARS:]


def difference(recorded: JsonValue, asked: JsonValue, path: str = "request") -> tuple[str, str, str] | None:
    """Return the path of the first difference between two canonical forms, and both values; `None` if they are equal.

    Example:
        >>> difference({"messages": [{"content": "Tea?"}]}, {"messages": [{"content": "Milk?"}]})
        ('request.messages[0].content', 'Tea?', 'Milk?')
    """
    if recorded == asked:
        return None
    if isinstance(recorded, dict) and isinstance(asked, dict):
        name = next(name for name in sorted({*recorded, *asked}) if _member(recorded, name) != _member(asked, name))
        if name in recorded and name in asked:
            return difference(recorded[name], asked[name], f"{path}.{name}")
        return f"{path}.{name}", *_around(*("".join(map(_text, _member(side, name))) for side in (recorded, asked)))
    if isinstance(recorded, list) and isinstance(asked, list):
        for index in range(max(len(recorded), len(asked))):
            recorded_item = recorded[index] if index < len(recorded) else None
            asked_item = asked[index] if index < len(asked) else None
            if recorded_item != asked_item:
                return difference(recorded_item, asked_item, f"{path}[{index}]")
    return path, *_around(_text(recorded), _text(asked))


def _member(value: JsonObject, name: str) -> list[JsonValue]:
    """Return a member in a list. The list is empty if the member is missing, which is not the same as null."""
    return [value[name]] if name in value else []


def _text(value: JsonValue) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _around(first: str, second: str) -> tuple[str, str]:
    """Return an excerpt of each text, around the point from which the texts differ."""
    common = next((index for index, pair in enumerate(zip(first, second, strict=False)) if pair[0] != pair[1]), None)
    start = max(0, (min(len(first), len(second)) if common is None else common) - _SHOWN_CHARS // 3)
    return _cut(first, start), _cut(second, start)


def _cut(text: str, start: int) -> str:
    end = start + _SHOWN_CHARS
    return f"{'…' if start else ''}{text[start:end]}{'…' if len(text) > end else ''}"


CassetteMode: TypeAlias = Literal["auto", "record", "replay"]
"""How a cassette handles a call; see `Cassette`."""


class KnownModel(NamedTuple):
    """What a cassette knows about a model."""

    model: str
    """Id of the model for requests that name no model."""
    profile: ModelProfile
    """Profile that prompts are written for."""
    endpoint: str
    """Root of the API that was called; prices may depend on it."""

    @classmethod
    def of(cls, model: ChatModel) -> KnownModel:
        """Return what to record about a model."""
        return cls(model.model, model.profile, facts_of(model).endpoint)


class Cassette:
    """A file of recorded calls, to repeat debates without a network.

    - `auto` replays recorded calls and records the others.
    - `record` replaces the file with the first call and records all calls.
    - `replay` never calls a model; a call that is not recorded raises `CassetteMiss`, which ends the debate.

    A recording matches a call if provider, model and the canonical form of the request are equal. The canonical form
    consists of messages without fence ids, tools, output schema, temperature, `max_tokens` and seed. If several
    recordings match, each is replayed once, in the order of recording; recordings of the same agent, round and slot
    come first.

    A failed call is also recorded if the library raised the error; this includes calls that missed their deadline. A
    call that was cancelled from outside (a stop, the deadline of a turn or debate, an abandoned stream) is not
    recorded. Usage is part of a response; the cost is computed again.

    Secrets are removed before anything is written:

    - keys that the table knows, in plain, URL-encoded and base64 form
    - values that look like a key
    - values in positions that usually hold keys: headers, queries, the user part of a URL

    Still, read a cassette before you publish it: it holds the whole conversation.

    One object may serve several tables. In `auto`, several objects and processes may use one file.

    Args:
        path: The file, in the format JSON Lines; its name usually ends with `.jsonl`.
        mode: What to do with calls.
        secrets: Further texts that must never be written.

    Raises:
        ConfigurationError: The mode is unknown, the file is not a cassette, or the mode is `replay` and there is no
            file.
    """

    def __init__(
        self, path: str | os.PathLike[str], mode: CassetteMode = "auto", *, secrets: Iterable[str] = ()
    ) -> None:
        if mode not in {"auto", "record", "replay"}:
            raise ConfigurationError(f"unknown mode of a cassette: {mode!r}; choose 'auto', 'record' or 'replay'")
        if not isinstance(path, str | os.PathLike) or not os.fspath(path):
            raise ConfigurationError(
                f"a cassette must be a path or a Cassette, not {path!r}", hint='Give a file, such as "debate.jsonl".'
            )
        self.mode: CassetteMode = mode
        self._tape = CassetteFile(path)
        self._scrubber = Scrubber(secrets)
        # Tables may run in several threads.
        self._lock = threading.RLock()
        self._models: dict[tuple[str, str | None], KnownModel] = {}
        self._calls: list[RecordedCall] = []
        self._unused: dict[str, list[RecordedCall]] = {}
        self._has_started = mode != "record"
        if mode == "replay" and not self._tape.path.exists():
            raise ConfigurationError(
                f"cannot replay the cassette {str(self._tape.path)!r}: no such file", hint="Record it with mode='auto'."
            )
        if mode != "record":
            self._refresh()

    def __repr__(self) -> str:
        return f"Cassette({str(self._tape.path)!r}, mode={self.mode!r})"

    @property
    def path(self) -> str:
        """Path of the file."""
        return str(self._tape.path)

    @property
    def unused(self) -> tuple[RecordedCall, ...]:
        """The recorded calls that were not replayed yet."""
        with self._lock:
            return tuple(call for calls in self._unused.values() for call in calls)

    def hide(self, secrets: Iterable[str]) -> None:
        """Add texts that must never be written."""
        with self._lock:
            self._scrubber.add(secrets)

    def over(self, model: ChatModel) -> RecordedModel:
        """Wrap a model, so that this cassette replays and records its calls; one that a cassette wraps is returned."""
        from roundtable.providers.cassette.model import RecordedModel

        if isinstance(model, RecordedModel):
            return model
        rate, account = default_rate_of(model), facts_of(model).account
        return RecordedModel(
            self, model.provider, lambda: model, known=KnownModel.of(model), requests_per_minute=rate, account=account
        )

    def model(
        self,
        provider: str,
        asked: str | None,
        make: Callable[[], ChatModel],
        *,
        requests_per_minute: float | None = None,
    ) -> RecordedModel:
        """Return a model by name. If the cassette knows the model, it is created only when it has to be called.

        Args:
            provider: Name of the provider.
            asked: Model id; `None` is the provider's default.
            make: Creates the model.
            requests_per_minute: Default rate limit of the provider, for calls that are not recorded.

        Raises:
            CassetteMiss: The mode is `replay`, and the cassette does not know the model.
            RoundtableError: The model cannot be created.
        """
        from roundtable.providers.cassette.model import RecordedModel

        with self._lock:
            known = self._models.get((provider, asked)) if self.mode != "record" else None
        if known is not None:
            return RecordedModel(self, provider, make, known=known, requests_per_minute=requests_per_minute)
        name = f"{provider}:{asked}" if asked else provider
        if self.mode == "replay":
            names = ", ".join(sorted({f"{of}:{model.model}" for (of, _), model in self._models.items()})) or "none"
            raise CassetteMiss(f"the cassette {self.path!r} knows no model {name!r}; it knows: {names}")
        inner = make()
        self._remember(provider, asked, inner)
        known, rate, account = KnownModel.of(inner), requests_per_minute, facts_of(inner).account
        return RecordedModel(
            self, provider, lambda: inner, known=known, made=inner, requests_per_minute=rate, account=account
        )

    def first_model(self) -> KnownModel | None:
        """Return the model that was recorded first; `None` if there is none."""
        with self._lock:
            return next(iter(self._models.values()), None)

    def _remember(self, provider: str, asked: str | None, model: ChatModel) -> None:
        known = KnownModel.of(model)
        with self._lock:
            if self._models.get((provider, asked)) == known:
                return
            self._models[provider, asked] = known
            if self._has_started:
                self._tape.append([self._model_line(provider, asked, known)])

    def _model_line(self, provider: str, asked: str | None, known: KnownModel) -> JsonObject:
        return {
            "kind": "model",
            "provider": provider,
            "asked": asked,
            "model": known.model,
            "endpoint": self._scrubber.text(known.endpoint),
            "profile": known.profile.model_dump(mode="json"),
        }

    def find(self, request: ChatRequest, provider: str | None, model: str) -> RecordedCall | None:
        """Return the next recording of a call, which is then used up; `None` if the call has to be made.

        Args:
            request: The call.
            provider: Provider of the call; `None` matches any provider and model.
            model: Model of the call.

        Raises:
            CassetteMiss: The call is not recorded, and the mode is `replay`.
        """
        if self.mode == "record":
            return None
        facts = canonical(request, self._scrubber)
        with self._lock:
            call = self._take_recording(request_hash(facts), provider, model, self._label(request))
            if call is None:
                # Another process may have recorded the call meanwhile.
                self._refresh()
                call = self._take_recording(request_hash(facts), provider, model, self._label(request))
            if call is None and self.mode == "replay":
                raise self._miss(facts, provider, model)
        return call

    def holds(self, request: ChatRequest, provider: str, model: str) -> bool:
        """Check whether a call needs no provider: it is recorded, or the mode is `replay`."""
        return self.mode == "replay" or self.has(request, provider, model)

    def has(self, request: ChatRequest, provider: str, model: str) -> bool:
        """Check whether a call is recorded, and its recording is not used up."""
        if self.mode == "record":
            return False
        key = request_hash(canonical(request, self._scrubber))
        with self._lock:
            return any((call.provider, call.model) == (provider, model) for call in self._unused.get(key, ()))

    def _take_recording(self, key: str, provider: str | None, model: str, label: JsonObject) -> RecordedCall | None:
        unused = self._unused.get(key, [])
        matches = [call for call in unused if provider is None or (call.provider, call.model) == (provider, model)]
        if not matches:
            return None
        match = next((call for call in matches if call.label == label), matches[0])
        unused.remove(match)
        return match

    def _miss(self, facts: JsonObject, provider: str | None, model: str) -> CassetteMiss:
        closest = most_similar_call(facts, self._calls)
        head = f"the cassette {self.path!r} does not contain this call"
        if closest is None:
            return CassetteMiss(f"{head}; it is empty", provider=provider)
        where = f"line {closest.line}" + (f", for {closest.label['agent']}" if "agent" in closest.label else "")
        details: dict[str, JsonValue] = {
            "nearest": {
                "line": closest.line,
                "provider": closest.provider,
                "model": closest.model,
                "for": closest.label,
            }
        }
        first_difference = difference(closest.request, facts)
        if first_difference is not None:
            path, recorded, asked = first_difference
            details |= {"path": path, "recorded": recorded, "asked": asked}
            reason = f"differs in {path}: recorded {recorded!r}, asked {asked!r}"
        elif provider is not None and (closest.provider, closest.model) != (provider, model):
            reason = f"was recorded with {closest.provider}:{closest.model}, not {provider}:{model}"
        else:
            reason = "is the same, but was already replayed as often as it was recorded"
        return CassetteMiss(f"{head}; the nearest ({where}) {reason}", provider=provider, details=details)

    def record(self, request: ChatRequest, provider: str, model: str, outcome: JsonObject) -> None:
        """Record the outcome of a call.

        Raises:
            ConfigurationError: The file cannot be written.
        """
        facts = canonical(request, self._scrubber)
        with self._lock:
            if not self._has_started:
                self._tape.begin_anew()
                self._tape.append(self._model_line(*name, known) for name, known in self._models.items())
                self._has_started = True
            line = RecordedCall(
                0, request_hash(facts), provider, model, self._label(request), facts, self._clean(outcome)
            ).to_line()
            self._tape.append([line])
            self._refresh(own=line)

    def _label(self, request: ChatRequest) -> JsonObject:
        return {name: self._scrubber.text(request.metadata[name]) for name in _LABELS if name in request.metadata}

    def _clean(self, outcome: JsonObject) -> JsonObject:
        """Remove secrets from an outcome. If a secret spans several pieces of a stream, these become one piece."""
        cleaned = {name: self._scrubber.value(value) for name, value in outcome.items()}
        deltas = outcome.get("deltas")
        if isinstance(deltas, list):
            text = "".join(str(piece.get("text", "")) for piece in deltas if isinstance(piece, dict))
            scrubbed = self._scrubber.text(text)
            if scrubbed != text or cleaned.get("response") != outcome.get("response"):
                cleaned["deltas"] = [{"text": scrubbed}]
        return cleaned

    def rewind(self) -> None:
        """Make all recorded calls available again."""
        with self._lock:
            self._unused = {}
            for call in self._calls:
                self._unused.setdefault(call.key, []).append(call)

    def _refresh(self, own: JsonObject | None = None) -> None:
        """Read the new lines of the file. The call in `own`, which this object has just recorded, is not replayed."""
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
                    self._unused.setdefault(call.key, []).append(call)


def _model_of(number: int, line: JsonObject, path: str) -> tuple[tuple[str, str | None], KnownModel]:
    provider, asked, model = line.get("provider"), line.get("asked"), line.get("model")
    try:
        profile = ModelProfile.model_validate(line.get("profile"))
    except ValueError as error:
        raise _broken(number, path) from error
    if not isinstance(provider, str) or not isinstance(model, str) or not isinstance(asked, str | None):
        raise _broken(number, path)
    return (provider, asked), KnownModel(model, profile, str(line.get("endpoint", "")))


def _call_of(number: int, line: JsonObject, path: str) -> RecordedCall:
    key, provider, model = line.get("key"), line.get("provider"), line.get("model")
    label, request = line.get("for"), line.get("request")
    if not (isinstance(key, str) and isinstance(provider, str) and isinstance(model, str)):
        raise _broken(number, path)
    if not (isinstance(label, dict) and isinstance(request, dict) and ("response" in line or "error" in line)):
        raise _broken(number, path)
    outcome: JsonObject = {name: line[name] for name in ("deltas", "response", "error") if name in line}
    return RecordedCall(number, key, provider, model, label, request, outcome)


def _broken(number: int, path: str) -> ConfigurationError:
    return ConfigurationError(f"line {number} of the cassette {path!r} lacks fields that a line of its kind needs")


class ReplayModel:
    """A `ChatModel` that replays the calls of a cassette, no matter which model they were recorded with.

    Args:
        cassette: The recordings.
    """

    provider = "replay"

    def __init__(self, cassette: Cassette) -> None:
        self._cassette = cassette
        known = cassette.first_model()
        self.model: str = cassette.path
        self.profile: ModelProfile = ModelProfile() if known is None else known.profile

    def __repr__(self) -> str:
        return f"ReplayModel({self._cassette!r})"

    async def complete(self, request: ChatRequest) -> ChatResponse:
        """Return the recorded response.

        Raises:
            CassetteMiss: The call is not recorded.
            RoundtableError: The recorded error.
        """
        call = self._find_call(request)
        await anyio.lowlevel.checkpoint()
        return replay_call(call)

    def _find_call(self, request: ChatRequest) -> RecordedCall:
        call = self._cassette.find(request, None, "")
        assert call is not None  # noqa: S101  (a cassette that only replays raises instead)
        return call

    def stream(self, request: ChatRequest) -> ChatStream:
        """Yield the recorded response in its original pieces; the iteration raises the errors of `complete`."""
        return ChatStream(self._stream(request))

    async def _stream(self, request: ChatRequest) -> AsyncGenerator[ChatDelta | ChatResponse]:
        call = self._find_call(request)
        for piece in recorded_deltas(call):
            await anyio.lowlevel.checkpoint()
            yield piece
        yield replay_call(call)

    async def aclose(self) -> None:
        """Do nothing; there is nothing to release."""


class ReplayProvider:
    """Factory of models `replay:FILE`. All models of one file share its recordings; each recording is replayed once.

    Prompts contain the names of the agents, so the agents need the names and ids of the recording:
    `AgentConfig(id=..., name=..., provider="replay", model="FILE")`. The option `cassette=` of a table has no such
    condition.
    """

    reads_files: Final = True
    """Whether a model id is the path of a local file; servers do not let callers choose such a model."""

    def __init__(self) -> None:
        self._cassettes: dict[str, Cassette] = {}

    def __call__(self, model: str | None, _config: ProviderConfig, _settings: Settings) -> ReplayModel:
        """Create a model.

        Raises:
            ConfigurationError: No file is named, or the file is not a cassette.
        """
        if model is None:
            raise ConfigurationError(
                "the provider 'replay' needs a cassette", provider="replay", hint="Write 'replay:FILE.jsonl'."
            )
        if model not in self._cassettes:
            self._cassettes[model] = Cassette(model, "replay")
        return ReplayModel(self._cassettes[model])

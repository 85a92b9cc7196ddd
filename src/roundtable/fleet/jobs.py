"""Jobs of a fleet: the debates of a job, files of questions, and the progress of a job."""

from __future__ import annotations

import hashlib
import json
import logging
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, NamedTuple, cast

from pydantic import Field, ValidationError

from roundtable.core.base.strict_json import unique_names
from roundtable.core.errors import ConfigurationError, SessionNotFound, StorageError
from roundtable.core.types.agents import AgentConfig
from roundtable.core.types.attachments import Attachment, AttachmentInfo, read_attachments
from roundtable.core.types.base import Timestamp, Value, first_error
from roundtable.core.types.budget import Budget
from roundtable.core.types.chat import Usage
from roundtable.core.types.request import DebateRequest
from roundtable.exits import exit_from_spec

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from os import PathLike

    from roundtable.api import Roundtable
    from roundtable.api.options import DebateOptions
    from roundtable.api.seats import AgentLike
    from roundtable.core.types.attachments import AttachmentLike
    from roundtable.results.debate_result import DebateResult

__all__ = [
    "Job",
    "JobDebate",
    "JobStatus",
    "RunningDebate",
    "agents_of",
    "check_kinds",
    "check_name",
    "check_prices",
    "digest_of",
    "file_hashes",
    "job_of",
    "options_of",
    "queued_request",
    "read_jsonl",
    "request_from_queue",
    "requests_of",
    "stored_result",
]

logger: logging.Logger = logging.getLogger("roundtable.fleet")

_MOST_ERRORS: Final = 10
_MOST_DEBATES: Final = 10_000_000
_NAME_LENGTH: Final = 100
_NAME_CHARACTERS: Final = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-")


class JobDebate(NamedTuple):
    """One debate of a job."""

    workflow_id: str
    """Id of the debate in the queue: the names of the fleet and the job, and the number of the debate."""
    session_id: str
    """Id of its session."""
    request: str
    """The topic and the options: a `DebateRequest` as JSON, with the hashes of its files; see `queued_request`."""


class Job(Value):
    """A job as it was submitted."""

    fleet: str
    """Name of the fleet within the queue's database."""
    name: str
    """Name of the job."""
    debates: int
    """How many debates the job has."""
    digest: str
    """SHA-256 of the requests, to recognize the same job."""
    nonce: str
    """Random text from which the ids of the sessions are made."""
    budget: Budget | None = None
    """Limits for all debates of the job together."""
    submitted_at: Timestamp
    """When it was submitted."""
    retried_at: Timestamp | None = None
    """When failed or cancelled debates were last queued again."""
    agents: tuple[str, ...] | None = None
    """Agents of the table that submitted the job, for questions that name none; `None` if the table was given none."""
    trace: str | None = None
    """The trace that its debates belong to, in the format of the W3C header `traceparent`."""

    def debate(self, number: int, request: DebateRequest, session_id: str | None = None) -> JobDebate:
        """Return one debate of the job, with the ids of its workflow and its session.

        Args:
            number: Number of the debate within the job, from 1.
            request: What to debate.
            session_id: Id of its session; derived from the job when left out.
        """
        if session_id is None:
            session_id = hashlib.sha256(f"{self.nonce}/{number}".encode()).hexdigest()[:32]
        return JobDebate(self.workflow_id(number), session_id, queued_request(request))

    def workflow_id(self, number: int) -> str:
        """Return the id of a debate in the queue, by its number within the job, from 1."""
        return f"{self.prefix}{number:08d}"

    @property
    def prefix(self) -> str:
        """The beginning of the ids of the job's debates in the queue."""
        return f"{self.fleet}.{self.name}."

    @property
    def workflow_ids(self) -> list[str]:
        """The ids of all debates in the queue, in the order of the questions."""
        return [self.workflow_id(number) for number in range(1, self.debates + 1)]


class RunningDebate(Value):
    """A debate that a worker runs."""

    session_id: str
    """Id of its session."""
    seconds: float
    """How long the debate has been running since a worker last took it."""


class JobStatus(Value):
    """The progress of a job.

    Example:
        >>> from datetime import UTC, datetime
        >>> status = JobStatus(job="nightly", debates=3, completed=2, running=1, submitted_at=datetime.now(UTC))
        >>> status.is_done, status.ended
        (False, 2)
    """

    job: str
    """Name of the job."""
    debates: int
    """How many debates the job has."""
    queued: int = 0
    """Debates that wait for a worker."""
    set_aside: int = 0
    """How many of the queued debates wait for a worker with `agents`, because other workers cannot run them."""
    agents: tuple[str, ...] | None = None
    """Agents of the table that submitted the job, for questions that name none; `None` if the table was given none."""
    running: int = 0
    """Debates that a worker runs."""
    completed: int = 0
    """Debates with a result."""
    failed: int = 0
    """Debates that failed even after automatic retries; `Fleet.retry` queues them again."""
    cancelled: int = 0
    """Debates that were cancelled."""
    errors: Annotated[Mapping[str, int], Field(default_factory=dict)]
    """How many debates failed, by error code."""
    usage: Usage = Usage()
    """What ended debates consumed."""
    budget: Budget | None = None
    """Limits for all debates of the job together."""
    submitted_at: Timestamp
    """When the job was submitted."""
    retried_at: Timestamp | None = None
    """When its failed or cancelled debates were last queued again."""
    per_minute: float = 0.0
    """Debates that ended per minute, over the last five minutes, or since the first debate began if that is shorter."""
    longest_running: tuple[RunningDebate, ...] = ()
    """The five debates that have been running for the longest time, the longest first."""

    @property
    def left_s(self) -> float | None:
        """Seconds until the job is done at the current rate; `None` if no debate has ended lately."""
        return 60 * (self.debates - self.ended) / self.per_minute if self.per_minute else None

    @property
    def ended(self) -> int:
        """Debates that are no longer queued or running."""
        return self.completed + self.failed + self.cancelled

    @property
    def is_done(self) -> bool:
        """Whether no debate is queued or running."""
        return self.ended >= self.debates


def job_of(workflow_id: str) -> str:
    """Return the name of the job that a debate in the queue belongs to."""
    return workflow_id.split(".")[1]


def check_name(name: object) -> str:
    """Return the name of a job.

    Raises:
        ConfigurationError: It is not 1 to 100 letters, digits, hyphens and underscores.
    """
    if not isinstance(name, str) or not 1 <= len(name) <= _NAME_LENGTH or not _NAME_CHARACTERS.issuperset(name):
        msg = f"{name!r} is not a valid name for a job or a fleet"
        hint = f"Use 1 to {_NAME_LENGTH} letters (a-z), digits, hyphens and underscores, such as 'nightly-2026'."
        raise ConfigurationError(msg, hint=hint)
    return name


def queued_request(request: DebateRequest) -> str:
    """Return a request as JSON for the queue, with the hashes of its files; each job stores their contents once."""
    if not request.attachments:
        return request.model_dump_json(exclude_unset=True)
    fields = request.model_dump(mode="json", exclude_unset=True, exclude={"attachments"})
    files = [file.info.model_dump(mode="json") for file in request.attachments]
    return json.dumps({**fields, "attachments": files}, ensure_ascii=False, separators=(",", ":"))


def file_hashes(queued: str) -> tuple[str, ...]:
    """Return the hashes of the files of a queued request, except files whose contents are in the request itself."""
    return tuple(file["sha256"] for file in json.loads(queued).get("attachments", ()) if not _is_whole(file))


def request_from_queue(queued: str, contents: Mapping[str, str] | None) -> DebateRequest:
    """Return a request from the queue.

    Args:
        queued: The request as `queued_request` returns it. It may contain whole files, as in earlier versions.
        contents: The contents of its files, by hash; with `None`, files of which only the hash is queued are left out.

    Raises:
        StorageError: The content of a file is missing.
    """
    fields = json.loads(queued)
    files: list[Attachment] = []
    for file in fields.pop("attachments", ()):
        if _is_whole(file):
            files.append(Attachment.model_validate(file))
        elif contents is not None:
            info = AttachmentInfo.model_validate(file)
            if info.sha256 not in contents:
                msg = f"the content of {info.name!r} is missing"
                raise StorageError(msg, hint="Submit the job again.", retryable=False)
            files.append(Attachment.stored(info, contents[info.sha256]))
    request = DebateRequest.model_validate_json(json.dumps(fields))
    return request.model_copy(update={"attachments": tuple(files)}) if files else request


def _is_whole(file: Mapping[str, object]) -> bool:
    """Check whether a queued request contains the content of a file, not only its hash."""
    return file.get("text") is not None or file.get("data") is not None


def digest_of(requests: Iterable[DebateRequest]) -> str:
    """Return the SHA-256 of requests, in their order."""
    digest = hashlib.sha256()
    for request in requests:
        digest.update(queued_request(request).encode())
        digest.update(b"\n")
    return digest.hexdigest()


def requests_of(questions: Iterable[object], options: Mapping[str, object]) -> list[DebateRequest]:
    """Return one checked request for each question.

    Args:
        questions: Texts, requests, or mappings with the fields of a request; `question` is another name for `topic`.
            Fields that a request does not have are refused.
        options: Options of all debates, as for `Roundtable.debate`; a question's own options take precedence.

    Raises:
        ConfigurationError: A question or an option cannot be used; `details["errors"]` lists the first ten. Options
            must be plain data: workers in other processes read them.
    """
    requests: list[DebateRequest] = []
    errors: list[str] = []
    options = _with_files_read(options)
    for number, question in enumerate(questions, 1):
        try:
            requests.append(_request_of(question, options))
        except (ValueError, ConfigurationError) as error:
            errors.append(f"question {number}: {_reason(error)}")
    if errors:
        raise _unusable("", errors, "Correct these questions or options, and submit again.")
    if not requests:
        raise ConfigurationError("a job needs at least one question", hint="Give a list of questions.")
    if len(requests) > _MOST_DEBATES:
        raise ConfigurationError(f"a job can have at most {_MOST_DEBATES:,} debates, not {len(requests):,}")
    return requests


def _with_files_read(options: Mapping[str, object]) -> Mapping[str, object]:
    """Return options with the contents of attached files, since workers on other machines do not have the files.

    Raises:
        ConfigurationError: A file cannot be used.
    """
    files = cast("Sequence[AttachmentLike]", options.get("attachments") or ())
    return {**options, "attachments": read_attachments(files)} if files else options


def _request_of(question: object, options: Mapping[str, object]) -> DebateRequest:
    if isinstance(question, DebateRequest):
        fields: dict[str, Any] = {"topic": question.topic, **question.given_options()}
    elif isinstance(question, str):
        fields = {"topic": question}
    elif isinstance(question, Mapping):
        fields = {str(name): value for name, value in question.items()}
        if "question" in fields:
            if "topic" in fields:
                raise ValueError("give either `question` or `topic`, not both")
            fields["topic"] = fields.pop("question")
    else:
        msg = f"a question is a text or an object, not {type(question).__name__}"
        raise ValueError(msg)  # noqa: TRY004  (callers collect what is wrong with each question)
    request = DebateRequest.model_validate({**options, **fields})
    if not fields.get("attachments"):
        return request
    # Only the question's own files; the files in the options of all questions have been checked already.
    return request.model_copy(update={"attachments": read_attachments(request.attachments)})


def agents_of(agents: Sequence[AgentLike]) -> tuple[str, ...]:
    """Return agents as texts that can be compared, `provider:model`; no model is created, so no key is needed.

    Example:
        >>> from roundtable import AgentConfig
        >>> agents_of(["openai", AgentConfig(id="ada", name="Ada", provider="openai", model="gpt-5")])
        ('openai', 'openai:gpt-5')
    """
    names: list[str] = []
    for agent in agents:
        config: object = agent if isinstance(agent, str | AgentConfig) else getattr(agent, "config", agent)
        model = getattr(config, "model", None) or getattr(getattr(agent, "chat_model", None), "model", None)
        provider = config if isinstance(config, str) else getattr(config, "provider", type(agent).__name__)
        names.append(provider if model is None else f"{provider}:{model}")
    return tuple(names)


def options_of(request: DebateRequest, table: Roundtable) -> DebateOptions:
    """Return the options of a request, as `Roundtable.debate` takes them.

    Raises:
        ConfigurationError: `exit_when` is of a kind that this table does not know.
    """
    options = request.given_options()
    if isinstance(request.exit_when, Mapping):
        options["exit_when"] = exit_from_spec(request.exit_when, table.catalog.exits)
    # A request and a table use the same names for all options; a test compares the two.
    return cast("DebateOptions", options)


def check_kinds(requests: Iterable[DebateRequest], table: Roundtable) -> None:
    """Check modes, rules, exit conditions, rounds and providers of requests.

    Workers check the rest when they run the debates, such as keys and models, which may be missing here.

    Raises:
        ConfigurationError: A debate with these options would be refused; the message names the first such question.
    """
    seen: set[str] = set()
    for number, request in enumerate(requests, 1):
        kind = request.model_dump_json(exclude_unset=True, exclude={"topic", "metadata", "options", "attachments"})
        if kind not in seen:
            seen.add(kind)
            try:
                table.check_request(request)
            except ConfigurationError as error:
                raise _unusable("", [f"question {number}: {error.message}"], error.hint or "") from error


async def check_prices(requests: Iterable[DebateRequest], table: Roundtable, job_budget: Budget | None) -> None:
    """Refuse a budget in dollars, of the job or of its debates, if a model has no known price.

    Agents that this process does not know or cannot create, for example without a key, are left to the workers.

    Raises:
        ConfigurationError: A model has no price; the message names all such models.
    """
    teams: dict[tuple[str, ...] | None, None] = {}  # each once, in order
    budget = job_budget
    for request in requests:
        own = request.budget
        is_capped = any(limit is not None and limit.max_cost_usd is not None for limit in (own, job_budget))
        if is_capped and request.agents not in teams and (request.agents or table.given_agents) is not None:
            budget = own if own is not None and own.max_cost_usd is not None else job_budget
            teams[request.agents] = None
    await table.check_prices(teams, budget)


async def stored_result(table: Roundtable, session_id: str) -> DebateResult | None:
    """Return the current result of a session, or `None` if no session has this id."""
    try:
        return await table.session(session_id)
    except SessionNotFound:
        return None


def read_jsonl(path: str | PathLike[str]) -> list[DebateRequest]:
    """Read a file of questions: one JSON string or object per line; empty lines are left out.

    Args:
        path: A file in UTF-8. An object has the fields of a `DebateRequest`, at least `topic` or `question`.

    Raises:
        ConfigurationError: The file cannot be read, or lines cannot be used; `details["errors"]` lists the first ten.
    """
    try:
        # Not `splitlines`: texts in JSON may contain other line separators, such as U+2028.
        lines = Path(path).read_text("utf-8-sig").split("\n")
    except (OSError, ValueError) as error:
        msg = f"{str(path)!r} cannot be read as text: {error}"
        raise ConfigurationError(msg, hint="Name a file in UTF-8 with one question in each line.") from error
    requests: list[DebateRequest] = []
    errors: list[str] = []
    for number, text in enumerate(lines, 1):
        if text.strip():
            try:
                requests.append(_request_of(json.loads(text, object_pairs_hook=unique_names), {}))
            except (ValueError, RecursionError, ConfigurationError) as error:
                errors.append(f"line {number}: {_reason(error)}")
    if errors:
        raise _unusable(
            f"{str(path)!r}, ",
            errors,
            'Write one question in each line: "Tea or coffee?", or {"topic": "Tea or coffee?", "rounds": 2}.',
        )
    return requests


def _reason(error: Exception) -> str:
    if isinstance(error, ConfigurationError):
        return error.message
    if isinstance(error, ValidationError):
        return ": ".join(filter(None, first_error(error)))
    return str(error) or type(error).__name__


def _unusable(where: str, errors: list[str], hint: str) -> ConfigurationError:
    more = f" (and {len(errors) - 1} more)" if len(errors) > 1 else ""
    return ConfigurationError(
        f"{where}{errors[0]}{more}; nothing was submitted",
        hint=hint,
        details={"errors": list(errors[:_MOST_ERRORS])},
    )

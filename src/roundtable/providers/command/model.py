"""Command-line agents as chat models. Each turn runs the program once; a conversation is resumed by its id."""

from __future__ import annotations

import logging
import re
from collections import OrderedDict
from dataclasses import dataclass, field
from time import monotonic
from typing import TYPE_CHECKING, Final

from roundtable.core.base.secrets import Scrubber
from roundtable.core.errors import (
    AgentError,
    APIAuthError,
    APINetworkError,
    APIRateLimitError,
    APITimeoutError,
    ConfigurationError,
    RoundtableError,
)
from roundtable.core.types.agents import Breaker
from roundtable.core.types.chat import ChatRequest, ChatResponse, Usage
from roundtable.core.types.model_facts import ModelFacts
from roundtable.gateway import Gateway
from roundtable.providers.command.process import check_system, find_binary, run_command, visible_environment
from roundtable.providers.command.profiles import (
    CLAUDE,
    CliAgentResponse,
    CommandProfile,
    ResumeOptions,
    SpawnOptions,
    check_model,
    check_prompt,
    check_session,
    is_session,
    plain_profile,
)
from roundtable.providers.http_model import NonStreamingModel
from roundtable.settings import Settings, process_environment

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from roundtable.core.types.agents import ModelProfile, ProviderConfig
    from roundtable.core.types.chat import Message
    from roundtable.providers.command.parsers import Reply
    from roundtable.providers.command.process import ProcessResult

__all__ = [
    "PERMISSIONS_SKIPPED",
    "CommandModel",
    "CommandProvider",
    "CommandRun",
    "ConversationLost",
    "make_call",
    "resume_agent",
    "spawn_agent",
]


logger: logging.Logger = logging.getLogger("roundtable.providers.command")

TIMEOUT_S: Final = 600.0
CALL_LIMIT_USD: Final = 1.0
SHOWN_CHARS: Final = 500
LONGEST_WORD_BYTES: Final = 120 * 1024
"""Length of the longest argument that is passed to a program; Linux accepts 128 KiB."""
PERMISSIONS_SKIPPED: Final = "permission prompts were skipped: the agent could do whatever it wanted"

_QUOTA: Final = re.compile(r"\b403\b|quota|usage limit|credit balance|billing", re.IGNORECASE)
_KEY: Final = re.compile(
    r"\b401\b|invalid api key|api key not valid|set an auth method|unauthorized|not logged in"
    r"|please (?:run )?.?/?login",
    re.IGNORECASE,
)
_RATE: Final = re.compile(r"\b429\b|rate.?limit|too many requests|overloaded", re.IGNORECASE)
_TIMEOUT: Final = re.compile(r"timeout|timed out|\b504\b", re.IGNORECASE)
_NETWORK: Final = re.compile(
    r"econnrefused|enotfound|econnreset|enetunreach|connection (?:refused|reset)|network (?:is )?unreachable",
    re.IGNORECASE,
)

_SEARCHED_CHARS: Final = 4096
"""Number of characters at the start and at the end of standard error that are searched for the cause."""
_TAIL_CHARS: Final = 200
_MAX_CONVERSATIONS: Final = 1024
_SHARED_GATEWAY = Gateway()
"""Gateway for all calls that pass no gateway, so that these calls share one circuit breaker."""


class ConversationLost(AgentError):
    """The conversation to resume no longer exists; a new one can be started."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandRun:
    """One run of a command-line agent."""

    profile: CommandProfile
    """The agent."""
    prompt: str
    """Prompt."""
    model: str = ""
    """Model id; empty leaves the choice to the agent."""
    system: str = ""
    """System prompt; only for a new conversation."""
    session: str = ""
    """Id of the conversation to resume; empty starts a new one."""
    turns: int = 0
    """The most steps; 0 leaves the choice to the agent."""
    budget_usd: float | None = None
    """Spending limit in US dollars."""
    timeout_s: float = 600.0
    """Deadline in seconds."""
    cwd: str | None = None
    """Working directory."""
    yolo: bool = False
    """Whether to skip all permission prompts."""

    @property
    def _has_option_for_system(self) -> bool:
        """Whether the agent has an option for the system prompt, and the prompt is short enough for it."""
        fits = len(self.system.encode("utf-8", "replace")) <= LONGEST_WORD_BYTES and "\0" not in self.system
        return bool(self.system and self.profile.system) and fits

    @property
    def words(self) -> tuple[str, ...]:
        """The arguments. Text from users and models occurs in them only as the value of an option."""
        profile = self.profile
        template = profile.resume if self.session else profile.start
        arguments = [*profile.words(template, model=self.model, session=self.session, turns=self.turns)]
        options: list[str] = []
        if self._has_option_for_system and not self.session:
            # Option and value are one argument, so a prompt that begins with a dash is not read as an option.
            options.append(f"{profile.system}={self.system}")
        if self.budget_usd is not None and profile.budget:
            options += [profile.budget, f"{self.budget_usd:g}"]
        if self.yolo and profile.skip_permissions:
            options.append(profile.skip_permissions)
        stdin_marker = [arguments.pop()] if arguments and arguments[-1] == "-" else []
        return (*arguments, *options, *stdin_marker)

    @property
    def stdin(self) -> str:
        """The standard input: the prompt. If no option holds the system prompt, it comes in front of the prompt."""
        prompt_only = not self.system or self.session or self._has_option_for_system
        return self.prompt if prompt_only else f"{self.system}\n\n{self.prompt}"


async def make_call(
    call: CommandRun,
    *,
    environment: Mapping[str, str] | None = None,
    on_progress: Callable[[str], None] | None = None,
) -> Reply:
    """Run the agent, wait for it, and parse its output.

    Raises:
        RoundtableError: The agent is not installed, failed, timed out, or wrote no answer.
        ConversationLost: The conversation to resume no longer exists.
    """
    variables = process_environment() if environment is None else environment
    try:
        return await _make_call(call, variables, on_progress)
    except RoundtableError as error:
        # Programs may repeat keys in their error messages.
        error.message = Scrubber(Settings(environment=variables).secrets).text(error.message)
        error.args = (error.message,)
        raise


async def _make_call(
    call: CommandRun, variables: Mapping[str, str], on_progress: Callable[[str], None] | None
) -> Reply:
    profile = call.profile
    # Remove secrets before a text is cut: half a key would not be recognised.
    scrub = Scrubber(Settings(environment=variables).secrets).text
    file = find_binary(profile, path=variables.get("PATH"))
    if call.yolo:
        logger.warning("%s: %s", profile.name, PERMISSIONS_SKIPPED, extra={"provider": profile.name})
    finished = await run_command(
        (file, *call.words),
        stdin=call.stdin,
        timeout_s=call.timeout_s,
        environment=visible_environment(profile, variables),
        cwd=call.cwd,
        title=profile.title,
        on_progress=on_progress,
    )
    reply = _read(call, finished._replace(stderr=scrub(finished.stderr)))
    if reply.failed:
        _raise_if_gone(call, reply.text)
        error = _agent_error(profile, reply, f"{profile.title} agent error: {scrub(reply.text)[:SHOWN_CHARS]}")
        error.usage = reply.usage
        raise error
    # A model may have made up the id, and the next call passes it as an argument.
    return reply if is_session(reply.session_id) else reply._replace(session_id="")


def _read(call: CommandRun, finished: ProcessResult) -> Reply:
    profile = call.profile
    if finished.code != 0:
        # A program that fails on purpose reports that in its answer, with any exit code.
        try:
            reply = profile.read(finished.stdout)
        except AgentError:
            reply = None
        if reply is not None and reply.failed:
            return reply
        _raise_if_gone(call, finished.stderr + finished.stdout)
        raise _exit_error(profile, finished)
    return profile.read(finished.stdout)


def _raise_if_gone(call: CommandRun, text: str) -> None:
    output = text.lower()
    if call.session and any(words in output for words in call.profile.gone):
        raise ConversationLost(f"{call.profile.title} has no conversation {call.session!r} any more")


def _exit_error(profile: CommandProfile, finished: ProcessResult) -> RoundtableError:
    """Return the error for a failed program; its standard error decides the class of the error."""
    # Some programs write the error first, others after their warnings.
    output = finished.stderr.strip()
    if len(output) > 2 * _SEARCHED_CHARS:
        output = f"{output[:_SEARCHED_CHARS]}\n{output[-_SEARCHED_CHARS:]}"
    is_long = len(output) > SHOWN_CHARS + _TAIL_CHARS
    shown = f"{output[:SHOWN_CHARS]} … {output[-_TAIL_CHARS:]}" if is_long else output
    message, details = f"{profile.title} exited {finished.code}: {shown}", {"exit_code": finished.code}
    if _QUOTA.search(output):
        return AgentError(
            message, details=details, hint="The account has no credit or quota left; check the vendor's console."
        )
    if _KEY.search(output):
        return APIAuthError(
            message, details=details, hint=f"Log in with the program {profile.program!r}, or set its key."
        )
    if _RATE.search(output):
        return APIRateLimitError(message, details=details)
    if _TIMEOUT.search(output):
        return APITimeoutError(message, details=details)
    if _NETWORK.search(output):
        return APINetworkError(message, details=details)
    hint = f"Run {profile.program!r} in a terminal to see its output; check model, budget and login."
    return AgentError(message, retryable=True, details=details, hint=hint)


def _agent_error(profile: CommandProfile, reply: Reply, message: str) -> RoundtableError:
    """Return the error for a failure that the agent itself reports; the status of the vendor decides its class."""
    status = reply.status
    details = {"status": status}
    if status == 401:
        hint = f"Log in with the program {profile.program!r}, or set its key."
        return APIAuthError(message, details=details, hint=hint)
    if status == 429:
        return APIRateLimitError(message, details=details)
    if 500 <= status < 600:
        return APINetworkError(
            message, details=details, hint="The vendor has a fault or is overloaded; try again later."
        )
    return AgentError(message, hint=_agent_hint(reply.text))


def _agent_hint(text: str) -> str:
    if "max_turns" in text:
        return "Raise `max_turns`, or ask for less."
    if "budget" in text.lower():
        return "Raise `max_budget_usd`, or ask for less."
    return "The agent itself reports this; change the prompt, or check the log of the agent."


async def spawn_agent(
    prompt: str,
    options: SpawnOptions,
    *,
    profile: CommandProfile = CLAUDE,
    gateway: Gateway | None = None,
    on_progress: Callable[[str], None] | None = None,
) -> CliAgentResponse:
    """Start a command-line agent and wait for its answer.

    Prompt and options are checked first. A call that crashes, times out, or fails because of a rate limit or the
    network is tried three more times, after 1, 2 and 4 seconds. After five such failures within a minute, all calls
    fail immediately for a minute.

    Args:
        prompt: The task; 1 to 100,000 characters.
        options: Options of the agent.
        profile: The agent; Claude if left out.
        gateway: Gateway with retries and circuit breaker; if left out, a gateway that all calls share.
        on_progress: Called with each piece of output.

    Raises:
        ConfigurationError: The prompt is empty, too long or not a text.
        RoundtableError: The agent is not installed, failed, or gave no answer; `hint` says what to do.
    """
    check_prompt(prompt)
    call = CommandRun(
        profile=profile,
        prompt=prompt,
        model=options.model,
        system=options.system_prompt,
        turns=options.max_turns or profile.max_turns(options.model),
        budget_usd=options.max_budget_usd,
        timeout_s=options.timeout_s,
        cwd=options.cwd,
        yolo=options.yolo,
    )
    return await _call_through_gateway(call, gateway, on_progress)


async def resume_agent(
    session_id: str,
    prompt: str,
    options: ResumeOptions | None = None,
    *,
    profile: CommandProfile = CLAUDE,
    gateway: Gateway | None = None,
    on_progress: Callable[[str], None] | None = None,
) -> CliAgentResponse:
    """Resume the conversation with a command-line agent; see `spawn_agent`.

    Args:
        session_id: The `session_id` of the conversation's last response.
        prompt: The next task.
        options: Options of the resumed agent; the defaults of `ResumeOptions` if left out.
        profile: The agent; Claude if left out.
        gateway: Gateway with retries and circuit breaker; if left out, a gateway that all calls share.
        on_progress: Called with each piece of output.

    Raises:
        ConfigurationError: The prompt or the session id is invalid.
        RoundtableError: The agent is not installed, failed, or gave no answer.
    """
    check_session(session_id)
    check_prompt(prompt)
    chosen = options or ResumeOptions()
    call = CommandRun(
        profile=profile,
        prompt=prompt,
        session=session_id,
        turns=chosen.max_turns,
        budget_usd=chosen.max_budget_usd,
        timeout_s=chosen.timeout_s,
        cwd=chosen.cwd,
        yolo=chosen.yolo,
    )
    return await _call_through_gateway(call, gateway, on_progress)


async def _call_through_gateway(
    call: CommandRun, gateway: Gateway | None, on_progress: Callable[[str], None] | None
) -> CliAgentResponse:
    started_at = monotonic()
    model = _SingleCall(call, on_progress)
    guarded_model = (gateway or _SHARED_GATEWAY).guard(model, breaker=Breaker(failures=5))
    response = await guarded_model.complete(ChatRequest(messages=()))
    return CliAgentResponse(
        content=response.text,
        session_id=model.session_id,
        cost_usd=response.usage.cost_usd or 0.0,
        duration_ms=(monotonic() - started_at) * 1000,
    )


class _SingleCall(NonStreamingModel):
    """One call in the form of a model, so that it goes through a gateway, where all agents share state."""

    def __init__(self, call: CommandRun, on_progress: Callable[[str], None] | None) -> None:
        self.provider = call.profile.name
        self.model = call.profile.program
        self.profile = call.profile.profile
        self.session_id = ""
        self._call = call
        self._on_progress = on_progress

    async def complete(self, request: ChatRequest) -> ChatResponse:
        """Run the agent."""
        reply = await make_call(self._call, on_progress=self._on_progress)
        self.session_id = reply.session_id
        return ChatResponse(text=reply.text, usage=reply.usage)

    async def aclose(self) -> None:
        """Do nothing; there is nothing to release."""


@dataclass(frozen=True, slots=True)
class _Conversation:
    """A conversation that the program stores."""

    session: str
    system: str
    """System prompt that the conversation was started with."""
    usage: Usage = field(default_factory=Usage)
    """Usage that the program stated last for this conversation."""


class CommandModel(NonStreamingModel):
    """A program on this machine that answers questions: Claude, Codex, Gemini, or your own.

    Each agent of a debate has one conversation with the program over all rounds. If the program has lost the
    conversation, or the agent itself fails, a new conversation starts with the full context. No shell is used,
    questions go to standard input, and the program sees only the environment variables that its profile lists.

    Args:
        profile: The program and its options.
        model: Model id; empty leaves the choice to the program.
        timeout_s: Deadline of one call in seconds.
        cwd: Working directory; if left out, the working directory of this process.
        max_turns: The most steps in a call; if left out, the profile decides.
        max_budget_usd: Spending limit of one call in US dollars, if the program supports a limit. The budget of a
            debate can be enforced only with such a limit.
        yolo: Whether to skip all permission prompts.
        environment: Environment variables, of which the profile selects some; if left out, those of this process.

    Raises:
        ConfigurationError: The program could read the model's name as an option.

    Example:
        >>> CommandModel(CLAUDE, "sonnet").model
        'sonnet'
    """

    def __init__(
        self,
        profile: CommandProfile,
        model: str = "",
        *,
        timeout_s: float = TIMEOUT_S,
        cwd: str | None = None,
        max_turns: int | None = None,
        max_budget_usd: float | None = None,
        yolo: bool = False,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        check_model(model)
        self.provider: str = profile.name
        self.model: str = model or profile.program
        self.profile: ModelProfile = profile.profile
        self._profile = profile
        self._model_name = model
        self._timeout_s = timeout_s
        self._cwd = cwd
        self._turns = profile.max_turns(model) if max_turns is None else max_turns
        self._limit_usd = max_budget_usd if profile.budget else None
        self.facts: ModelFacts = ModelFacts(cost_limit_usd=self._limit_usd)
        """The limit of the cost of a call."""
        self._yolo = yolo
        self._environment: Mapping[str, str] = process_environment() if environment is None else environment
        self._conversations: OrderedDict[tuple[str, str], _Conversation] = OrderedDict()

    def __repr__(self) -> str:
        return f"CommandModel({self.provider!r}, {self.model!r})"

    @property
    def cost_limit_usd(self) -> float | None:
        """The highest cost of one call in US dollars; `None` without a limit."""
        return self._limit_usd

    async def complete(self, request: ChatRequest) -> ChatResponse:
        """Ask the program.

        Raises:
            RoundtableError: The program is not installed, failed, or gave no answer in time.
        """
        key = request.metadata.get("session", ""), request.metadata.get("agent", "")
        # A conversation is removed while it is in use. It is sequential, so a concurrent question starts a new one.
        conversation = self._conversations.pop(key, None) if all(key) else None
        system, prompt = _split(request.messages)
        reply: Reply | None = None
        if conversation is not None:
            is_sound = True
            try:
                reply = await self._run(
                    _latest(request.messages, system if system != conversation.system else ""), conversation
                )
            except AgentError as error:
                is_sound = False  # the conversation itself may be the cause, for example because it is too long
                if not isinstance(error, ConversationLost):
                    raise
            finally:
                # After a rate limit, a network error, a time-out or a cancelled call, the retry goes on with it.
                if is_sound:
                    self._conversations.setdefault(key, conversation)
        earlier = Usage() if conversation is None or reply is None else conversation.usage
        if reply is None:
            reply = await self._run(prompt, _Conversation("", system))
        self._store(key, reply, system)
        warnings = (PERMISSIONS_SKIPPED,) if self._yolo else ()
        return ChatResponse(
            text=reply.text,
            usage=_since(earlier, reply.usage) if self._profile.sums_usage else reply.usage,
            model=self._model_name or None,
            request_id=reply.session_id or None,
            warnings=warnings,
        )

    async def _run(self, prompt: str, conversation: _Conversation) -> Reply:
        call = CommandRun(
            profile=self._profile,
            prompt=prompt,
            model=self._model_name,
            system="" if conversation.session else conversation.system,
            session=conversation.session,
            turns=self._turns,
            budget_usd=self._limit_usd,
            timeout_s=self._timeout_s,
            cwd=self._cwd,
            yolo=self._yolo,
        )
        return await make_call(call, environment=self._environment)

    def _store(self, key: tuple[str, str], reply: Reply, system: str) -> None:
        if not (all(key) and reply.session_id and self._profile.resume):
            return
        self._conversations[key] = _Conversation(reply.session_id, system, reply.usage)
        while len(self._conversations) > _MAX_CONVERSATIONS:
            self._conversations.popitem(last=False)

    async def aclose(self) -> None:
        """Forget the conversations; no program outlives its call."""
        self._conversations.clear()


def _since(earlier: Usage, total: Usage) -> Usage:
    """Return the usage of the last call of a conversation, from the totals before and after the call."""
    before, after = (
        (usage.input_tokens, usage.output_tokens, usage.cache_read_tokens, usage.reasoning_tokens)
        for usage in (earlier, total)
    )
    if any(count < old for count, old in zip(after, before, strict=True)):
        return total  # the program did not add them up
    sent, received, cached, thought = (count - old for count, old in zip(after, before, strict=True))
    changes = {
        "input_tokens": sent,
        "output_tokens": received,
        "cache_read_tokens": cached,
        "reasoning_tokens": thought,
    }
    return total.model_copy(update=changes)


def _split(messages: Sequence[Message]) -> tuple[str, str]:
    """Return the system prompt, and the whole conversation as one prompt."""
    system = "\n\n".join(message.content for message in messages if message.role == "system")
    dialogue = [message for message in messages if message.role != "system"]
    if len(dialogue) == 1:
        return system, dialogue[0].content
    return system, "\n\n".join(_as_prompt(message) for message in dialogue)


def _as_prompt(message: Message) -> str:
    return f"You answered:\n{message.content}" if message.role == "assistant" else message.content


def _latest(messages: Sequence[Message], system: str) -> str:
    """Return the messages since the last answer as one prompt; `system` comes first if it is not empty."""
    contents: list[str] = []
    for message in reversed(messages):
        if message.role in {"assistant", "system"}:
            break
        contents.append(message.content)
    return "\n\n".join([*([system] if system else []), *reversed(contents)])


class CommandProvider:
    """Factory for models of one program: `claude-cli:sonnet`.

    Args:
        profile: The program. With `None`, the model's name is the name of the program, as in `command:mytool`.
    """

    runs_programs: Final = True
    """Whether a model starts a program on this machine; a file cannot select such models."""
    patience_s: Final = TIMEOUT_S
    """Seconds that a call without a deadline may take."""

    def __init__(self, profile: CommandProfile | None) -> None:
        self._profile = profile

    def __call__(self, model: str | None, config: ProviderConfig, settings: Settings) -> CommandModel:
        """Create a model, without starting the program. If the program supports a limit, a call may spend 1 US dollar.

        Raises:
            ConfigurationError: `command` comes without the name of a program, or the system has no process groups.
        """
        check_system()
        profile, model_name = self._profile, model or ""
        if profile is None:
            profile, model_name = plain_profile(_program(model)), ""
        elif model_name == profile.program:
            model_name = ""  # the session then records that the program chose the model
        return CommandModel(
            profile,
            model_name,
            timeout_s=config.timeout_s,
            max_budget_usd=CALL_LIMIT_USD,
            environment=settings.environment or None,
        )


def _program(name: str | None) -> str:
    if name is None or name.startswith("-"):
        hint = "Write 'command:mytool'; it reads the question from standard input and writes its answer."
        raise ConfigurationError("the provider 'command' needs the name of a program", provider="command", hint=hint)
    return name

"""Command-line agents as models, and so in every mode, budget and store."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from roundtable.errors import ConfigurationError
from roundtable.providers.command.calls import SKIPPED, Call, Gone, make_call
from roundtable.providers.command.options import check_model
from roundtable.providers.command.profiles import CLAUDE, CODEX, GEMINI, CommandProfile, plain_profile
from roundtable.providers.whole import WholeAnswers
from roundtable.settings import process_environment
from roundtable.types import ChatResponse

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from roundtable.providers.command.readers import Reply
    from roundtable.settings import Settings
    from roundtable.types import ChatRequest, Message, ModelProfile, ProviderConfig

__all__ = ["CommandModel", "CommandProvider", "command_providers"]

TIMEOUT_S: Final = 600.0
CALL_LIMIT_USD: Final = 1.0
_MOST_TALKS: Final = 1024


@dataclass(frozen=True, slots=True)
class _Talk:
    """A conversation that the program keeps."""

    session: str
    system: str
    """What it was told to be."""


class CommandModel(WholeAnswers):
    """A program on this machine that answers questions: Claude, Codex, Gemini, or one of your own.

    Each agent of a debate keeps its conversation with the program over the rounds; where the program has lost it, a
    fresh one is begun with all that is to be known. Nothing is started through a shell, questions go to standard
    input, and of the environment the program sees only what its profile lists.

    Args:
        profile: Which program, and how it is talked to.
        model: Model it uses; empty leaves that to it.
        timeout_s: Seconds that one call has.
        cwd: The folder it works in; this process's when left out.
        max_turns: Steps it may take in a call; by the profile when left out.
        max_budget_usd: Most US dollars it may spend in a call, where it keeps to such a limit; with it, a budget of a
            debate can be kept.
        yolo: Whether it may do everything without asking.
        environment: Variables to choose from; this process's when left out.

    Raises:
        ConfigurationError: The model's name could pass for an option.

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
        self._wanted = model
        self._timeout_s = timeout_s
        self._cwd = cwd
        self._turns = profile.max_turns(model) if max_turns is None else max_turns
        self._limit_usd = max_budget_usd if profile.budget else None
        self._yolo = yolo
        self._environment: Mapping[str, str] = process_environment() if environment is None else environment
        self._talks: OrderedDict[tuple[str, str], _Talk] = OrderedDict()

    def __repr__(self) -> str:
        return f"CommandModel({self.provider!r}, {self.model!r})"

    @property
    def cost_limit_usd(self) -> float | None:
        """Most that one call may cost, in US dollars, where the program keeps to a limit."""
        return self._limit_usd

    async def complete(self, request: ChatRequest) -> ChatResponse:
        """Ask the program.

        Raises:
            RoundtableError: It is not installed, failed, or gave no answer in time.
        """
        place = request.metadata.get("session", ""), request.metadata.get("agent", "")
        # Taken out while it is used: a conversation goes one way, and a second question at once begins another.
        talk = self._talks.pop(place, None) if all(place) else None
        system, prompt = _split(request.messages)
        reply: Reply | None = None
        if talk is not None:
            try:
                reply = await self._ask(_latest(request.messages, system if system != talk.system else ""), talk)
            except Gone:
                talk = None
        if reply is None:
            reply = await self._ask(prompt, _Talk("", system))
        self._keep(place, reply, system)
        warnings = (SKIPPED,) if self._yolo else ()
        return ChatResponse(
            text=reply.text,
            usage=reply.usage,
            model=self._wanted or None,
            request_id=reply.session_id or None,
            warnings=warnings,
        )

    async def _ask(self, prompt: str, talk: _Talk) -> Reply:
        call = Call(
            profile=self._profile,
            prompt=prompt,
            model=self._wanted,
            system="" if talk.session else talk.system,
            session=talk.session,
            turns=self._turns,
            budget_usd=self._limit_usd,
            timeout_s=self._timeout_s,
            cwd=self._cwd,
            yolo=self._yolo,
        )
        return await make_call(call, environment=self._environment)

    def _keep(self, place: tuple[str, str], reply: Reply, system: str) -> None:
        if not (all(place) and reply.session_id and self._profile.resume):
            return
        self._talks[place] = _Talk(reply.session_id, system)
        while len(self._talks) > _MOST_TALKS:
            self._talks.popitem(last=False)

    async def aclose(self) -> None:
        """Forget the conversations; programs end with their calls."""
        self._talks.clear()


def _split(messages: Sequence[Message]) -> tuple[str, str]:
    """Give who the agent is, and the whole conversation as one prompt."""
    system = "\n\n".join(message.content for message in messages if message.role == "system")
    rest = [message for message in messages if message.role != "system"]
    if len(rest) == 1:
        return system, rest[0].content
    return system, "\n\n".join(_told(message) for message in rest)


def _told(message: Message) -> str:
    return f"You answered:\n{message.content}" if message.role == "assistant" else message.content


def _latest(messages: Sequence[Message], system: str) -> str:
    """Give what was said since the program answered last, behind who it is now, should that be somebody else."""
    said: list[str] = []
    for message in reversed(messages):
        if message.role in {"assistant", "system"}:
            break
        said.append(message.content)
    return "\n\n".join([*([system] if system else []), *reversed(said)])


class CommandProvider:
    """Makes models of one program: `claude-cli:sonnet`.

    Args:
        profile: Which program; `None` takes the model's name for that of any program, as in `command:mytool`.
    """

    runs_programs: Final = True
    """Whether a model is a program that is started here; such a one is not started because a file names it."""
    patience_s: Final = TIMEOUT_S
    """Seconds that a call has where nobody states a deadline."""

    def __init__(self, profile: CommandProfile | None) -> None:
        self._profile = profile

    def __call__(self, model: str | None, config: ProviderConfig, settings: Settings) -> CommandModel:
        """Make a model; nothing is started. Where the program keeps to a limit, a call may spend 1 US dollar.

        Raises:
            ConfigurationError: `command` was asked for without the name of a program.
        """
        profile, wanted = self._profile, model or ""
        if profile is None:
            profile, wanted = plain_profile(_program(model)), ""
        elif wanted == profile.program:
            wanted = ""  # so a session notes that the choice was left to the program
        return CommandModel(
            profile,
            wanted,
            timeout_s=config.timeout_s,
            max_budget_usd=CALL_LIMIT_USD,
            environment=settings.environment or None,
        )


def _program(name: str | None) -> str:
    if name is None or name.startswith("-"):
        hint = "Write 'command:mytool'; it reads the question from standard input and writes its answer."
        raise ConfigurationError("the provider 'command' needs the name of a program", provider="command", hint=hint)
    return name


def command_providers() -> tuple[tuple[str, CommandProvider, str], ...]:
    """Give the providers that are programs on this machine: name, factory, what they are in a line."""
    return (
        *(
            (
                profile.name,
                CommandProvider(profile),
                f"The program {profile.program!r} on this machine, with its login.",
            )
            for profile in (CLAUDE, CODEX, GEMINI)
        ),
        ("command", CommandProvider(None), "Any program that reads a question and writes an answer: 'command:mytool'."),
    )

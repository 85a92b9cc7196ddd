"""Conversations of teams: what `Roundtable` offers besides debates."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, TypedDict, Unpack

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from anyio.abc import TaskGroup

    from roundtable.api.debates import Debates
    from roundtable.api.handle import DebateHandle
    from roundtable.api.live import Prepared
    from roundtable.api.stream import DebateStream
    from roundtable.api.wiring import Wiring
    from roundtable.result import DebateResult
    from roundtable.types import Budget, ChatMessage, JsonValue
    from roundtable.types.profiles import AgentProfile
    from roundtable.types.teams import TeamOrder

__all__ = ["ConverseOptions", "TeamTable"]


class ConverseOptions(TypedDict, total=False):
    """What may be said about a conversation; `Roundtable.converse` explains each."""

    rounds: int
    order: TeamOrder
    initiator: AgentProfile | None
    summarizer: AgentProfile | None
    timeout_s: float | None
    budget: Budget | None
    metadata: Mapping[str, JsonValue] | None


class TeamTable(ABC):
    """Conversations of teams; `Roundtable` has all of it."""

    @property
    @abstractmethod
    def wiring(self) -> Wiring:
        """The objects behind the table."""

    @property
    @abstractmethod
    def _debates(self) -> Debates:
        """What creates, runs and continues sessions."""

    @abstractmethod
    def _tasks(self, method: str) -> TaskGroup:
        """Give the tasks of the entered table."""

    @abstractmethod
    def _starter(self, method: str) -> Callable[[Prepared], DebateHandle]:
        """Give what lets a prepared session run by itself."""

    async def converse(
        self,
        *,
        agents: Sequence[str | AgentProfile],
        messages: str | Sequence[str | ChatMessage | Mapping[str, object]],
        rounds: int = 2,
        order: TeamOrder = "sequential",
        initiator: AgentProfile | None = None,
        summarizer: AgentProfile | None = None,
        timeout_s: float | None = None,
        budget: Budget | None = None,
        metadata: Mapping[str, JsonValue] | None = None,
    ) -> DebateResult:
        """Have a team of specialised agents work on a request.

        An initiator turns the request into a goal. Then the agents work in rounds, each with its own tools, and report.
        A summarizer answers from the reports: `result.answer`; goal, strategy and reports are in `result.team`.

        Args:
            agents: One to five profiles, or names of profiles that the table or a plugin knows, in speaking order.
            messages: The request, or the conversation that ends with it: at least one message of the user. The last of
                them is the request; a mapping has the fields of `ChatMessage`, a text is the user's.
            rounds: Rounds of work, 1 to 10.
            order: One after another, each seeing the reports before its own; or `"parallel"`, all at once.
            initiator: Who sets the goal, instead of an agent without tools; its name must be `"initiator"`.
            summarizer: Who sums up, instead of an agent without tools; its name must be `"summarizer"`.
            timeout_s: Seconds after which running calls are cancelled. The result is then partial, its `error` has the
                code `CONVERSATION_TIMEOUT`, and the session can be resumed.
            budget: The most this conversation may consume, beside what the table may.
            metadata: Your own notes, kept with the session.

        Raises:
            ConfigurationError: Something asked for does not exist or does not fit; nothing was called. The codes
                `AGENT_NOT_FOUND`, `MAX_ROUNDS_EXCEEDED` and `VALIDATION_ERROR` tell what.
            AgentError: An agent failed whose profile says `on_error="abort"`; the code is `AGENT_EXECUTION_FAILED`, and
                `partial` holds the result so far.
            QuorumLost: Nobody answered in a round; `partial` holds the result so far.
            StorageError: Something could not be stored.

        Example:
            >>> import anyio
            >>> from roundtable import Roundtable
            >>> from roundtable.api import AgentProfile
            >>> from roundtable.testing import ScriptedModel
            >>> says = {"initiator": {"goal": "Name the capital."}, "scout": "It is Paris.", "summarizer": "Paris."}
            >>> table = Roundtable([ScriptedModel(says)], storage="memory://")
            >>> async def main():
            ...     return await table.converse(agents=[AgentProfile("scout")], messages="Capital of France?", rounds=1)
            >>> result = anyio.run(main)
            >>> result.answer, result.team.goal
            ('Paris.', 'Name the capital.')
        """
        from roundtable.api.debates import finish
        from roundtable.api.teams import prepare_team

        prepared = await prepare_team(
            self._debates,
            self.wiring,
            agents,
            messages,
            rounds=rounds,
            order=order,
            initiator=initiator,
            summarizer=summarizer,
            timeout_s=timeout_s,
            budget=budget,
            metadata=metadata,
        )
        return await finish(prepared)

    def stream_conversation(
        self,
        *,
        agents: Sequence[str | AgentProfile],
        messages: str | Sequence[str | ChatMessage | Mapping[str, object]],
        **options: Unpack[ConverseOptions],
    ) -> DebateStream:
        """Have a team work and give its events as they happen; see `converse` for the arguments.

        The table has to be entered with `async with`, and then the stream; leaving its block ends the conversation.
        """
        from roundtable.api.stream import DebateStream
        from roundtable.api.teams import prepare_team

        return DebateStream(
            lambda: prepare_team(self._debates, self.wiring, agents, messages, **options),
            lambda: self._tasks("stream_conversation"),
        )

    async def start_conversation(
        self,
        *,
        agents: Sequence[str | AgentProfile],
        messages: str | Sequence[str | ChatMessage | Mapping[str, object]],
        **options: Unpack[ConverseOptions],
    ) -> DebateHandle:
        """Begin a conversation that runs by itself while the table is entered; see `converse` for the arguments.

        Leaving the table's block pauses it.

        Raises:
            ConfigurationError: The table was not entered with `async with`, or as `converse`.
        """
        from roundtable.api.teams import prepare_team

        begin = self._starter("start_conversation")
        return begin(await prepare_team(self._debates, self.wiring, agents, messages, **options))

"""Team conversations: the part of `Roundtable` for agents that work on a request instead of debating."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Unpack

from roundtable.core.base.arguments import explains_arguments

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from anyio.abc import TaskGroup

    from roundtable.api.assembly import TableParts
    from roundtable.api.debates import Debates
    from roundtable.api.options import ConverseOptions
    from roundtable.api.runs import DebateHandle, DebateStream, Prepared
    from roundtable.core.types.agents import AgentProfile
    from roundtable.core.types.base import JsonValue
    from roundtable.core.types.budget import Budget
    from roundtable.core.types.teams import ChatMessage, TeamOrder
    from roundtable.results.debate_result import DebateResult

__all__ = ["TeamTable"]


@explains_arguments
class TeamTable(ABC):
    """Team conversations; base class of `Roundtable`."""

    @abstractmethod
    async def _load(self) -> None:
        """Load the modules that debates need, on a thread."""

    @property
    @abstractmethod
    def _wiring(self) -> TableParts:
        """The objects behind the table."""

    @property
    @abstractmethod
    def _debates(self) -> Debates:
        """The object that creates, runs and continues sessions."""

    @abstractmethod
    def _tasks(self, method: str) -> TaskGroup:
        """Return the task group of the table, which must be entered."""

    @abstractmethod
    def _starter(self, method: str) -> Callable[[Prepared], DebateHandle]:
        """Return a function that runs a prepared session in the background."""

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
        """Run a team of specialised agents on a request.

        An initiator turns the request into a goal. Then the agents work in rounds, each with its own tools, and report.
        A summarizer writes `result.answer` from the reports. Goal, strategy and reports are in `result.team`.

        Args:
            agents: One to five profiles, or names of profiles of the table or a plugin, in speaking order.
            messages: The request, or a conversation with at least one user message; the last user message is the
                request. A text is a user message; a mapping has the fields of `ChatMessage`.
            rounds: Rounds of work, 1 to 10.
            order: `"sequential"`: one agent after another, and each sees the earlier reports; or `"parallel"`: all at
                the same time.
            initiator: Profile of the agent that sets the goal; its name must be `"initiator"`. By default an agent
                without tools.
            summarizer: Profile of the agent that summarises the reports; its name must be `"summarizer"`. By default an
                agent without tools.
            timeout_s: Seconds after which running calls are cancelled. The result is then partial, its `error` has the
                code `CONVERSATION_TIMEOUT`, and the session can be resumed.
            budget: Limits for this conversation, in addition to the limits of the table.
            metadata: Your own notes, stored with the session.

        Raises:
            ConfigurationError: An argument is not valid. No model was called. The code is `AGENT_NOT_FOUND`,
                `MAX_ROUNDS_EXCEEDED` or `VALIDATION_ERROR`.
            AgentError: An agent failed, and its profile has `on_error="abort"`; the code is `AGENT_EXECUTION_FAILED`,
                and `partial` is the result so far.
            QuorumLost: No agent answered in a round; `partial` is the result so far.
            StorageError: The session could not be stored.

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
        await self._load()
        from roundtable.api.debates import finish

        options: ConverseOptions = {
            "rounds": rounds,
            "order": order,
            "initiator": initiator,
            "summarizer": summarizer,
            "timeout_s": timeout_s,
            "budget": budget,
            "metadata": metadata,
        }
        return await finish(await self._prepare_team(agents, messages, options))

    async def _prepare_team(
        self,
        agents: Sequence[str | AgentProfile],
        messages: str | Sequence[str | ChatMessage | Mapping[str, object]],
        options: ConverseOptions,
    ) -> Prepared:
        """Check all arguments and store an empty session; no model is called yet."""
        # Imported here because debates do not need teams.
        from roundtable.api.teams import resolve_team

        return await self._debates.begin(resolve_team(self._wiring, agents, messages, **options))

    def stream_conversation(
        self,
        *,
        agents: Sequence[str | AgentProfile],
        messages: str | Sequence[str | ChatMessage | Mapping[str, object]],
        **options: Unpack[ConverseOptions],
    ) -> DebateStream:
        """Run a team and yield its events as they happen; see `converse` for the arguments.

        Enter first the table and then the stream with `async with`. Leaving the stream's block ends the conversation.
        """
        from roundtable.api.runs import DebateStream

        return DebateStream(
            lambda: self._prepare_team(agents, messages, options),
            lambda: self._tasks("stream_conversation"),
        )

    async def start_conversation(
        self,
        *,
        agents: Sequence[str | AgentProfile],
        messages: str | Sequence[str | ChatMessage | Mapping[str, object]],
        **options: Unpack[ConverseOptions],
    ) -> DebateHandle:
        """Start a conversation in the background, while the table is entered; see `converse` for the arguments.

        Leaving the table's block pauses the conversation.

        Raises:
            ConfigurationError: The table was not entered with `async with`, or for the same reasons as in `converse`.
        """
        begin = self._starter("start_conversation")
        return begin(await self._prepare_team(agents, messages, options))

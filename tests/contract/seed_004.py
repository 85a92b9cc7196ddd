"""Seed 004: teams over HTTP, told as server-sent events."""

from __future__ import annotations

from contract.seed_rows import Block, Constant, Row

SEED = 4
WORK = 12
types = Block(SEED, WORK, "roundtable.types")
server = Block(SEED, WORK, "roundtable.server")
present = Block(SEED, 2, "roundtable.types")

REQUEST: tuple[Row, ...] = (
    *server.row("http", "POST /api/chat/multi", "create_app"),
    *server.interface(
        "MultiAgentRequest",
        "agents: string[] | 1 to 5 known names\n rounds: number | 1 to 10\n"
        "messages: ChatMessage[] | at least one with the role `user`",
    ),
    *types.interface(
        "ChatMessage",
        """
        role: 'user'|'assistant'|'system'
        content: string
        toolCalls?: ToolCall[]
        timestamp?: string
        """,
    ),
    *server.row("behaviour", "Authorization: Bearer <session-token>", "roundtable.auth:Authenticator"),
    *server.row("behaviour", 'data: {"type": ..., "data": {...}}', "create_app", note="server-sent events"),
    *(
        row
        for name in ("data-steward", "prospect-finder", "contract-reader")
        for row in server.row(
            "behaviour", f"agent {name}", "roundtable.api:Roundtable.converse", note="a profile of `examples/crm`"
        )
    ),
)

TEAM_EVENTS: tuple[Row, ...] = (
    *types.wire(
        "event",
        "conversation_start",
        "sessionId: string\n agents: string[]\n rounds: number\n timestamp: string",
        python="roundtable.types:ConversationStart",
    ),
    *types.wire(
        "event", "initiator_start", "agent: string\n timestamp: string", python="roundtable.types:InitiatorStart"
    ),
    *types.wire(
        "event",
        "initiator_tool_call",
        "toolCall: ToolCall\n timestamp: string",
        python="roundtable.types:InitiatorToolCall",
    ),
    *types.wire(
        "event",
        "initiator_complete",
        "goal: string\n strategy: string\n successCriteria: string[]\n timestamp: string",
        python="roundtable.types:InitiatorComplete",
    ),
    *types.wire("event", "summarizer_start", "timestamp: string", python="roundtable.types:SummarizerStart"),
    *types.wire(
        "event",
        "summarizer_chunk",
        "chunk: string\n timestamp: string",
        python="roundtable.types:SummarizerChunk",
    ),
    *types.wire(
        "event",
        "conversation_complete",
        """
        summary: string
        totalRounds: number
        totalAgents: number
        executionTime: number | seconds
        timestamp: string
        """,
        python="roundtable.types:ConversationComplete",
    ),
)

SHARED_EVENTS: tuple[Row, ...] = (
    *present.wire(
        "event",
        "round_start",
        "round: number\n agents: string[]\n goal?: string | in teams\n timestamp: Date",
        python="roundtable.types:RoundStart",
    ),
    *present.wire(
        "event",
        "agent_start",
        "agent: string\n round: number\n maxSteps?: number | in teams\n timestamp: Date",
        python="roundtable.types:AgentStart",
    ),
    *present.wire(
        "event",
        "agent_tool_call",
        "agent: string\n round: number\n step: number\n toolCall: ToolCall\n timestamp: Date",
        python="roundtable.types:AgentToolCall",
    ),
    *present.wire(
        "event",
        "agent_tool_result",
        "agent: string\n round: number\n step: number\n toolCallId: string\n result: any\n timestamp: Date",
        python="roundtable.types:AgentToolResult",
    ),
    *present.wire(
        "event",
        "agent_response_chunk",
        "agent: string\n round: number\n chunk: string\n timestamp: Date",
        python="roundtable.types:AgentResponseChunk",
    ),
    *present.wire(
        "event",
        "agent_complete",
        """
        agent: string
        round: number
        response?: string | in teams
        toolCalls?: object[] | in teams
        steps?: number | in teams
        finishReason?: string | in teams
        timestamp: Date
        """,
        python="roundtable.types:AgentComplete",
    ),
    *present.wire(
        "event",
        "round_complete",
        "round: number\n results?: object[] | issue=12 | in teams\n timestamp: Date",
        python="roundtable.types:RoundComplete",
    ),
    *present.wire(
        "event",
        "error",
        """
        error: string
        code: string
        agent?: string
        round?: number
        recoverable: boolean
        timestamp: Date
        """,
        python="roundtable.types:DebateError",
    ),
    *present.wire(
        "event",
        "agent_error",
        "agent: string\n round: number\n error: string\n action: 'skip'|'retry'|'abort'\n timestamp: Date",
        python="roundtable.types:AgentError",
    ),
)

TOOL_CALL: tuple[Row, ...] = present.interface(
    "ToolCall", "name: string\n args: object | python=roundtable.types:ToolCall.arguments\n id: string"
)

ERRORS: tuple[Row, ...] = (
    *server.interface("ErrorBody", "error: string\n code: string\n details?: object\n timestamp: string"),
    *(
        row
        for code, status in (
            ("VALIDATION_ERROR", 400),
            ("UNAUTHORIZED", 401),
            ("RATE_LIMIT_EXCEEDED", 429),
            ("AGENT_NOT_FOUND", 404),
            ("MAX_ROUNDS_EXCEEDED", 400),
            ("CONVERSATION_TIMEOUT", 504),
            ("AGENT_EXECUTION_FAILED", 502),
        )
        for row in server.row("error", code, f"roundtable.server.errors:STATUSES.{code}", Constant(status))
    ),
    *(row for status in (200, 400, 401, 429, 500) for row in server.row("behaviour", f"status {status}", "create_app")),
)

LIMITS: tuple[Row, ...] = (
    *server.row("constant", "conversations per user and hour", "Limits.conversations_per_hour", Constant(5)),
    *server.row("constant", "concurrent sessions per user", "Limits.concurrent", Constant(2)),
    *server.row("constant", "rounds per user and day", "Limits.rounds_per_day", Constant(100)),
    *server.row("behaviour", "rate limit headers", "create_app"),
    *server.row("constant", "max rounds", "roundtable.server.routes.chat:MOST_ROUNDS", Constant(10)),
    *server.row("constant", "max agents", "roundtable.server.routes.chat:MOST_AGENTS", Constant(5)),
    *server.row("constant", "maxSteps", "roundtable.api:AgentProfile.max_steps", Constant(4)),
)

METRICS: tuple[Row, ...] = tuple(
    row
    for name in (
        "conversation completion rates",
        "average execution time per agent",
        "tool call success rates",
        "error frequency and types",
        "resource usage per conversation",
        "admin dashboard",
    )
    for row in server.row("behaviour", name, "create_app")
)

CLIENT: tuple[Row, ...] = (
    *Block(SEED, WORK, "roundtable.client").row(
        "function", "startMultiAgentConversation", "RoundtableClient.converse", note="a client with typed events"
    ),
    *server.row("function", "useMultiAgentChat", "create_app", note="a React hook, shown in the docs"),
)

ROWS: tuple[Row, ...] = (
    *REQUEST, *TEAM_EVENTS, *SHARED_EVENTS, *TOOL_CALL, *ERRORS, *LIMITS, *METRICS, *CLIENT
)  # fmt: skip

"""Seed 002: agents that are command-line programs."""

from __future__ import annotations

from contract.seed_rows import Block, Constant, Row

SEED = 2
command = Block(SEED, 10, "roundtable.providers.command")
gateway = Block(SEED, 5, "roundtable.gateway")

FUNCTIONS: tuple[Row, ...] = (
    *command.functions(
        "async spawnAgent(prompt, opts as options)\n async resumeAgent(sessionId, prompt, opts as options)"
    ),
    *command.interface(
        "SpawnOptions",
        """
        model: string | 'opus', 'sonnet' or 'haiku'
        maxBudgetUsd: number | above 0
        systemPrompt: string | may be empty
        maxTurns?: number = None | opus 20, sonnet 15, haiku 8
        timeoutMs?: number = 600.0 | python=roundtable.providers.command:SpawnOptions.timeout_s | in seconds here
        cwd?: string = None
        yolo?: boolean = False
        """,
    ),
    *command.interface(
        "resumeAgent.opts",
        """
        maxTurns?: number = 8
        timeoutMs?: number = 600.0 | python=roundtable.providers.command:ResumeOptions.timeout_s | in seconds here
        cwd?: string = None
        maxBudgetUsd?: number = None
        yolo?: boolean = False
        """,
        python="ResumeOptions",
    ),
    *command.interface(
        "AgentResponse",
        """
        content: string
        sessionId: string
        costUsd: number
        durationMs: number
        """,
        python="CliAgentResponse",
        note="of a command-line agent",
    ),
    *command.interface(
        "ClaudeJsonOutput",
        """
        result: string
        session_id: string
        total_cost_usd?: number = 0
        duration_ms?: number
        is_error?: boolean
        """,
        python="CliEnvelope",
    ),
    *command.row(
        "constant", "DEFAULT_MAX_TURNS", "DEFAULT_MAX_TURNS", Constant({"opus": 20, "sonnet": 15, "haiku": 8})
    ),
)

CHECKPOINTS: tuple[Row, ...] = (
    *command.row("function", "getClaudeBin", "find_binary", note="the path is cached"),
    *command.row(
        "function", "runClaude", "run_command", note="SIGTERM, five seconds later SIGKILL, to the whole group"
    ),
    *command.row("function", "parseOutput", "parse_output", note="the last JSON envelope"),
    *command.row("behaviour", "grace between SIGTERM and SIGKILL", "KILL_GRACE_S", Constant(5.0)),
    *command.row(
        "behaviour", "skip permissions", "CLAUDE.skip_permissions", Constant("--dangerously-skip-permissions")
    ),
)

MESSAGES: tuple[Row, ...] = tuple(
    row
    for text, place in (
        ("claude CLI not found. Install from https://claude.ai/cli", "find_binary"),
        ("Claude timed out after ${timeoutMs}ms", "run_command"),
        ("Claude exited ${code}: ${stderr}", "run_command"),
        ("Failed to spawn claude: ${message}", "run_command"),
        ("Failed to parse Claude JSON output (expected {result: string}). Got: ${preview}", "parse_output"),
        ("[Agent stopped: ${subtype}]", "parse_output"),
        ("Claude agent error: ${result}", "spawn_agent"),
    )
    for row in command.row("message", text, place)
)

BOUNDARY: tuple[Row, ...] = (
    *gateway.row(
        "function",
        "withErrorBoundary",
        "Gateway",
        note="every model call goes through the gateway, also those of command-line agents",
    ),
    *gateway.row("constant", "maxRetries", "RetryRule.max_retries", Constant(3)),
    *gateway.row("constant", "baseDelayMs", "RetryRule.base_delay_s", Constant(1.0), "1 s, 2 s, 4 s"),
    *gateway.row("constant", "maxDelayMs", "RetryRule.max_delay_s", Constant(32.0)),
    *gateway.row("constant", "jitter", "RetryRule.jitter", Constant(0.2), "0 to 20 %"),
    *gateway.row("class", "agentCircuitBreaker", "CircuitBreaker"),
    *gateway.row("constant", "breaker threshold", "CircuitBreaker.threshold", Constant(5)),
    *gateway.row("constant", "breaker window", "CircuitBreaker.window_s", Constant(60.0)),
    *gateway.row("constant", "breaker recovery", "CircuitBreaker.recovery_s", Constant(60.0)),
    *gateway.row("message", "Circuit breaker open for ${label}", "CircuitBreaker"),
)

ROWS: tuple[Row, ...] = (*FUNCTIONS, *CHECKPOINTS, *MESSAGES, *BOUNDARY)

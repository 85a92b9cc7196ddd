"""Seed 001: retries of model calls and of tools."""

from __future__ import annotations

from contract.seed_rows import Block, Call, Constant, Fault, Parameter, Row

SEED = 1
gateway = Block(SEED, 5, "roundtable.gateway")
types = Block(SEED, 5, "roundtable.types")
tools = Block(SEED, 7, "roundtable.tools")

CALLS: tuple[Row, ...] = (
    *types.row("field", "AgentConfig.retry", "AgentConfig.retry", note="`None` uses the gateway's default rule"),
    *types.interface(
        "AgentConfig.retry",
        "maxAttempts?: number = 3 | total number of attempts\n baseDelayMs?: number = 1000 | doubles with each attempt",
        python="RetryPolicy",
    ),
    *types.row(
        "behaviour",
        "retried errors",
        "RetryPolicy.on",
        Constant(("rate_limit", "network", "timeout", "answer")),
        'everything that may pass; `on=("rate_limit",)` is the rule of the TypeScript API',
    ),
    *gateway.row(
        "function",
        "callLlmWithRetry",
        "Gateway",
        note="every model call goes through the gateway; one warning per retry, with `attempt` and `delay_ms`",
    ),
    *Block(SEED, 5, "roundtable.errors").row(
        "error",
        "AgentError('RATE_LIMITED')",
        "APIRateLimitError",
        Fault("API_RATE_LIMIT", retryable=True),
        "raised as `APIRateLimitError`; its message names the attempts",
    ),
)

TOOLS: tuple[Row, ...] = (
    *tools.interface(
        "Tool", "name: string\n description: string\n retryable?: boolean = False", python="ToolDefinition"
    ),
    *tools.row("field", "Tool.inputSchema", "ToolDefinition.parameters", note="a JSON Schema"),
    *tools.row("field", "Tool.execute", "ToolDefinition.execute"),
    *tools.row("behaviour", "attempts of a retryable tool", "TOOL_ATTEMPTS", Constant(3)),
    *tools.row("behaviour", "base delay of a tool retry", "TOOL_BASE_DELAY_S", Constant(0.5), "doubles"),
    *tools.row("behaviour", "time limit of one attempt", "TOOL_TIMEOUT_S", Constant(30.0), "30 s, really cancelled"),
    *tools.row("function", "isTransientError", "is_transient_error", Call((Parameter("error"),))),
    *tools.row("message", "Tool not found: ${name}", "DefaultAgentToolkit.execute_tool"),
    *tools.row("message", 'Tool "${name}" timed out after ${timeoutMs}ms', "DefaultAgentToolkit.execute_tool"),
)

ROWS: tuple[Row, ...] = (*CALLS, *TOOLS)

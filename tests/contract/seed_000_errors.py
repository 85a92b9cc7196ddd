"""Seed 000, chapters *Error Response Format* and *Retry Strategy Recommendations*."""

from __future__ import annotations

from contract.seed_rows import Block, Call, Fault, Member, Parameter, Row

SEED = 0
errors = Block(SEED, 2, "roundtable.errors")
types = Block(SEED, 2, "roundtable.types")
gateway = Block(SEED, 5, "roundtable.gateway")

KINDS: tuple[Row, ...] = (
    *errors.row("class", "RoundtableError"),
    *errors.row(
        "error", "APIRateLimitError", None, Fault("API_RATE_LIMIT", retryable=True, message="API rate limit exceeded")
    ),
    *errors.row(
        "error", "APIAuthError", None, Fault("API_AUTH_FAILED", retryable=False, message="API authentication failed")
    ),
    *errors.row(
        "error", "APINetworkError", None, Fault("API_NETWORK_ERROR", retryable=True, message="Network error occurred")
    ),
    *errors.row(
        "error", "APITimeoutError", None, Fault("API_TIMEOUT", retryable=True, message="API request timed out")
    ),
    *errors.row("error", "AgentError", None, Fault("AGENT_ERROR", retryable=False), "each has its own message"),
    *errors.row("error", "SessionError", None, Fault("SESSION_ERROR", retryable=False), "each has its own message"),
)

SHAPE: tuple[Row, ...] = (
    *types.interface(
        "ErrorResponse",
        """
        name: string
        message: string
        code: string
        provider?: string = None
        retryable: boolean
        stack?: string = None | in debug mode only
        cause?: string = None
        """,
        python="ErrorInfo",
    ),
    *errors.row("method", "RoundtableError.toJSON", "RoundtableError.to_dict", Call(())),
    *(
        row
        for name, kind in (("message", "string"), ("code", "string"), ("provider", "string"), ("retryable", "boolean"))
        for row in errors.row("attribute", f"RoundtableError.{name}", expects=Member(kind))
    ),
)

RETRY: tuple[Row, ...] = gateway.row(
    "function",
    "retryWithBackoff",
    "retry_with_backoff",
    Call(
        (
            Parameter("operation"),
            Parameter("max_retries", optional=True, default=3),
            Parameter("base_delay_ms", optional=True, default=1000),
        ),
        is_async=True,
    ),
    "waits base * 2^attempt, at most 30 s, minus a random part of up to a half; retries errors marked retryable",
)

ROWS: tuple[Row, ...] = (*KINDS, *SHAPE, *RETRY)

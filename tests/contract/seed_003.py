"""Seed 003: how debates flow, and the tools around them."""

from __future__ import annotations

from decimal import Decimal

from contract.seed_rows import Block, Call, Choices, Constant, Member, Parameter, Row

SEED = 3
engine = Block(SEED, 2, "roundtable.engine")
types = Block(SEED, 2, "roundtable.types")
agents = Block(SEED, 5, "roundtable.agents")
gateway = Block(SEED, 5, "roundtable.gateway")
modes = Block(SEED, 6, "roundtable.modes")
analysis = Block(SEED, 8, "roundtable.analysis")
bench = Block(SEED, 8, "roundtable.bench")
exits = Block(SEED, 3, "roundtable.exits")
settings = Block(SEED, 2, "roundtable.settings")
mcp = Block(SEED, 11, "roundtable.mcp")
sessions = Block(SEED, 9, "roundtable.engine")

LIFECYCLE: tuple[Row, ...] = (
    *types.row(
        "choice",
        "session lifecycle",
        "SessionStatus",
        Choices(("created", "active", "paused", "completed", "error")),
    ),
    *(
        row
        for name, place in (
            ("Created → Active: first round starts", "DebateEngine.run_round"),
            ("Active → Completed: all rounds finished", "DebateEngine.run_round"),
        )
        for row in engine.row("behaviour", name, place)
    ),
    *(
        row
        for name, place in (
            ("Active → Paused: user pauses", "roundtable.api:Roundtable.pause"),
            ("Paused → Active: user resumes", "roundtable.api:Roundtable.resume"),
            ("Any → Error: unrecoverable error", "DebateEngine.run_round"),
        )
        for row in sessions.row("behaviour", name, place)
    ),
)

ROUNDS: tuple[Row, ...] = (
    *engine.row(
        "method",
        "ConsensusAnalyzer.analyzeConsensus(responses, topic)",
        "DebateEngine.get_consensus",
        Call((Parameter("session_id"),), is_async=True),
        "`get_consensus(session_id)`: the engine takes the answers of the session",
    ),
    *Block(SEED, 2, "roundtable.modes").row(
        "method", "ModeRegistry.getStrategy", "ModeRegistry.get_mode", Call((Parameter("mode"),))
    ),
    *agents.row("method", "AgentRegistry.getActiveAgents", "AgentRegistry.get_active_agents", Call(())),
)

MODES: tuple[Row, ...] = (
    *modes.row("class", "DevilsAdvocateMode", note="primary position, opposition, evaluators"),
    *modes.row("class", "DelphiMode", note="anonymous: Participant 1, Participant 2, ..."),
    *modes.row(
        "class", "RedTeamBlueTeamMode", note="even seats attack, odd seats defend; agents see only their own team"
    ),
    *modes.protocol(
        "BaseModeStrategy",
        """
        needsGroupthinkDetection: boolean
        transformContext(context, ...)
        validateResponse(response, ...)
        getAgentRole(agent, ...)
        """,
    ),
    *(
        row
        for mode in ("AdversarialMode", "DevilsAdvocateMode")
        for row in modes.row(
            "attribute",
            f"{mode}.needsGroupthinkDetection",
            f"{mode}.needs_groupthink_detection",
            Member("boolean", default=False),
        )
    ),
    *(
        row
        for name in (
            "AnonymizationProcessor",
            "StatisticsProcessor",
            "StanceValidator",
            "ConfidenceRangeValidator",
            "RequiredFieldsValidator",
        )
        for row in modes.row("class", name)
    ),
    *modes.row("behaviour", "custom or generated perspectives", "ExpertPanelMode", note="given out round-robin"),
)

CONSENSUS: tuple[Row, ...] = (
    *analysis.protocol("AIConsensusAnalyzer", "async analyzeConsensus(responses, topic)"),
    *analysis.row("method", "AIConsensusAnalyzer.performAIAnalysis", "AIConsensusAnalyzer.analyze_consensus"),
    *Block(SEED, 2, "roundtable.analysis").row(
        "behaviour",
        "performBasicAnalysis: 1 - (unique - 1) / n",
        "ConsensusAnalyzer.analyze",
        note='`method` is `"basic"`',
    ),
    *engine.row("field", "DebateEngineOptions.toolkit", "DebateEngine.toolkit"),
    *Block(SEED, 8, "roundtable.engine").row(
        "field", "DebateEngineOptions.aiConsensusAnalyzer", "DebateEngine.ai_consensus_analyzer"
    ),
    *Block(SEED, 8, "roundtable.engine").row(
        "method", "DebateEngine.analyzeConsensusWithAI", "DebateEngine.analyze_consensus_with_ai"
    ),
    *analysis.row("class", "KeyPointsExtractor", note="key points of the four-layer response"),
)

RENAMED = {"gemini-3-flash-preview": "the seed's `gemini-3.0-flash`, by the name that Google serves it under"}

TIERS: tuple[Row, ...] = tuple(
    row
    for provider, heavy, light in (
        ("anthropic", "claude-sonnet-4-5", "claude-haiku-4-5"),
        ("openai", "gpt-5.2", "gpt-5-mini"),
        ("google", "gemini-3-flash-preview", "gemini-2.5-flash-lite"),
        ("perplexity", "sonar-pro", "sonar"),
    )
    for tier, model in (("default_model", heavy), ("light_model", light))
    for row in Block(SEED, 5, "roundtable.providers").row(
        "constant",
        f"{provider} {tier.partition('_')[0]} model",
        f"BUILTIN_SPECS.{provider}.{tier}",
        Constant(model),
        RENAMED.get(model, ""),
    )
)

RESPONSE: tuple[Row, ...] = (
    *analysis.row("constant", "consensusLevel high", "HIGH_AGREEMENT", Constant(Decimal("0.7"))),
    *analysis.row("constant", "consensusLevel medium", "MEDIUM_AGREEMENT", Constant(Decimal("0.4"))),
    *analysis.row("behaviour", "proceed: high consensus", "build_response"),
    *analysis.row("behaviour", "verify: medium consensus", "build_response"),
    *analysis.row("behaviour", "query_detail: low consensus or conflicts", "build_response"),
)

TOOLS: tuple[Row, ...] = tuple(
    row
    for name in (
        "start_roundtable",
        "continue_roundtable",
        "control_session",
        "list_sessions",
        "get_consensus",
        "get_thoughts",
        "export_session",
        "synthesize_debate",
        "get_round_details",
        "get_response_detail",
        "get_citations",
        "get_agents",
    )
    for row in mcp.row("tool", name)
)

REST: tuple[Row, ...] = (
    *exits.functions("createDefaultExitCriteria(maxRounds)\n validateExitCriteria(criteria)"),
    *Block(SEED, 9, "roundtable.api.files").row(
        "behaviour", "export_session(format)", "ExportFormat", Choices(("markdown", "json"))
    ),
    *agents.row("function", "setup", "setup_agents", note="providers and agents from the keys that are set"),
    *agents.row("function", "light-model-factory", "create_light_model_agent"),
    *Block(SEED, 4, "roundtable.providers").row(
        "function", "error-converter", "Dialect.parse_error", note="one per dialect"
    ),
    *gateway.row("function", "withRetry", "retry_with_backoff"),
    *settings.row("environment", "LOG_LEVEL", note="structured logging to stderr"),
    *(row for name in ("BenchmarkRunner", "MetricsCollector") for row in bench.row("class", name)),
    *(row for name in ("BenchmarkMetrics", "BenchmarkScenario") for row in bench.row("type", name)),
    *(
        row
        for name, default in (
            ("ROUNDTABLE_EXIT_ENABLED", "true"),
            ("ROUNDTABLE_EXIT_CONSENSUS_THRESHOLD", "0.9"),
            ("ROUNDTABLE_EXIT_CONVERGENCE_ROUNDS", "2"),
            ("ROUNDTABLE_EXIT_CONFIDENCE_THRESHOLD", "0.85"),
        )
        for row in Block(SEED, 3, "roundtable.settings").row("environment", name, expects=Constant(default))
    ),
    *(
        row
        for name, default in (("ROUNDTABLE_MAX_AGENTS", "5"), ("ROUNDTABLE_DEFAULT_AGENT_COUNT", "4"))
        for row in Block(SEED, 6, "roundtable.settings").row("environment", name, expects=Constant(default))
    ),
)

SEARCH: tuple[Row, ...] = (
    *types.row(
        "behaviour",
        "native search",
        "AgentConfig.search",
        note="the providers' own, on by default; `search=False` for none",
    ),
    *types.row("behaviour", "native search: max uses, domains, context size, recency", "NativeSearch"),
    *agents.row("behaviour", "grounding with the light model, then functions", "GeminiAgent", note="before Gemini 3"),
    *types.row("behaviour", "tool loop: 10 iterations", "AgentConfig.max_tool_rounds", note="settable, 1 to 50"),
)

ROWS: tuple[Row, ...] = (*SEARCH, *LIFECYCLE, *ROUNDS, *MODES, *CONSENSUS, *TIERS, *RESPONSE, *TOOLS, *REST)

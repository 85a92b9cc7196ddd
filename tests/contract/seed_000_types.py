"""Seed 000, chapters *Types* and *4-Layer Response Types*: data as it travels."""

from __future__ import annotations

from contract.seed_rows import Block, Choices, Row

SEED = 0
values = Block(SEED, 2, "roundtable.types")
retrying = Block(SEED, 5, "roundtable.types")
shaping = Block(SEED, 6, "roundtable.modes")

PROVIDERS: tuple[Row, ...] = (
    *values.row("type", "AIProvider", note="any `str`, since plugins can add providers"),
    *Block(SEED, 4, "roundtable.providers").row(
        "provider", "AIProvider 'anthropic'", "BUILTIN_SPECS.anthropic", Choices(("anthropic",))
    ),
    *Block(SEED, 4, "roundtable.providers").row(
        "provider", "AIProvider 'openai'", "BUILTIN_SPECS.openai", Choices(("openai",))
    ),
    *Block(SEED, 4, "roundtable.providers").row(
        "provider", "AIProvider 'google'", "BUILTIN_SPECS.google", Choices(("google",))
    ),
    *Block(SEED, 4, "roundtable.providers").row(
        "provider", "AIProvider 'perplexity'", "BUILTIN_SPECS.perplexity", Choices(("perplexity",))
    ),
)

MODES: tuple[Row, ...] = (
    *values.row("type", "DebateMode", note="any `str`, since plugins can add modes"),
    *Block(SEED, 2, "roundtable.modes").row(
        "mode", "DebateMode 'collaborative'", "ModeRegistry", Choices(("collaborative",))
    ),
    *(
        row
        for name in ("adversarial", "socratic", "expert-panel", "devils-advocate", "delphi", "red-team-blue-team")
        for row in shaping.row("mode", f"DebateMode '{name}'", "ModeRegistry", Choices((name,)))
    ),
)

DEBATES: tuple[Row, ...] = (
    *values.interface(
        "AgentConfig",
        """
        id: string
        name: string
        provider: AIProvider
        model: string | optional here: `None` selects the provider's default
        systemPrompt?: string
        temperature?: number = 0.7 | accepts 0 to 2
        maxTokens?: number = 4096
        """,
    ),
    *values.interface(
        "AgentResponse",
        """
        agentId: string
        agentName: string
        position: string
        reasoning: string
        confidence: number
        citations?: Citation[]
        toolCalls?: ToolCallRecord[]
        images?: ImageResult[]
        relatedQuestions?: string[]
        timestamp: Date
        """,
    ),
    *values.interface(
        "DebateConfig",
        """
        topic: string
        mode: DebateMode
        agents: string[]
        rounds?: number = 3
        focusQuestion?: string = None
        """,
    ),
    *values.interface(
        "DebateContext",
        """
        sessionId: string
        topic: string
        mode: DebateMode
        currentRound: number
        totalRounds: number
        previousResponses: AgentResponse[]
        focusQuestion?: string = None
        modePrompt?: string = None
        """,
    ),
    *values.row(
        "choice",
        "SessionStatus",
        None,
        Choices(("active", "paused", "completed", "error")),
        "plus `created`",
    ),
    *values.interface(
        "Session",
        """
        id: string
        topic: string
        mode: DebateMode
        agentIds: string[]
        status: SessionStatus
        currentRound: number
        totalRounds: number
        responses: AgentResponse[]
        consensus?: ConsensusResult
        createdAt: Date
        updatedAt: Date
        """,
    ),
    *values.row("type", "ToolCallRecord"),
    *values.row("type", "RoundResult"),
)

RESULTS: tuple[Row, ...] = (
    *values.interface(
        "ConsensusResult",
        """
        agreementLevel: number
        commonGround: string[]
        disagreementPoints: string[]
        summary: string
        """,
    ),
    *values.interface("Citation", "title: string\n url: string\n snippet?: string = None"),
    *values.interface("ImageResult", "url: string\n description?: string = None"),
    *values.interface(
        "AIConsensusResult",
        """
        agreementLevel: number
        commonGround: string[]
        disagreementPoints: string[]
        summary: string
        clusters?: Cluster[]
        nuances?: Nuances = None
        reasoning?: string = None
        analyzerId?: string = None
        """,
    ),
    *values.interface(
        "AIConsensusResult.clusters[]", "theme: string\n agentIds: string[]\n summary: string", python="Cluster"
    ),
    *values.interface(
        "AIConsensusResult.nuances",
        "partialAgreements: string[]\n conditionalPositions: string[]\n uncertainties: string[]",
        python="Nuances",
    ),
    *values.interface(
        "SynthesisResult",
        """
        commonGround: string[]
        keyDifferences: string[]
        evolutionSummary: string
        conclusion: string
        recommendation: string
        confidence: number
        synthesizerId: string
        timestamp: Date
        """,
    ),
)

LAYERS: tuple[Row, ...] = (
    *values.row("choice", "ConsensusLevel", None, Choices(("high", "medium", "low"))),
    *values.row("choice", "ActionRecommendationType", None, Choices(("proceed", "verify", "query_detail"))),
    *values.interface(
        "RoundtableResponse",
        """
        sessionId: string
        topic: string
        mode: DebateMode
        roundNumber: number
        totalRounds: number
        decision: DecisionLayer
        agentResponses: AgentResponseSummary[]
        evidence: EvidenceLayer
        metadata: MetadataLayer
        """,
    ),
    *values.interface(
        "DecisionLayer",
        """
        consensusLevel: ConsensusLevel
        agreementScore: number
        actionRecommendation: ActionRecommendation
        """,
    ),
    *values.interface(
        "DecisionLayer.actionRecommendation",
        "type: ActionRecommendationType\n reason: string",
        python="ActionRecommendation",
    ),
    *values.interface(
        "AgentResponseSummary",
        """
        agentId: string
        agentName: string
        position: string
        keyPoints: string[]
        confidence: number
        confidenceChange?: ConfidenceChange = None
        evidenceUsed: EvidenceUsed
        """,
    ),
    *values.interface(
        "AgentResponseSummary.confidenceChange",
        "delta: number\n previousRound: number\n reason: string",
        python="ConfidenceChange",
    ),
    *values.interface(
        "AgentResponseSummary.evidenceUsed",
        "webSearches: number\n citations: number\n toolCalls: string[]",
        python="EvidenceUsed",
    ),
    *values.interface("EvidenceLayer", "totalCitations: number\n conflicts: Conflict[]\n consensusSummary: string"),
    *values.interface("EvidenceLayer.conflicts[]", "issue: string\n positions: ConflictPosition[]", python="Conflict"),
    *values.interface(
        "EvidenceLayer.conflicts[].positions[]", "agentId: string\n stance: string", python="ConflictPosition"
    ),
    *values.interface(
        "MetadataLayer",
        """
        detailReference: DetailReference
        verificationHints: VerificationHint[]
        hasMoreDetails: boolean
        """,
    ),
    *values.interface(
        "MetadataLayer.detailReference", "tool: string\n params: Record<string, unknown>", python="DetailReference"
    ),
    *values.interface(
        "MetadataLayer.verificationHints[]",
        "field: string\n reason: string\n suggestedTool: string",
        python="VerificationHint",
    ),
)

ROWS: tuple[Row, ...] = (*PROVIDERS, *MODES, *DEBATES, *RESULTS, *LAYERS)

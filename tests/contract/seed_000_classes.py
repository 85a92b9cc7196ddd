"""Seed 000, chapters *Agents*, *Modes*, *Core*, *Storage* and *Environment Variables*: what is called."""

from __future__ import annotations

from contract.seed_rows import UNSET, Block, Constant, Member, Row

SEED = 0
types = Block(SEED, 2, "roundtable.types")
agents = Block(SEED, 2, "roundtable.agents")
vendors = Block(SEED, 5, "roundtable.agents")
modes = Block(SEED, 2, "roundtable.modes")
shaping = Block(SEED, 6, "roundtable.modes")
engine = Block(SEED, 2, "roundtable.engine")
analysis = Block(SEED, 2, "roundtable.analysis")
storage = Block(SEED, 2, "roundtable.storage")
settings = Block(SEED, 2, "roundtable.settings")
protocols = Block(SEED, 2, "roundtable.protocols")

BASE_AGENT = """
    constructor(config, ...) | also takes the model that it calls
    id: string
    name: string
    provider: AIProvider
    model: string
    async generateResponse(context)
    setToolkit(toolkit)
    buildSystemPrompt(context)
    buildUserMessage(context)
    parseResponse(rawText, context)
"""

AGENTS: tuple[Row, ...] = (
    *agents.protocol("BaseAgent", BASE_AGENT, note="subclasses override `build_messages`, `parse` or `repair`"),
    *agents.protocol(
        "AgentRegistry",
        """
        constructor()
        registerProvider(provider, factory, defaultModel)
        createAgent(config)
        getAvailableProviders()
        hasProvider(provider)
        getDefaultModel(provider)
        """,
    ),
    *agents.row("type", "AgentFactory", note="registers a provider"),
    *agents.functions("getGlobalRegistry()\n resetGlobalRegistry()"),
)


def _vendor(name: str, factory: str, key: str, methods: str = "", options: str = "") -> tuple[Row, ...]:
    return (
        *vendors.protocol(name, f"constructor(config, ...)\n{methods}"),
        *vendors.interface(
            f"{name}Options",
            f"""
            apiKey?: string = None | python=roundtable.agents:{factory}.api_key | else {key}
            client?: object = None | python=roundtable.agents:{factory}.client
            {options}
            """,
            python=factory,
            note="the options are keyword arguments of the factory",
        ),
        *vendors.functions(f"create{name}(config, toolkit?=None) | python=roundtable.agents:{factory}"),
    )


VENDORS: tuple[Row, ...] = (
    *_vendor("ClaudeAgent", "create_claude_agent", "ANTHROPIC_API_KEY"),
    *_vendor("ChatGPTAgent", "create_chatgpt_agent", "OPENAI_API_KEY"),
    *_vendor("GeminiAgent", "create_gemini_agent", "GOOGLE_API_KEY"),
    *_vendor(
        "PerplexityAgent",
        "create_perplexity_agent",
        "PERPLEXITY_API_KEY",
        "setSearchOptions(options)\n getSearchOptions()",
        "searchOptions?: object = None | python=roundtable.agents:create_perplexity_agent.search_options",
    ),
    *vendors.interface(
        "PerplexitySearchOptions",
        """
        recencyFilter?: 'hour'|'day'|'week'|'month'|... = None
        domainFilter?: string[] | at most 3
        returnImages?: boolean = False
        returnRelatedQuestions?: boolean = False
        """,
    ),
)

STRATEGY = """
    name: string
    buildAgentPrompt(context)
    async executeRound(agents, context, toolkit) | issue=6 | python=roundtable.modes:BaseModeStrategy.execute_round
"""


def _mode(block: Block, kind: str, name: str, how: str) -> tuple[Row, ...]:
    return (
        *block.row("class", kind, note=how),
        *block.row("attribute", f"{kind}.name", expects=Member("string", False, name)),
    )


MODES: tuple[Row, ...] = (
    *protocols.protocol("DebateModeStrategy", STRATEGY),
    *_mode(modes, "CollaborativeMode", "collaborative", "all at once"),
    *_mode(shaping, "AdversarialMode", "adversarial", "one after another"),
    *_mode(shaping, "SocraticMode", "socratic", "one after another"),
    *_mode(shaping, "ExpertPanelMode", "expert-panel", "all at once"),
    *modes.protocol(
        "ModeRegistry",
        """
        constructor()
        registerMode(mode, strategy)
        getMode(mode)
        hasMode(mode)
        getAvailableModes()
        removeMode(mode)
        clear()
        reset()
        """,
    ),
    *modes.functions("getGlobalModeRegistry()\n resetGlobalModeRegistry()"),
)

CORE: tuple[Row, ...] = (
    *engine.protocol(
        "DebateEngine",
        """
        constructor(sessionManager, agentRegistry, modeRegistry, toolkit)
        async startDebate(config)
        async runRound(sessionId, focusQuestion?=None)
        async getConsensus(sessionId)
        async getSession(sessionId)
        async listSessions()
        """,
    ),
    *engine.protocol(
        "SessionManager",
        """
        constructor(storage)
        async createSession(config)
        async getSession(id as session_id)
        async updateSession(session)
        async addResponse(sessionId, response)
        async listSessions()
        async deleteSession(id as session_id)
        """,
    ),
    *analysis.protocol("ConsensusAnalyzer", "constructor()\n analyze(responses)"),
    *engine.row(
        "class", "ConsensusAnalyzer (Core)", "ConsensusAnalyzer", note="the same class, also in `roundtable.engine`"
    ),
)

STORAGE: tuple[Row, ...] = (
    *protocols.row("class", "StorageProvider", "Storage", note="an append-only log of events; see the how-to"),
    *storage.protocol(
        "SQLiteStorage",
        """
        constructor(dbPath?='./data/roundtable.db')
        async saveSession(session)
        async getSession(id)
        async getAllSessions()
        async deleteSession(id)
        async addResponse(sessionId, response)
        async getResponses(sessionId)
        close() | `aclose` is its async form
        """,
    ),
)

ENVIRONMENT: tuple[Row, ...] = tuple(
    row
    for name, default in (
        ("ANTHROPIC_API_KEY", UNSET),
        ("OPENAI_API_KEY", UNSET),
        ("GOOGLE_API_KEY", UNSET),
        ("PERPLEXITY_API_KEY", UNSET),
        ("DATABASE_PATH", "./data/roundtable.db"),
    )
    for row in settings.row("environment", name, expects=None if default is UNSET else Constant(default))
)

ROWS: tuple[Row, ...] = (*AGENTS, *VENDORS, *MODES, *CORE, *STORAGE, *ENVIRONMENT)

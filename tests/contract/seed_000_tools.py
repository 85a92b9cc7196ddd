"""Seed 000, chapters *Tools* and *MCP Server*: what agents and assistants call by its wire name."""

from __future__ import annotations

from contract.seed_rows import Block, Row

SEED = 0
protocols = Block(SEED, 2, "roundtable.protocols")
types = Block(SEED, 2, "roundtable.types")
tools = Block(SEED, 7, "roundtable.tools")
mcp = Block(SEED, 11, "roundtable.mcp")

TOOLKIT: tuple[Row, ...] = (
    *protocols.protocol(
        "AgentToolkit", "getTools()\n async executeTool(name, input as tool_input) | the input is named `tool_input`"
    ),
    *types.interface("AgentTool", "name: string\n description: string\n parameters: Record<string, unknown>"),
    *types.interface("ToolResult", "success: boolean\n data?: any = None\n error?: string = None"),
    *tools.protocol(
        "DefaultAgentToolkit",
        """
        constructor(webSearchProvider?=None, sessionDataProvider?=None, perplexitySearchProvider?=None)
        setContext(context)
        registerTool(definition)
        getTools()
        async executeTool(name, input as tool_input)
        """,
    ),
    *tools.functions(
        "createDefaultToolkit(webSearchProvider?=None, sessionDataProvider?=None, perplexitySearchProvider?=None)"
    ),
    *tools.row("type", "ToolDefinition"),
    *tools.protocol("WebSearchProvider", "async search(query, options?=None)"),
    *tools.protocol("PerplexitySearchProvider", "async search(input as search_input)"),
    *tools.protocol("SessionDataProvider", "async getSession(sessionId)\n async findRelatedEvidence(claim)"),
    *tools.row("type", "SearchOptions"),
    *tools.interface("SearchResult", "title: string\n url: string\n snippet: string\n publishedDate?: string = None"),
    *tools.row("type", "PerplexitySearchInput"),
    *tools.row("type", "PerplexitySearchResult"),
    *tools.row("type", "SessionData"),
    *tools.interface("Evidence", "agentName: string\n evidence: string\n confidence: number"),
)

BUILT_IN: tuple[Row, ...] = (
    *tools.wire(
        "tool",
        "get_context",
        """
        output.topic: string
        output.mode: string
        output.currentRound: number
        output.totalRounds: number
        output.previousResponses: object[] | each with agentName, position and confidence
        output.focusQuestion?: string
        """,
        python="roundtable.tools:get_context",
    ),
    *tools.wire(
        "tool",
        "submit_response",
        """
        input.position: string
        input.reasoning: string
        input.confidence: number
        output.position: string
        output.reasoning: string
        output.confidence: number | clamped to 0-1
        """,
        python="roundtable.tools:submit_response",
    ),
    *tools.wire(
        "tool",
        "search_web",
        "input.query: string\n input.max_results?: number = 5 | at most 10\n output.results: SearchResult[]",
        python="roundtable.tools:search_web",
    ),
    *tools.wire(
        "tool",
        "fact_check",
        """
        input.claim: string
        input.source_agent?: string
        output.claim: string
        output.sourceAgent: string
        output.webEvidence: SearchResult[]
        output.debateEvidence: Evidence[]
        """,
        python="roundtable.tools:fact_check",
    ),
    *tools.wire(
        "tool",
        "perplexity_search",
        """
        input.query: string
        input.recency_filter?: 'hour'|'day'|'week'|'month'
        input.domain_filter?: string[] | at most 3
        input.return_images?: boolean
        input.return_related_questions?: boolean
        output.answer: string
        output.citations?: Citation[]
        output.images?: ImageResult[]
        output.related_questions?: string[]
        """,
        python="roundtable.tools:perplexity_search",
    ),
)

MCP: tuple[Row, ...] = (
    *mcp.wire(
        "tool",
        "start_roundtable",
        """
        input.topic: string
        input.mode?: DebateMode = 'collaborative'
        input.agents?: string[] | all available agents if left out
        input.rounds?: number = 3
        """,
        python="roundtable.mcp:start_roundtable",
        note="returns the four-layer response",
    ),
    *mcp.wire(
        "tool",
        "continue_roundtable",
        "input.sessionId: string\n input.rounds?: number\n input.focusQuestion?: string",
        python="roundtable.mcp:continue_roundtable",
        note="returns the four-layer response",
    ),
    *mcp.wire("tool", "get_consensus", "input.sessionId: string", python="roundtable.mcp:get_consensus"),
    *mcp.wire("tool", "get_agents", python="roundtable.mcp:get_agents"),
    *mcp.wire("tool", "list_sessions", python="roundtable.mcp:list_sessions"),
    *mcp.functions(
        "createMCPServer(debateEngine?=None, agentRegistry?=None) | python=roundtable.mcp:create_mcp_server"
        " | fields of its only argument"
    ),
    *mcp.row("field", "createMCPServer.debateEngine", "create_mcp_server.debate_engine"),
    *mcp.row("field", "createMCPServer.agentRegistry", "create_mcp_server.agent_registry"),
    *mcp.row("method", "MCPServer.start", "McpServer.start", note="`await server.start()`, stdio"),
    *mcp.row("behaviour", "MCP transport", "McpServer.start", note="stdio; `serve_http` besides"),
)

ROWS: tuple[Row, ...] = (*TOOLKIT, *BUILT_IN, *MCP)

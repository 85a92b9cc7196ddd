"""A value of every data type that the seeds name, as it stands on the wire; the seeds' own where there is one."""

from __future__ import annotations

from typing import Any

NOON = "2024-01-15T10:00:00Z"

RESPONSE: dict[str, Any] = {
    "agentId": "claude-1",
    "agentName": "Claude",
    "position": "Microservices are beneficial for this scale",
    "reasoning": "Better scalability.",
    "confidence": 0.75,
    "citations": [{"title": "Strangler", "url": "https://example.org/s", "snippet": "Step by step."}],
    "toolCalls": [{"toolName": "search_web", "input": {"query": "q"}, "output": {"success": True}, "timestamp": NOON}],
    "images": [{"url": "https://example.org/i.png", "description": "A map"}],
    "relatedQuestions": ["And the cost?"],
    "timestamp": NOON,
}
CONSENSUS: dict[str, Any] = {
    "agreementLevel": 0.75,
    "commonGround": ["Point A", "Point B"],
    "disagreementPoints": ["Difference 1"],
    "summary": "Most agree.",
}
CLUSTER = {"theme": "Gradual", "agentIds": ["claude-1"], "summary": "Step by step."}
NUANCES = {"partialAgreements": ["On cost"], "conditionalPositions": ["If staffed"], "uncertainties": ["Load"]}
CONFLICT = {
    "issue": "Migration approach",
    "positions": [
        {"agentId": "claude-1", "stance": "Gradual strangler pattern"},
        {"agentId": "chatgpt-1", "stance": "Big bang rewrite"},
    ],
}
DECISION = {
    "consensusLevel": "medium",
    "agreementScore": 0.65,
    "actionRecommendation": {"type": "verify", "reason": "Agents differ on the implementation approach"},
}
CHANGE = {"delta": 0.1, "previousRound": 1, "reason": "strengthened"}
USED = {"webSearches": 2, "citations": 3, "toolCalls": ["search_web"]}
SUMMARY = {
    "agentId": "claude-1",
    "agentName": "Claude",
    "position": "Microservices are beneficial for this scale",
    "keyPoints": ["Better scalability", "Team autonomy improved"],
    "confidence": 0.75,
    "confidenceChange": CHANGE,
    "evidenceUsed": USED,
}
EVIDENCE = {"totalCitations": 8, "conflicts": [CONFLICT], "consensusSummary": "All support it."}
REFERENCE = {"tool": "get_round_details", "params": {"sessionId": "abc-123", "roundNumber": 2}}
HINT = {"field": "migration", "reason": "Direct conflict", "suggestedTool": "get_response_detail"}
METADATA = {"detailReference": REFERENCE, "verificationHints": [HINT], "hasMoreDetails": True}
CALL = {"name": "getSFDCData", "args": {"query": "SELECT Id FROM Account"}, "id": "tool_1"}
MESSAGE = {"role": "user", "content": "Find prospects.", "timestamp": NOON}

DEBATES: dict[tuple[int, str], dict[str, Any]] = {
    (0, "AgentConfig"): {
        "id": "claude-1", "name": "Claude", "provider": "anthropic", "model": "claude-sonnet-4-5",
        "systemPrompt": "You are terse.", "temperature": 0.2, "maxTokens": 512,
    },
    (0, "AgentResponse"): RESPONSE,
    (0, "DebateConfig"): {
        "topic": "Tea?", "mode": "socratic", "agents": ["ada", "bo"], "rounds": 2, "focusQuestion": "At noon?",
    },
    (0, "DebateContext"): {
        "sessionId": "s", "topic": "Tea?", "mode": "delphi", "currentRound": 2, "totalRounds": 3,
        "previousResponses": [RESPONSE], "focusQuestion": "At noon?", "modePrompt": "Be brief.",
    },
    (0, "Session"): {
        "id": "s", "topic": "Tea?", "mode": "delphi", "agentIds": ["claude-1"], "status": "active", "currentRound": 1,
        "totalRounds": 3, "responses": [RESPONSE], "createdAt": NOON, "updatedAt": NOON,
    },
    (0, "ToolCallRecord"): RESPONSE["toolCalls"][0],
    (0, "RoundResult"): {"roundNumber": 1, "responses": [RESPONSE], "consensus": {**CONSENSUS, "method": "ai"}},
    (0, "ConsensusResult"): {**CONSENSUS, "method": "basic"},
    (0, "Citation"): RESPONSE["citations"][0],
    (0, "ImageResult"): RESPONSE["images"][0],
    (0, "AIConsensusResult"): {
        **CONSENSUS, "clusters": [CLUSTER], "nuances": NUANCES, "reasoning": "Read closely.", "analyzerId": "claude-1",
    },
    (0, "AIConsensusResult.clusters[]"): CLUSTER,
    (0, "AIConsensusResult.nuances"): NUANCES,
    (0, "SynthesisResult"): {
        "commonGround": ["Cost"], "keyDifferences": ["Pace"], "evolutionSummary": "They met.", "conclusion": "Begin.",
        "recommendation": "Begin small.", "confidence": 0.8, "synthesizerId": "claude-1", "timestamp": NOON,
    },
    (1, "AgentConfig.retry"): {"maxAttempts": 5, "baseDelayMs": 250},
}  # fmt: skip
"""What debates are made of."""

LAYERS: dict[tuple[int, str], dict[str, Any]] = {
    (0, "RoundtableResponse"): {
        "sessionId": "abc-123", "topic": "Should we use microservices?", "mode": "collaborative", "roundNumber": 2,
        "totalRounds": 3, "status": "in_progress", "decision": DECISION, "agentResponses": [SUMMARY],
        "evidence": EVIDENCE, "metadata": METADATA,
    },
    (0, "DecisionLayer"): DECISION,
    (0, "DecisionLayer.actionRecommendation"): DECISION["actionRecommendation"],  # type: ignore[dict-item]
    (0, "AgentResponseSummary"): SUMMARY,
    (0, "AgentResponseSummary.confidenceChange"): CHANGE,
    (0, "AgentResponseSummary.evidenceUsed"): USED,
    (0, "EvidenceLayer"): EVIDENCE,
    (0, "EvidenceLayer.conflicts[]"): CONFLICT,
    (0, "EvidenceLayer.conflicts[].positions[]"): CONFLICT["positions"][0],  # type: ignore[dict-item]
    (0, "MetadataLayer"): METADATA,
    (0, "MetadataLayer.detailReference"): REFERENCE,
    (0, "MetadataLayer.verificationHints[]"): HINT,
}  # fmt: skip
"""The four-layer response; the example of seed 003."""

TOOLS: dict[tuple[int, str], dict[str, Any]] = {
    (0, "AgentTool"): {"name": "search_web", "description": "Searches.", "parameters": {"type": "object"}},
    (0, "ToolResult"): {"success": False, "data": {"partial": 1}, "error": "Out of time"},
    (0, "SearchResult"): {"title": "Tea", "url": "https://example.org", "snippet": "Hot.", "publishedDate": "2024-01"},
    (0, "SearchOptions"): {"maxResults": 3},
    (0, "PerplexitySearchInput"): {
        "query": "tea", "recency_filter": "week", "domain_filter": ["example.org"], "return_images": True,
        "return_related_questions": True,
    },
    (0, "PerplexitySearchResult"): {
        "answer": "Hot.", "citations": RESPONSE["citations"], "images": RESPONSE["images"],
        "related_questions": ["Green?"],
    },
    (0, "Evidence"): {"agentName": "Claude", "evidence": "Tea is hot.", "confidence": 0.5},
    (0, "SessionData"): {
        "id": "s", "topic": "Tea?", "responses": [{"agentName": "Claude", "evidence": "Hot.", "confidence": 0.5}],
    },
    (0, "ErrorResponse"): {
        "name": "AgentError", "message": "Failed to parse response from claude-debate-1", "code": "AGENT_ERROR",
        "provider": "anthropic", "retryable": False, "cause": "Invalid JSON in response",
    },
}  # fmt: skip
"""What agents are given and what comes back."""

COMMANDS: dict[tuple[int, str], dict[str, Any]] = {
    (2, "SpawnOptions"): {
        "model": "opus", "maxBudgetUsd": 5.0, "systemPrompt": "", "maxTurns": 20, "timeoutS": 900.0, "cwd": "/tmp",
        "yolo": True,
    },
    (2, "resumeAgent.opts"): {"maxTurns": 10, "timeoutS": 60.0, "cwd": "/tmp", "maxBudgetUsd": 2.0, "yolo": True},
    (2, "AgentResponse"): {
        "content": "Hello!", "sessionId": "claude-session-f3a2b1c0", "costUsd": 0.0023, "durationMs": 1243.0,
    },
}  # fmt: skip
"""What command-line agents are given and give."""

TEAMS: dict[tuple[int, str], dict[str, Any]] = {
    (4, "MultiAgentRequest"): {"agents": ["data-steward"], "rounds": 3, "messages": [MESSAGE]},
    (4, "ChatMessage"): MESSAGE,
    (4, "ErrorBody"): {
        "error": "Invalid request format", "code": "VALIDATION_ERROR",
        "details": {"field": "agents", "message": "Must contain at least 1 valid agent"}, "timestamp": NOON,
        "requestId": "1",
    },
}  # fmt: skip
"""What teams are asked over HTTP, and how they are refused."""

EXAMPLES = {**DEBATES, **LAYERS, **TOOLS, **COMMANDS, **TEAMS}

/** What `POST /api/chat/multi` takes and tells. */

export interface ToolCall {
  name: string;
  args: Record<string, unknown>;
  id: string;
}

export interface ChatMessage {
  role: 'user' | 'assistant' | 'system';
  content: string;
  toolCalls?: ToolCall[];
  timestamp?: string;
}

export interface MultiAgentRequest {
  agents: string[];
  rounds: number;
  messages: ChatMessage[];
}

export interface AgentResult {
  agent: string;
  response: string;
  toolCalls: Omit<ToolCall, 'id'>[];
  steps: number;
}

interface Told<Type extends string, Data> {
  type: Type;
  data: Data & { timestamp: string };
}

export type MultiAgentEvent =
  | Told<'conversation_start', { sessionId: string; agents: string[]; rounds: number }>
  | Told<'initiator_start', { agent: string }>
  | Told<'initiator_tool_call', { toolCall: ToolCall }>
  | Told<'initiator_complete', { goal: string; strategy: string; successCriteria: string[] }>
  | Told<'round_start', { round: number; agents: string[]; goal: string }>
  | Told<'agent_start', { agent: string; round: number; maxSteps: number }>
  | Told<'agent_tool_call', { agent: string; round: number; step: number; toolCall: ToolCall }>
  | Told<'agent_tool_result', { agent: string; round: number; step: number; toolCallId: string; result: unknown }>
  | Told<'agent_response_chunk', { agent: string; round: number; chunk: string }>
  | Told<
      'agent_complete',
      {
        agent: string;
        round: number;
        response: string;
        toolCalls: Omit<ToolCall, 'id'>[];
        steps: number;
        finishReason: string;
      }
    >
  | Told<'agent_error', { agent: string; round: number; error: string; action: 'skip' | 'retry' | 'abort' }>
  | Told<'round_complete', { round: number; results: AgentResult[] }>
  | Told<'summarizer_start', object>
  | Told<'summarizer_chunk', { chunk: string }>
  | Told<
      'conversation_complete',
      { summary: string; totalRounds: number; totalAgents: number; executionTime: number }
    >
  | Told<'error', { error: string; code: string; agent?: string; round?: number; recoverable: boolean }>;

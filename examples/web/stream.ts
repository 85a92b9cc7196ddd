import type { MultiAgentEvent, MultiAgentRequest } from './types.js';

/** Gives the events of a response, wherever the network cuts it. */
export async function* events(response: Response): AsyncGenerator<MultiAgentEvent> {
  const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
  let buffer = '';
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      buffer += value;
      for (let end = buffer.indexOf('\n\n'); end >= 0; end = buffer.indexOf('\n\n')) {
        const block = buffer.slice(0, end);
        buffer = buffer.slice(end + 2);
        // Anything else is a comment, by which the server shows that it is still there.
        if (block.startsWith('data: ')) yield JSON.parse(block.slice(6));
      }
    }
  } finally {
    await reader.cancel();
  }
}

/** Starts a conversation and gives its events; fails with what the server says. */
export async function* startMultiAgentConversation(
  request: MultiAgentRequest,
  signal?: AbortSignal,
): AsyncGenerator<MultiAgentEvent> {
  const response = await fetch('/api/chat/multi', {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify(request),
    signal: signal ?? null,
  });
  if (!response.ok) {
    const told = await response.json();
    throw new Error(`${told.code}: ${told.error}`);
  }
  yield* events(response);
}

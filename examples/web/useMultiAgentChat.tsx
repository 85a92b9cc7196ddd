import { useCallback, useEffect, useRef, useState } from 'react';

import { startMultiAgentConversation } from './stream.js';
import type { MultiAgentEvent, MultiAgentRequest } from './types.js';

/** Runs conversations of a team and gives what is told of them, for a component to show. */
export function useMultiAgentChat() {
  const [events, setEvents] = useState<MultiAgentEvent[]>([]);
  const [isActive, setIsActive] = useState(false);
  const [error, setError] = useState<string | null>(null);
  const running = useRef<AbortController | null>(null);

  const stopListening = useCallback(() => running.current?.abort(), []);
  useEffect(() => stopListening, [stopListening]);

  const startConversation = useCallback(async (request: MultiAgentRequest) => {
    running.current?.abort();
    const mine = (running.current = new AbortController());
    setIsActive(true);
    setError(null);
    setEvents([]);
    try {
      for await (const event of startMultiAgentConversation(request, mine.signal)) {
        setEvents((known) => [...known, event]);
        if (event.type === 'error') setError(event.data.error);
      }
    } catch (reason) {
      if (!mine.signal.aborted) setError(reason instanceof Error ? reason.message : String(reason));
    } finally {
      if (running.current === mine) setIsActive(false);
    }
  }, []);

  return { events, isActive, error, startConversation, stopListening };
}

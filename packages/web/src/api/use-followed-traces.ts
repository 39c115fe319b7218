import type { Trace } from '@gatehouse/contract/traces';
import { useEffect, useState } from 'preact/hooks';
import type { ApiError } from './api-error.ts';
import { call } from './call.ts';
import { merged } from './merged-traces.ts';
import { knownError } from './use-answer.ts';

const pageSize = '100';

interface Filters {
  status: string;
  user_id: string;
  session_id: string;
  agent_id: string;
  channel: string;
}

export interface Followed {
  /** Newest first. */
  traces: readonly Trace[];
  error: ApiError | null;
  isCurrent: boolean;
}

/** Follows runs as they start and end, for as long as the page is looked at. */
export function useFollowedTraces(filters: Filters): Followed {
  const [traces, setTraces] = useState<readonly Trace[]>([]);
  const [error, setError] = useState<ApiError | null>(null);
  const [isCurrent, setCurrent] = useState(false);
  const key = JSON.stringify(filters);
  useEffect(() => {
    const leaving = new AbortController();
    setTraces([]);
    setCurrent(false);
    const follow = async (): Promise<void> => {
      for (let cursor = ''; !leaving.signal.aborted;) {
        await untilVisible(leaving.signal);
        const query = { ...filters, cursor, limit: pageSize };
        const page = await call('GET /v1/traces/follow', { query }, { signal: leaving.signal });
        cursor = page.next_cursor;
        setTraces((held) => merged(held, page.traces));
        setCurrent(!page.has_more);
        setError(null);
        if (!page.has_more) await pause(page.poll_after_ms, leaving.signal);
      }
    };
    follow().catch((problem: unknown) => {
      if (!leaving.signal.aborted) setError(knownError(problem));
    });
    return () => leaving.abort();
    // `key` stands for the filters, which are another object with each render.
  }, [key]);
  return { traces, error, isCurrent };
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    signal.addEventListener('abort', () => {
      clearTimeout(timer);
      resolve();
    });
  });
}

/** A page in the background sends no requests. */
function untilVisible(signal: AbortSignal): Promise<void> {
  if (document.visibilityState === 'visible') return Promise.resolve();
  return new Promise((resolve) => {
    document.addEventListener('visibilitychange', () => resolve(), { once: true, signal });
    signal.addEventListener('abort', () => resolve());
  });
}

import type { Trace } from '@gatehouse/contract/traces';
import { useEffect, useState } from 'preact/hooks';
import type { ApiError } from './api-error.ts';
import { call } from './call.ts';
import { merged } from './merged-traces.ts';
import { knownError } from './use-answer.ts';

const pageSize = '100';
/** The pause after a page that failed. */
const retryMs = 5_000;

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
    const readFrom = async (cursor: string): Promise<{ cursor: string; waitMs: number }> => {
      try {
        const query = { ...filters, cursor, limit: pageSize };
        const page = await call('GET /v1/traces/follow', { query }, { signal: leaving.signal });
        setTraces((held) => merged(held, page.traces));
        setCurrent(!page.has_more);
        setError(null);
        return { cursor: page.next_cursor, waitMs: page.has_more ? 0 : page.poll_after_ms };
      } catch (problem) {
        if (leaving.signal.aborted) return { cursor, waitMs: 0 };
        const error = knownError(problem);
        setError(error);
        setCurrent(false);
        // The same page again, unless its cursor is refused.
        return { cursor: error.status === 400 ? '' : cursor, waitMs: retryMs };
      }
    };
    const follow = async (): Promise<void> => {
      for (let cursor = ''; !leaving.signal.aborted;) {
        await untilVisible(leaving.signal);
        const next = await readFrom(cursor);
        cursor = next.cursor;
        if (next.waitMs > 0) await pause(next.waitMs, leaving.signal);
      }
    };
    void follow();
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

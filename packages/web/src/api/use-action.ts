import { useRef, useState } from 'preact/hooks';
import { isRefusal, type ApiError } from './api-error.ts';
import { call } from './call.ts';
import type { AnswerOf, EndpointName, InputOf } from './endpoint-types.ts';
import { knownError } from './use-answer.ts';

/** A change requested by a person. */
export interface Action<Name extends EndpointName> {
  /** Resolves to the answer, or to null after an error, which `error` then is. An input may throw one as a function. */
  run: (input: InputOf<Name> | (() => InputOf<Name>)) => Promise<AnswerOf<Name> | null>;
  isRunning: boolean;
  error: ApiError | null;
}

/**
 * Calls an endpoint on demand, once at a time. After a call with a possible effect the next one has the same
 * idempotency key, so nothing is created twice.
 */
export function useAction<Name extends EndpointName>(name: Name): Action<Name> {
  const [isRunning, setRunning] = useState(false);
  const [error, setError] = useState<ApiError | null>(null);
  const idempotencyKey = useRef('');
  const run: Action<Name>['run'] = async (input) => {
    if (isRunning) return null;
    setRunning(true);
    if (idempotencyKey.current === '') idempotencyKey.current = crypto.randomUUID();
    try {
      const sent = typeof input === 'function' ? input() : input;
      const answer = await call(name, sent, { idempotencyKey: idempotencyKey.current });
      idempotencyKey.current = '';
      setError(null);
      return answer;
    } catch (problem) {
      const known = knownError(problem);
      if (isRefusal(known)) idempotencyKey.current = '';
      setError(known);
      return null;
    } finally {
      setRunning(false);
    }
  };
  return { run, isRunning, error };
}

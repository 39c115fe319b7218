import { useCallback, useEffect, useState } from 'preact/hooks';
import { ApiError } from './api-error.ts';
import { call } from './call.ts';
import type { AnswerOf, EndpointName, InputOf } from './endpoints.ts';

/** An answer of the API as far as it is known. The last answer stays while the next one loads. */
export interface CurrentAnswer<Answer> {
  answer: Answer | null;
  error: ApiError | null;
  isLoading: boolean;
  reload: () => void;
}

/** Calls an endpoint when its input changes. With a null input it doesn't. */
export function useAnswer<Name extends EndpointName>(
  name: Name,
  input: InputOf<Name> | null,
): CurrentAnswer<AnswerOf<Name>> {
  const [answer, setAnswer] = useState<AnswerOf<Name> | null>(null);
  const [error, setError] = useState<ApiError | null>(null);
  const [isLoading, setLoading] = useState(input !== null);
  const [round, setRound] = useState(0);
  const key = JSON.stringify(input);
  useEffect(() => {
    if (input === null) return;
    const leaving = new AbortController();
    setLoading(true);
    call(name, input, { signal: leaving.signal })
      .then((next) => {
        setAnswer(next);
        setError(null);
        setLoading(false);
      })
      .catch((problem: unknown) => {
        if (leaving.signal.aborted) return;
        setError(knownError(problem));
        setLoading(false);
      });
    return () => leaving.abort();
    // `key` stands for the input, which is another object with each render.
  }, [name, key, round]);
  const reload = useCallback(() => setRound((last) => last + 1), []);
  return { answer, error, isLoading, reload };
}

/** Faults of the page itself are shown too, for people to report them. */
export function knownError(problem: unknown): ApiError {
  return problem instanceof ApiError ? problem : new ApiError(String(problem), { code: 'page_fault' });
}

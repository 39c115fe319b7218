import { useCallback, useEffect, useRef, useState } from 'preact/hooks';
import { ApiError } from './api-error.ts';
import { call, callAll } from './call.ts';
import type { AnswerOf, EndpointName, InputOf, ItemOf, ListName } from './endpoint-types.ts';

/** An answer of the API as far as it is known. The last answer stays while the next one loads. */
export interface CurrentAnswer<Answer> {
  answer: Answer | null;
  error: ApiError | null;
  /** False during a refresh. */
  isLoading: boolean;
  reload: () => void;
  /** Loads it again behind the back of people: nothing changes while they have a dialog open. */
  refresh: () => void;
}

/** Calls an endpoint when its input changes. With a null input it doesn't. */
export function useAnswer<Name extends EndpointName>(
  name: Name,
  input: InputOf<Name> | null,
): CurrentAnswer<AnswerOf<Name>> {
  const load = (signal: AbortSignal) => (input === null ? null : call(name, input, { signal }));
  return useLoaded(load, `${name} ${JSON.stringify(input)}`, input !== null);
}

/** All items of a list, as far as `callAll` has them. With a null input it is not called. */
export function useItems<Name extends ListName>(
  name: Name,
  input: InputOf<Name> | null,
): CurrentAnswer<ItemOf<Name>[]> {
  const load = (signal: AbortSignal) => (input === null ? null : callAll(name, input, signal));
  return useLoaded(load, `${name} ${JSON.stringify(input)}`, input !== null);
}

/** `key` names the input of `load`, which is null for none. */
function useLoaded<Answer>(
  load: (signal: AbortSignal) => Promise<Answer> | null,
  key: string,
  isCalled: boolean,
): CurrentAnswer<Answer> {
  const [answer, setAnswer] = useState<Answer | null>(null);
  const [error, setError] = useState<ApiError | null>(null);
  const [isLoading, setLoading] = useState(isCalled);
  const [round, setRound] = useState(0);
  const isRefresh = useRef(false);
  useEffect(() => {
    const isQuiet = isRefresh.current;
    isRefresh.current = false;
    const leaving = new AbortController();
    const loaded = load(leaving.signal);
    if (loaded === null) return;
    if (!isQuiet) setLoading(true);
    loaded
      .then((next) => {
        // The dialog may be about a row missing in the next answer.
        setAnswer((last) => (isQuiet && last !== null && isDialogOpen() ? last : next));
        setError(null);
        setLoading(false);
      })
      .catch((problem: unknown) => {
        if (leaving.signal.aborted) return;
        setError(knownError(problem));
        setLoading(false);
      });
    return () => leaving.abort();
    // `load` is another function with each render.
  }, [key, round]);
  const reload = useCallback(() => setRound((last) => last + 1), []);
  const refresh = useCallback(() => {
    if (document.hidden || isDialogOpen()) return;
    isRefresh.current = true;
    reload();
  }, []);
  return { answer, error, isLoading, reload, refresh };
}

function isDialogOpen(): boolean {
  return document.querySelector('dialog[open]') !== null;
}

/** Faults of the page itself are shown too, for people to report them. */
export function knownError(problem: unknown): ApiError {
  return problem instanceof ApiError ? problem : new ApiError(String(problem), { code: 'page_fault' });
}

import type { Period } from './period.ts';
import type { SummaryRequest } from './summary.ts';

/**
 * A summary has only the first groups in the order of their keys. If there may be many more, reading the rows of all of
 * them would take most of the time, so rows are read for some values of the first key after others.
 */

/** The values of the first key, in order. */
export interface FirstKeys {
  /** The number of runs of each, or an estimate: it has not more groups than runs. */
  requests: readonly number[];
  /** The request for values from one index up to another. */
  between: (from: number, to: number) => SummaryRequest;
}

export interface Weighed {
  value: string | null;
  requests: number;
}

/** Values other than times. Runs without one come last, by themselves: no range has them. */
export function firstValues(request: SummaryRequest, values: readonly Weighed[]): FirstKeys {
  return {
    requests: values.map(({ value, requests }) => (value === null ? Infinity : requests)),
    between: (from, to) => {
      const upTo = values[to - 1]?.value ?? null;
      const after = values[from - 1]?.value ?? null;
      return { ...request, firstKeys: upTo === null ? 'none' : { after, upTo } };
    },
  };
}

/** The times from `starts` on, which are in order. The first one may begin before the period. */
export function firstTimes(request: SummaryRequest, starts: readonly Date[], requests: number): FirstKeys {
  const { period } = request;
  return {
    requests: starts.map(() => requests / starts.length),
    between: (from, to) => {
      const part: Period = {
        from: from === 0 ? period.from : (starts[from] ?? period.to),
        to: starts[to] ?? period.to,
      };
      return { ...request, period: part };
    },
  };
}

/** The end of the values from `from` on with about `wanted` runs, at least one value. */
export function endOfSlice(requests: readonly number[], from: number, wanted: number): number {
  let [end, sum] = [from, 0];
  while (end < requests.length && sum < wanted) {
    const next = requests[end] ?? 0;
    if (end > from && next === Infinity) break;
    sum += next;
    end += 1;
  }
  return end;
}

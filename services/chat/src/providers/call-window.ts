import { minuteMs } from '@gatehouse/kit/bounds';
import { monotonicMs } from '@gatehouse/kit/clock';

/** From 1 ms to 70 minutes in steps of a quarter of an octave, so a quantile is right within 10 %. */
const stepsPerOctave = 4;
const buckets = 22 * stepsPerOctave + 1;

/** Durations by their size: the index of a bucket, and how many are in it. */
export type Sizes = Record<string, number>;

/** The calls of some time. Several can be added up, also those of other replicas. */
export interface CallCounts {
  calls: number;
  /** Calls with use of something unpriced. */
  unpriced: number;
  /** By their code. */
  errors: Record<string, number>;
  firstByte: Sizes;
  duration: Sizes;
  /** Tokens of answers, and the time they took. */
  outputTokens: number;
  answerMs: number;
}

export interface EndedCall {
  /** The code of its error; null for a successful or cancelled call. */
  error: string | null;
  isCancelled: boolean;
  firstByteMs: number | null;
  durationMs: number;
  /** Null for a call without a whole answer. */
  outputTokens: number | null;
}

export function noCalls(): CallCounts {
  return { calls: 0, unpriced: 0, errors: {}, firstByte: {}, duration: {}, outputTokens: 0, answerMs: 0 };
}

/** The calls of a deployment in the last ten minutes, in slots of one. */
export class CallWindow {
  readonly #now: () => number;
  readonly #slots: { number: number; counts: CallCounts }[] = [];

  constructor(now: () => number = monotonicMs) {
    this.#now = now;
  }

  ended({ error, firstByteMs, durationMs, outputTokens }: EndedCall): void {
    const { counts } = this.#slot();
    counts.calls += 1;
    if (error !== null) add(counts.errors, error, 1);
    if (firstByteMs !== null) add(counts.firstByte, bucketOf(firstByteMs), 1);
    add(counts.duration, bucketOf(durationMs), 1);
    if (outputTokens === null) return;
    counts.outputTokens += outputTokens;
    counts.answerMs += durationMs;
  }

  /** An ended call had no price. */
  unpriced(): void {
    this.#slot().counts.unpriced += 1;
  }

  get counts(): CallCounts {
    this.#dropOld();
    return sumOf(this.#slots.map(({ counts }) => counts));
  }

  #slot(): { counts: CallCounts } {
    this.#dropOld();
    const number = Math.floor(this.#now() / minuteMs);
    const last = this.#slots.at(-1);
    if (last?.number === number) return last;
    const slot = { number, counts: noCalls() };
    this.#slots.push(slot);
    return slot;
  }

  #dropOld(): void {
    const oldest = Math.floor(this.#now() / minuteMs) - 10;
    while ((this.#slots[0]?.number ?? Infinity) <= oldest) this.#slots.shift();
  }
}

export function sumOf(all: readonly CallCounts[]): CallCounts {
  const total = (countOf: (counts: CallCounts) => number): number =>
    all.reduce((sum, one) => sum + countOf(one), 0);
  return {
    calls: total(({ calls }) => calls),
    unpriced: total(({ unpriced }) => unpriced),
    errors: added(all.map(({ errors }) => errors)),
    firstByte: added(all.map(({ firstByte }) => firstByte)),
    duration: added(all.map(({ duration }) => duration)),
    outputTokens: total(({ outputTokens }) => outputTokens),
    answerMs: total(({ answerMs }) => answerMs),
  };
}

function added(all: readonly Record<string, number>[]): Record<string, number> {
  const sums: Record<string, number> = {};
  for (const one of all) for (const [name, count] of Object.entries(one)) add(sums, name, count);
  return sums;
}

/** `name`: the code of an error, or the index of a bucket. */
function add(sums: Record<string, number>, name: string | number, count: number): void {
  sums[name] = (sums[name] ?? 0) + count;
}

function bucketOf(ms: number): number {
  return Math.min(buckets - 1, Math.max(0, Math.ceil(Math.log2(Math.max(1, ms)) * stepsPerOctave)));
}

/** The duration in milliseconds not exceeded by a share of the calls; null without calls. */
export function quantile(sizes: Sizes, share: number): number | null {
  const entries = Object.entries(sizes)
    .map(([bucket, count]) => [Number(bucket), count] as const)
    .sort(([a], [b]) => a - b);
  const all = entries.reduce((sum, [, count]) => sum + count, 0);
  let seen = 0;
  for (const [bucket, count] of entries) {
    seen += count;
    if (seen >= all * share) return Math.round(2 ** (bucket / stepsPerOctave));
  }
  return null;
}

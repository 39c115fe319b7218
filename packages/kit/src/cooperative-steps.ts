import { monotonicMs } from './clock.ts';
import { smallBytes } from './json-bytes.ts';
import { runCooperatively } from './cooperative.ts';

/**
 * Work giving way to other work wherever it yields. A step takes a few milliseconds at most, and in no case over 50.
 */
export type Steps<Result> = Generator<unknown, Result>;

/** Runs a piece of work, in a turn at the event loop if it is large. */
export type InTurn = <Result>(piece: () => Result) => Promise<Result>;

/** A turn ends with the first step after so many milliseconds. */
const turnMs = 10;

/**
 * Runs pieces of work on a text, each in a turn of the tenant. The first ones of a small text run at once, until they
 * have taken the time of a turn together: a small text may need much work.
 */
export function cooperativeFor({ length }: { length: number }, tenantId: string | null): InTurn {
  let leftMs = length <= smallBytes ? turnMs : 0;
  return async (piece) => {
    if (leftMs <= 0) return runCooperatively(tenantId, piece);
    const startedAt = monotonicMs();
    try {
      return piece();
    } finally {
      leftMs -= monotonicMs() - startedAt;
    }
  };
}

/** The result of steps, taken all at once. */
export function atOnce<Result>(steps: Steps<Result>): Result {
  for (;;) {
    const step = steps.next();
    if (step.done === true) return step.value;
  }
}

/** Runs steps in as many turns as they need. A failure to get a turn is also thrown where they yielded. */
export async function runSteps<Result>(steps: Steps<Result>, inTurn: InTurn): Promise<Result> {
  try {
    for (;;) {
      const step = await inTurn(() => runForTurn(steps));
      if (step.done === true) return step.value;
    }
  } catch (error) {
    steps.throw(error);
    throw error;
  }
}

/** Takes steps for a turn, at once. Returns the last of them. */
export function runForTurn<Result>(steps: Steps<Result>): IteratorResult<unknown, Result> {
  const until = monotonicMs() + turnMs;
  for (;;) {
    const step = steps.next();
    if (step.done === true || monotonicMs() >= until) return step;
  }
}

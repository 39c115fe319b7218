import { monotonicMs } from '@gatehouse/kit/clock';
import { smallBytes } from '@gatehouse/kit/json-bytes';
import { inLoopTurn } from '@gatehouse/kit/loop-turns';

/** Work that gives way to other work wherever it yields. A step takes a few milliseconds at most, and in no case over 50. */
export type Steps<Result> = Generator<unknown, Result>;

/** Runs a piece of work, in a turn at the event loop if it is large. */
export type InTurn = <Result>(piece: () => Result) => Promise<Result>;

/** A turn ends with the first step after so many milliseconds. */
const turnMs = 10;

/** Runs pieces of work on a text: each in a turn of the tenant if it is large. */
export function turnsOf({ length }: Buffer, tenantId: string | null): InTurn {
  return async (piece) => (length <= smallBytes ? piece() : inLoopTurn(tenantId, piece));
}

/** Runs steps in as many turns as they need. */
export async function inSteps<Result>(steps: Steps<Result>, inTurn: InTurn): Promise<Result> {
  for (;;) {
    const step = await inTurn(() => stepsOfTurn(steps));
    if (step.done === true) return step.value;
  }
}

function stepsOfTurn<Result>(steps: Steps<Result>): IteratorResult<unknown, Result> {
  const until = monotonicMs() + turnMs;
  for (;;) {
    const step = steps.next();
    if (step.done === true || monotonicMs() >= until) return step;
  }
}

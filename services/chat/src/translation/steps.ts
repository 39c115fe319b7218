import { monotonicMs } from '@gatehouse/kit/clock';

/** Work that gives way to other work wherever it yields. A step takes a few milliseconds at most, and in no case over 50. */
export type Steps<Result> = Generator<unknown, Result>;

/** Runs a piece of work, in a turn at the event loop if it is large. */
export type InTurn = <Result>(piece: () => Result) => Promise<Result>;

/** A turn ends with the first step after so many milliseconds. */
const turnMs = 10;

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

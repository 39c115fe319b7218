import { expect, it } from '@jest/globals';
import { monotonicMs } from './clock.ts';
import { cooperativeFor, runSteps, type Steps } from './cooperative-steps.ts';

/** Longer than a turn. */
const longMs = 12;

function* busySteps(steps: number): Steps<number> {
  for (let step = 0; step < steps; step += 1) {
    const until = monotonicMs() + longMs;
    while (monotonicMs() < until);
    yield;
  }
  return steps;
}

/** Turns of the event loop during work. */
async function turnsDuring(work: () => Promise<unknown>): Promise<number> {
  let [turns, done] = [0, false];
  const count = (): void => {
    turns += 1;
    if (!done) setImmediate(count);
  };
  setImmediate(count);
  await work();
  done = true;
  return turns;
}

it('much work on a small text leaves turns of the event loop to others', async () => {
  const work = () => runSteps(busySteps(5), cooperativeFor({ length: 10 }, 'tenant'));
  expect(await turnsDuring(work)).toBeGreaterThanOrEqual(4);
});

it('many small texts share the time of one turn', async () => {
  const inTurn = cooperativeFor({ length: 10 }, 'tenant');
  const work = () => Promise.all(Array.from({ length: 5 }, () => runSteps(busySteps(1), inTurn)));
  expect(await turnsDuring(work)).toBeGreaterThanOrEqual(3);
});

it('little work on a small text is done at once', async () => {
  const work = () => runSteps(busySteps(0), cooperativeFor({ length: 10 }, 'tenant'));
  expect(await turnsDuring(work)).toBe(0);
});

import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { BackgroundLoop, jittered } from './background-loop.ts';
import { monotonicMs } from './clock.ts';

/** Resolves after everything that an ended loop would still do without a wait. */
async function anotherLoopHasRun(): Promise<void> {
  const ran = Promise.withResolvers<undefined>();
  const loop = new BackgroundLoop(() => {
    ran.resolve(undefined);
    return Promise.resolve(0);
  });
  loop.start(0);
  await ran.promise;
  await loop.stop();
}

describe('a background loop', () => {
  it('waits before the first round, and after each for as long as it says', async () => {
    const startedAt = monotonicMs();
    const times: number[] = [];
    const third = Promise.withResolvers<undefined>();
    const loop = new BackgroundLoop(() => {
      times.push(monotonicMs() - startedAt);
      if (times.length === 3) third.resolve(undefined);
      return Promise.resolve(times.length === 1 ? 60 : 0);
    });
    loop.start(30);
    await third.promise;
    await loop.stop();
    const [first = 0, second = 0] = times;
    // Timers may fire a millisecond early.
    expect(first).toBeGreaterThanOrEqual(29);
    expect(second - first).toBeGreaterThanOrEqual(59);
  });

  it('lets the round under way finish when it stops, and begins no other', async () => {
    const begun = Promise.withResolvers<undefined>();
    const finish = Promise.withResolvers<undefined>();
    let rounds = 0;
    const loop = new BackgroundLoop(async () => {
      rounds += 1;
      begun.resolve(undefined);
      await finish.promise;
      return 0;
    });
    loop.start(0);
    await begun.promise;
    let stopped = false;
    const stopping = loop.stop().then(() => {
      stopped = true;
    });
    expect(loop.signal.aborted).toBe(true);
    await anotherLoopHasRun();
    expect(stopped).toBe(false);
    finish.resolve(undefined);
    await stopping;
    await anotherLoopHasRun();
    expect(rounds).toBe(1);
  });

  it('stops at once while it waits, also when it has not been started', async () => {
    let rounds = 0;
    const waiting = new BackgroundLoop(() => Promise.resolve((rounds += 1)));
    waiting.start(60_000);
    await waiting.stop();
    await new BackgroundLoop(() => Promise.resolve((rounds += 1))).stop();
    expect(rounds).toBe(0);
  });
});

it('a jittered time is between half of it and all of it', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 1e9 }), (ms) => {
      expect(jittered(ms)).toBeGreaterThanOrEqual(ms / 2);
      expect(jittered(ms)).toBeLessThanOrEqual(ms);
    }),
  );
  expect(new Set(Array.from({ length: 20 }, () => jittered(1_000))).size).toBeGreaterThan(1);
});

import { describe, expect, it, jest } from '@jest/globals';
import fc from 'fast-check';
import { BackgroundLoop, jittered, PeriodicWork } from './background-loop.ts';
import { monotonicMs, sleep } from './clock.ts';
import { createLogger } from './log.ts';

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

  it('pauses after a failed round, however often it is woken', async () => {
    const reported: unknown[] = [];
    const again = Promise.withResolvers<number>();
    let failedAt = 0;
    const loop = new BackgroundLoop(
      () => {
        if (reported.length > 0) {
          again.resolve(monotonicMs() - failedAt);
          return Promise.resolve(60_000);
        }
        failedAt = monotonicMs();
        return Promise.reject(new Error('away'));
      },
      { report: (error) => reported.push(error), pauseMs: 60 },
    );
    loop.start(0);
    const waking = setInterval(() => loop.wake(), 5);
    expect(await again.promise).toBeGreaterThanOrEqual(59);
    clearInterval(waking);
    await loop.stop();
    expect(reported).toEqual([new Error('away')]);
  });

  it('ends its pause after a failed round when it stops', async () => {
    const failed = Promise.withResolvers<undefined>();
    const loop = new BackgroundLoop(() => Promise.reject(new Error('away')), {
      report: () => failed.resolve(undefined),
      pauseMs: 60_000,
    });
    loop.start(0);
    await failed.promise;
    await loop.stop();
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

  it('begins a round when it is woken, and another one when that was during a round', async () => {
    const third = Promise.withResolvers<undefined>();
    let rounds = 0;
    const loop = new BackgroundLoop(() => {
      rounds += 1;
      if (rounds === 2) loop.wake();
      if (rounds === 3) third.resolve(undefined);
      return Promise.resolve(rounds === 1 ? 0 : 60_000);
    });
    loop.start(60_000);
    loop.wake();
    await third.promise;
    await loop.stop();
    expect(rounds).toBe(3);
  });
});

describe('periodic work', () => {
  it('retries soon after a failure, which it logs, and after a round that has left a part', async () => {
    const log = createLogger('test', 'silent');
    const warned = jest.spyOn(log, 'warn');
    const third = Promise.withResolvers<undefined>();
    let rounds = 0;
    const round = (): Promise<boolean | 'retry'> => {
      rounds += 1;
      if (rounds === 3) third.resolve(undefined);
      return rounds === 1 ? Promise.reject(new Error('away')) : Promise.resolve('retry');
    };
    const work = new PeriodicWork({ task: 'sweep', log, everyMs: 60_000, retryMs: 1, round });
    work.start(0);
    await third.promise;
    await work.stop();
    expect(warned.mock.calls.map(([, message]) => message)).toEqual(['failed to sweep']);
  });

  it('logs no failure of a round that its stop has ended', async () => {
    const log = createLogger('test', 'silent');
    const warned = jest.spyOn(log, 'warn');
    const begun = Promise.withResolvers<undefined>();
    const round = async (signal: AbortSignal): Promise<boolean> => {
      begun.resolve(undefined);
      await sleep(60_000, signal);
      return false;
    };
    const work = new PeriodicWork({ task: 'sweep', log, everyMs: 0, round });
    work.start();
    await begun.promise;
    await work.stop();
    expect(warned).not.toHaveBeenCalled();
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

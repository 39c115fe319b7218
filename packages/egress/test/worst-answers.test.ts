import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { sleep } from '@gatehouse/kit/clock';
import { longestBlock } from '@gatehouse/test/longest-block';
import { WorstHost } from '@gatehouse/test/worst-host';
import { AllowList } from '../src/allow-list.ts';
import { Egress } from '../src/egress.ts';
import type { EgressError } from '../src/errors.ts';
import { Guard } from '../src/guard.ts';

const calls = 24;
const timeoutMs = 2_000;

let worst: WorstHost;
let good: WorstHost;
let egress: Egress;

beforeAll(async () => {
  [worst, good] = await Promise.all([WorstHost.start(), WorstHost.start()]);
  egress = new Egress({ guard: new Guard(new AllowList(['127.0.0.1'])) });
});

afterAll(async () => {
  await egress.stop();
  await Promise.all([worst.stop(), good.stop()]);
});

/** Calls a host; returns the bytes of its answer, or how the call failed. */
async function call(tenantId: string, host: WorstHost, name: string, ms = timeoutMs): Promise<unknown> {
  const url = new URL(host.url(name));
  const request = {
    tenantId,
    method: 'POST',
    url,
    body: Buffer.from('{}'),
    timeoutMs: ms,
    maxBytes: 2 ** 24,
  } as const;
  return egress.request(request).then(
    ({ body }) => body.length,
    (error: unknown) => (error as EgressError).failure,
  );
}

it.each([
  // That long, since reading a few megabytes of them takes time.
  ['shorter headers than a parser expects, beyond its limit', 'headers', 'too_large', 20_000],
  ['responses before the response', 'hints', 'invalid_response', 20_000],
  ['chunks of one byte', 'pieces', 'timeout', timeoutMs],
  ['a chunk whose extensions have no end', 'extensions', 'timeout', timeoutMs],
])('does not stop the process for answers of %s', async (_what, name, failure, ms) => {
  const failures = new Set<unknown>();
  const all = Array.from({ length: calls }, () => async () => failures.add(await call('a', worst, name, ms)));
  const block = await longestBlock(() => Promise.all(all.map((each) => each())));
  expect([...failures]).toEqual([failure]);
  // Before responses were read in turns: 7 s for headers, 0.15 s for hints.
  expect(block).toBeLessThan(500);
});

it.each(['headers', 'pieces'])(
  'reads the answer of another host beside many such answers: %s',
  async (name) => {
    let isOver = false;
    const attacks = Array.from({ length: 48 }, async () => {
      while (!isOver) await call('a', worst, name);
    });
    try {
      await sleep(1_000);
      // The best of five, since the machine may stall. In the order of their arrival each takes 2 s and more.
      const times: number[] = [];
      for (let count = 0; count < 5; count += 1) {
        const start = performance.now();
        expect(await call('b', good, 'good', 10 * timeoutMs)).toBe(2 ** 20);
        times.push(performance.now() - start);
      }
      expect(Math.min(...times)).toBeLessThan(1_000);
    } finally {
      isOver = true;
      await Promise.all(attacks);
    }
  },
);

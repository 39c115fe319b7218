import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { longestBlock } from '@gatehouse/test/longest-block';
import { AllowList } from '../src/allow-list.ts';
import { Egress } from '../src/egress.ts';
import type { EgressError } from '../src/errors.ts';
import { Guard } from '../src/guard.ts';

const calls = 24;

let host: Worker;
let port: number;
let egress: Egress;

beforeAll(async () => {
  host = new Worker(new URL('./worst-answers.ts', import.meta.url));
  [port] = (await once(host, 'message')) as [number];
  egress = new Egress({ guard: new Guard(new AllowList(['127.0.0.1'])) });
});

afterAll(async () => {
  await egress.stop();
  await host.terminate();
});

it.each([
  ['shorter headers than a parser expects, beyond its limit', 'headers', 'too_large'],
  ['responses before the response', 'hints', 'invalid_response'],
  ['chunks of one byte', 'pieces', 'timeout'],
  ['a chunk whose extensions have no end', 'extensions', 'timeout'],
])('does not stop the process for answers of %s', async (_what, name, failure) => {
  const failures = new Set<unknown>();
  const call = async (): Promise<void> => {
    const url = new URL(`http://127.0.0.1:${port}/${name}`);
    const body = Buffer.from('{}');
    const request = {
      tenantId: 'a',
      method: 'POST',
      url,
      body,
      timeoutMs: 2_000,
      maxBytes: 2 ** 24,
    } as const;
    await egress.request(request).catch((error: unknown) => failures.add((error as EgressError).failure));
  };
  const block = await longestBlock(() => Promise.all(Array.from({ length: calls }, call)));
  expect([...failures]).toEqual([failure]);
  // Before responses were read in turns: 7 s for headers, 0.15 s for hints.
  expect(block).toBeLessThan(500);
});

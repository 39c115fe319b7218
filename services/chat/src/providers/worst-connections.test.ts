import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { longestBlock } from '@gatehouse/test/longest-block';
import { WorstHost } from '@gatehouse/test/worst-host';
import { collect, ProviderFixture, streamCall, unaryCall } from '../../test/provider-fixture.ts';
import type { HttpAdapter } from './http-adapter.ts';
import { ProviderFailure } from './provider-failure.ts';

const calls = 24;
const callMs = 4_000;
/** The time after which clients leave answers that never end. */
const endlessMs = 1_500;

let fixture: ProviderFixture;
let host: WorstHost;
beforeAll(async () => {
  fixture = await ProviderFixture.start();
  host = await WorstHost.start();
});
afterAll(async () => {
  await fixture.stop();
  await host.stop();
});

/** How a call ends whose client leaves at the signal. */
async function ending(adapter: HttpAdapter, isStream: boolean, signal: AbortSignal): Promise<string> {
  try {
    if (isStream) return (await collect(await adapter.stream(streamCall({}, { signal })))).end;
    await adapter.complete({ ...unaryCall(), signal });
    return 'end';
  } catch (error) {
    if (error instanceof ProviderFailure) return error.kind;
    throw error;
  }
}

describe.each([
  ['a whole answer', false],
  ['a stream', true],
])('%s of a provider', (_what, isStream) => {
  it.each([
    ['shorter headers than a parser expects, beyond its limit', 'headers', ['connection']],
    ['responses before the response', 'hints', ['invalid']],
    // A frame of it has more lines than one may have.
    ['chunks of one byte', 'events', ['aborted', 'invalid']],
    ['a chunk whose extensions have no end', 'extensions', ['aborted']],
    ['trailers without an end', 'trailers', ['connection']],
  ])('with %s does not stop the process', async (_how, answer, endings) => {
    const adapter = fixture.adapter({ base_url: host.url(answer) });
    const isEndless = endings.includes('aborted');
    const call = () => ending(adapter, isStream, AbortSignal.timeout(isEndless ? endlessMs : callMs));
    const seen = new Set<string>();
    const block = await longestBlock(() =>
      Promise.all(Array.from({ length: calls }, async () => seen.add(await call()))),
    );
    // On a slow machine some clients leave first.
    expect([...endings, 'aborted']).toEqual(expect.arrayContaining([...seen]));
    expect(block).toBeLessThan(500);
  });
});

it.each(['headers', 'hints', 'events'])(
  'a provider’s answer is read beside many such answers of another: %s',
  async (answer) => {
    const worst = fixture.adapter({ base_url: host.url(answer) });
    const good = fixture.adapter();
    const over = new AbortController();
    const attacks = Array.from({ length: 48 }, async () => {
      while (!over.signal.aborted)
        await ending(worst, true, AbortSignal.any([over.signal, AbortSignal.timeout(callMs)]));
    });
    try {
      await sleep(1_000);
      const began = performance.now();
      expect(await ending(good, true, AbortSignal.timeout(callMs))).toBe('end');
      expect(performance.now() - began).toBeLessThan(1_000);
    } finally {
      over.abort();
      await Promise.all(attacks);
    }
  },
);

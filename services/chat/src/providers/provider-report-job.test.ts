import { expect, it } from '@jest/globals';
import { createLogger } from '@gatehouse/kit/log';
import { createRegistry } from '@gatehouse/kit/metrics';
import type { Pool } from '@gatehouse/pg/pool';
import { KeyRing, newKeyRing } from '@gatehouse/secrets/key-ring';
import { longestBlock } from '@gatehouse/test/longest-block';
import { Catalogue } from '../catalogue/catalogue.ts';
import { ProviderReports } from './provider-report-job.ts';
import { ProviderRegistry } from './registry.ts';

/** Durations of one call for each size in a window. */
const durations = Array.from({ length: 88 }, (_, step) => 2 ** (step / 4));

it('a report of many called deployments leaves the event loop to others, and has 1,000 of them', async () => {
  const catalogue = Catalogue.parse({
    providers: [{ name: 'acme', kind: 'openai', base_url: 'https://acme.example/v1' }],
    models: Array.from({ length: 10_000 }, (_, n) => ({ id: `m${n}`, provider: 'acme' })),
  });
  const registry = new ProviderRegistry({
    ...{ catalogue, secrets: {}, metrics: createRegistry('test') },
    keyRing: KeyRing.parse(newKeyRing('k')),
  });
  for (const model of catalogue.models.values()) {
    const { window } = registry.get(model).calls;
    const call = { error: null, isCancelled: false, outputTokens: 1 };
    for (const durationMs of durations) window.ended({ ...call, firstByteMs: durationMs, durationMs });
  }
  let report = '[]';
  const blocked = await longestBlock(async () => {
    const { promise: isWritten, resolve } = Promise.withResolvers<string>();
    const pool = { query: async (_text: string, [, json = '']: string[]) => resolve(json) };
    const log = createLogger('test', 'silent');
    const options = { registry, log, instanceId: () => 'i', pool: pool as unknown as Pool };
    const [work] = new ProviderReports(options).parts;
    work?.start(0);
    report = await isWritten;
    await work?.stop();
  }, 50);
  expect(blocked).toBeLessThan(50);
  const reported = JSON.parse(report) as { calls: { calls: number } }[];
  expect(reported).toHaveLength(1_000);
  expect(reported[0]?.calls.calls).toBe(durations.length);
  await registry.close();
});

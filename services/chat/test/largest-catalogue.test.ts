import { writeFile } from 'node:fs/promises';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { createLogger } from '@gatehouse/kit/log';
import { eventually } from '@gatehouse/test/eventually';
import { longestBlock } from '@gatehouse/test/longest-block';
import { ChatHarness } from './chat-harness.ts';

/** Ten times as long as the event loop may be held up. */
const blockMs = 500;
/** A machine may take ten times as long as this one. */
const reloadMs = 100_000;

const logged: { msg: string }[] = [];
const log = createLogger('chat', 'info', {
  write: (line) => void logged.push(JSON.parse(line) as (typeof logged)[number]),
});

let harness: ChatHarness;
beforeAll(async () => {
  harness = await ChatHarness.start({ log, catalogueEveryMs: 200 }, {}, { KEY_1: 'one', KEY_2: 'two' });
});
afterAll(() => harness.stop());

const providerCount = 1_000;
const modelCount = 10_000;
const patternCount = 100;

/** A catalogue with as many providers, models, deployments and listed names as it may have. */
function largest(timeoutMs: number): string {
  const providers = Array.from({ length: providerCount }, (_, at) => ({
    ...{ name: `p${at}`, kind: 'openai', base_url: `http://127.0.0.1:9/${at}`, timeout_ms: timeoutMs },
    keys: [{ env: 'KEY_1' }, { env: 'KEY_2' }],
  }));
  const models = Array.from({ length: modelCount }, (_, at) => ({
    deployments: [at, at + 1].map((of) => ({
      ...{ provider: `p${of % providerCount}`, upstream_model: `gpt-5-${at}` },
    })),
    ...(at < patternCount
      ? { id: `x${at}/*`, list: Array.from({ length: 1_000 }, (_listed, of) => `x${at}/${of}`) }
      : { id: `m${at}`, fallbacks: [`m${modelCount - 1}`] }),
  }));
  return JSON.stringify({ providers, models });
}

const isUsed = (times: number): Promise<void> =>
  eventually(() => {
    const read = logged.filter(({ msg }) => msg === 'read the model catalogue again');
    expect(read).toHaveLength(times);
  }, reloadMs);

it(
  'the largest catalogue is taken over in turns of the event loop, again and again',
  async () => {
    const texts = [1_000, 2_000].map(largest);
    for (const [at, text] of texts.entries()) {
      const blocked = await longestBlock(async () => {
        await writeFile(harness.modelsFile, text);
        await isUsed(at + 1);
        const list = (await (await harness.get('/v1/models')).json()) as { data: unknown[] };
        expect(list.data.length).toBeGreaterThan(modelCount / 10);
        expect(await harness.metrics()).toContain('gatehouse_catalogue_reload_failures_total');
      });
      expect(blocked).toBeLessThan(blockMs);
    }
    expect((await harness.get(`/v1/models/m${modelCount - 1}`)).status).toBe(200);
  },
  3 * reloadMs,
);

import { mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { createLogger } from '@gatehouse/kit/log';
import { newId } from '@gatehouse/kit/ids';
import { eventually } from '@gatehouse/test/eventually';
import { earlyInMinute } from '@gatehouse/test/minute';
import { chat, ChatHarness } from './chat-harness.ts';

const lines: { msg: string; problems?: string[] }[] = [];
const log = createLogger('chat', 'info', {
  write: (line) => void lines.push(JSON.parse(line) as (typeof lines)[number]),
});

let folder: string;
let file: string;
let harness: ChatHarness;
beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'gatehouse-prices-'));
  file = path.join(folder, 'prices.json');
  await put('v1', '1');
  const models = [
    { id: 'small', provider: 'simulator' },
    { id: 'any-*', provider: 'simulator' },
  ];
  harness = await ChatHarness.start(
    { log, catalogueEveryMs: 100 },
    { models, embeddings: undefined, prices: { file } },
  );
});
afterAll(async () => {
  await harness.stop();
  await rm(folder, { recursive: true });
});

/** Puts a list in place: USD per million tokens of the input, twice that for the output. */
async function put(version: string, usd: string): Promise<void> {
  const price = { input_per_mtok: usd, output_per_mtok: String(2 * Number(usd)) };
  const text = JSON.stringify({ version, prices: { simulator: { small: price, 'any-x': price } } });
  await writeFile(`${file}.new`, text);
  await rename(`${file}.new`, file);
}

async function run(tenantId: string, model = 'small') {
  const response = await harness.post('/v1/chat/completions', chat('hello', { model }), {
    principal: { tenantId },
  });
  await response.arrayBuffer();
  return harness.endedRun(response.headers.get('x-run-id'));
}

it('each run is charged by the version that its event names, also within a minute', async () => {
  const tenantId = newId();
  const usdOf: Record<string, bigint> = { v1: 1n, v2: 3n, v3: 10n };
  await earlyInMinute(30);
  expect((await run(tenantId)).price_version).toBe('v1');
  for (const version of ['v2', 'v3']) {
    await put(version, String(usdOf[version]));
    await eventually(async () => expect((await run(tenantId)).price_version).toBe(version));
    await run(tenantId, 'any-x');
  }
  const runs = await harness.endedRuns('tenant_id = $1', [tenantId]);
  expect(new Set(runs.map(({ price_version: version }) => version))).toEqual(new Set(['v1', 'v2', 'v3']));
  for (const { price_version: version, price_source: source, ...ended } of runs) {
    const tokens = BigInt(ended.input_tokens + 2 * ended.output_tokens);
    const usd = usdOf[version ?? ''] ?? 0n;
    expect([ended.cost_pico, source]).toEqual([String(tokens * usd * 1_000_000n), 'catalogue']);
    expect(ended.spans.map((span) => span.price_version)).toEqual([version]);
  }
});

it('a list with mistakes, or a missing one, leaves the one before in use and is reported', async () => {
  const tenantId = newId();
  const reports = (): string[] => lines.flatMap(({ problems = [] }) => problems);
  await put('v4', '4');
  await eventually(async () => expect((await run(tenantId)).price_version).toBe('v4'));
  await put('v5', 'five');
  const wrong = new RegExp(`^${file}: prices.simulator.small.input_per_mtok: `);
  await eventually(() => expect(reports()).toContainEqual(expect.stringMatching(wrong)));
  expect((await run(tenantId)).price_version).toBe('v4');
  await eventually(() => {
    const events = harness.alertsOf(null, 'catalogue.invalid').flatMap(({ data }) => data['problems']);
    expect(events).toContainEqual(expect.stringMatching(wrong));
  });
  await rm(file);
  await eventually(() => expect(reports()).toContain(`${file} can't be read: ENOENT`));
  expect((await run(tenantId)).price_version).toBe('v4');
  await put('v6', '6');
  await eventually(async () => expect((await run(tenantId)).price_version).toBe('v6'));
});

it('a catalogue that names another list is used together with it', async () => {
  const tenantId = newId();
  const document = JSON.parse(await readFile(harness.modelsFile, 'utf8')) as Record<string, unknown>;
  const { prices: _prices, ...others } = document;
  const other = path.join(folder, 'other.json');
  await writeFile(harness.modelsFile, JSON.stringify({ ...document, prices: { file: other } }));
  const missing = `${other} can't be read: ENOENT`;
  await eventually(() => expect(lines.flatMap(({ problems = [] }) => problems)).toContain(missing));
  expect((await run(tenantId)).price_version).toBe('v6');
  const price = { input_per_mtok: '9', output_per_mtok: '9' };
  await writeFile(other, JSON.stringify({ version: 'other', prices: { simulator: { small: price } } }));
  await writeFile(harness.modelsFile, JSON.stringify({ prices: { file: other }, ...others }));
  await eventually(async () => expect((await run(tenantId)).price_version).toBe('other'));
  await writeFile(harness.modelsFile, JSON.stringify({ ...document, prices: undefined }));
  await eventually(async () => expect((await run(tenantId)).price_version).toBeNull());
});

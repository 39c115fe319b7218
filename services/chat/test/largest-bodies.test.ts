import { readFile } from 'node:fs/promises';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { platform } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { sleep } from '@gatehouse/kit/clock';
import { newId } from '@gatehouse/kit/ids';
import { parse } from 'yaml';
import { ChatHarness } from './chat-harness.ts';
import { ChatProcess } from './chat-process.ts';
import { answers } from './translated-answers.ts';

const MiB = 1024 * 1024;
const root = path.join(import.meta.dirname, '../../..');

let harness: ChatHarness;
let provider: Server;
beforeAll(async () => {
  provider = createServer((request, response) => void answer(request, response)).listen(0, '127.0.0.1');
  await once(provider, 'listening');
  const common = {
    base_url: `http://127.0.0.1:${(provider.address() as AddressInfo).port}`,
    ...{ max_retries: 0, api_key_env: 'UNUSED' },
  };
  const catalogue = {
    providers: [
      { ...common, name: 'openai', kind: 'openai' },
      { ...common, name: 'anthropic', kind: 'anthropic' },
    ],
    models: [
      { id: 'gpt', provider: 'openai' },
      { id: 'gpt-responses', provider: 'openai', api: 'responses' },
      { id: 'claude', provider: 'anthropic', max_output_tokens: 4_096 },
    ],
    embeddings: undefined,
  };
  harness = await ChatHarness.start({}, catalogue);
  harness.takesEvents = true;
});
afterAll(async () => {
  await harness.stop();
  provider.close();
});

/** The provider thinks for two seconds, while other bodies come. */
async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
  for await (const _chunk of request);
  await sleep(2_000);
  const api = ['messages', 'responses'].find((name) => request.url?.includes(name) === true) ?? 'chat';
  const by = { messages: 'claude', responses: 'gpt-responses', chat: 'gpt' }[api] ?? '';
  response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(answers[by]));
}

/** One character outside of Latin-1 doubles the memory that V8 needs for a text. */
const text = (bytes: number): string => `東${'lorem ipsum '.repeat(Math.floor(bytes / 12))}`;
const user = (content: string): unknown[] => [{ role: 'user', content }];

/** The largest legal bodies, but for their last MiB. */
const bodies = {
  messages: (model: string) => ({ model, max_tokens: 100, messages: user(text(31 * MiB)) }),
  responses: (model: string) => ({ model, input: text(19 * MiB) }),
};

/** The memory limit of the chart in MiB, and the part of it that the image gives to V8's heap. */
async function limits(): Promise<{ limitMiB: number; heapPercentage: number }> {
  const values = parse(await readFile(path.join(root, 'charts/gatehouse/values.yaml'), 'utf8')) as {
    defaults: { resources: { limits: { memory: string } } };
    services: { chat: { resources?: { limits?: { memory?: string } } } };
  };
  const { defaults, services } = values;
  const memory = services.chat.resources?.limits?.memory ?? defaults.resources.limits.memory;
  const image = await readFile(path.join(root, 'deploy/Dockerfile'), 'utf8');
  const [, percentage] = /--max-old-space-size-percentage=(\d+)/.exec(image) ?? [];
  expect(memory).toMatch(/^\d+Mi$/);
  return { limitMiB: Number.parseInt(memory, 10), heapPercentage: Number(percentage) };
}

/** A client sends again after 429 and 503, as SDKs do. */
async function statusOf(url: string, at: string, body: string): Promise<number> {
  const principal = { tenantId: newId() };
  for (let calls = 1; ; calls += 1) {
    const response = await harness.post(at, body, { url, principal });
    await response.arrayBuffer();
    if (![429, 503].includes(response.status) || calls === 20) return response.status;
    await sleep(1_000);
  }
}

// Linux alone reports the peak of a process.
const onLinux = platform() === 'linux' ? it : it.skip;

onLinux.each<[keyof typeof bodies, string]>([
  ['messages', 'gpt'],
  ['responses', 'gpt-responses'],
  ['responses', 'claude'],
])(
  'the largest %s of eight tenants at once fit the memory limit of the chart, answered by %s',
  async (dialect, model) => {
    const limit = await limits();
    const chat = await ChatProcess.start(harness, limit);
    try {
      const body = JSON.stringify(bodies[dialect](model));
      const statuses = await Promise.all(
        Array.from({ length: 8 }, () => statusOf(chat.url, `/v1/${dialect}`, body)),
      );
      expect(statuses).toEqual(Array(8).fill(200));
      const peak = await chat.peakMiB();
      if (process.env['MEASURE']) process.stderr.write(`MEASURED ${dialect} ${model} ${peak.toFixed()}\n`);
      expect(peak).toBeLessThan(limit.limitMiB);
    } finally {
      await chat.stop();
    }
  },
);

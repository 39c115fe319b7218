import { readFile } from 'node:fs/promises';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { platform } from 'node:os';
import path from 'node:path';
import { finished } from 'node:stream/promises';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { sleep } from '@gatehouse/kit/clock';
import { newId } from '@gatehouse/kit/ids';
import { makePrincipal } from '@gatehouse/test/identity';
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
  await finished(request.resume());
  await sleep(2_000);
  const api = ['messages', 'responses'].find((name) => request.url?.includes(name) === true) ?? 'chat';
  const by = { messages: 'claude', responses: 'gpt-responses', chat: 'gpt' }[api] ?? '';
  response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(answers[by]));
}

/** One character outside of Latin-1 doubles the memory that V8 needs for a text. */
const text = (bytes: number): string => `東${'lorem ipsum '.repeat(Math.floor(bytes / 12))}`;
const user = (content: string): unknown[] => [{ role: 'user', content }];

/** The largest legal bodies, but for their last MiB. Encoded once: the test has the processor that chat needs. */
const bodies = {
  messages: (model: string) => encoded({ model, max_tokens: 100, messages: user(text(31 * MiB)) }),
  responses: (model: string) => encoded({ model, input: text(19 * MiB) }),
};
const encoded = (body: object): Buffer => Buffer.from(JSON.stringify(body));

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

let unavailable = 0;

/** A client sends again after 429 and 503, as SDKs do. */
async function answerTo(ask: () => Promise<Response>): Promise<{ status: number; start: string }> {
  for (let calls = 1; ; calls += 1) {
    const response = await ask();
    const start = Buffer.from(await response.arrayBuffer()).toString('latin1', 0, 1_000);
    if (![429, 503].includes(response.status) || calls === 20) return { status: response.status, start };
    unavailable += 1;
    await sleep(1_000);
  }
}

async function statusOf(url: string, at: string, body: Buffer): Promise<number> {
  const principal = { tenantId: newId() };
  return (await answerTo(() => harness.post(at, body, { url, principal }))).status;
}

/** The items of the input of a kept response. */
async function itemsOf(url: string, id: string, principal: { tenantId: string }): Promise<Response> {
  const assertion = await harness.identity.assertion(makePrincipal(principal));
  return fetch(`${url}/v1/responses/${id}/input_items`, { headers: { 'x-gatehouse-assertion': assertion } });
}

/** Runs work with chat in a process of its own, whose memory must stay below the limit of the chart. */
async function belowLimit(name: string, work: (url: string) => Promise<void>): Promise<void> {
  const limit = await limits();
  const chat = await ChatProcess.start(harness, limit);
  const began = performance.now();
  unavailable = 0;
  try {
    await work(chat.url);
    const peak = await chat.peakMiB();
    if (process.env['MEASURE'])
      process.stderr.write(
        `MEASURED ${name}: ${peak.toFixed()} MiB, ${((performance.now() - began) / 1000).toFixed(1)} s, ${unavailable} times 429 or 503\n`,
      );
    expect(peak).toBeLessThan(limit.limitMiB);
  } finally {
    await chat.stop();
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
  (dialect, model) =>
    belowLimit(`${dialect} ${model}`, async (url) => {
      const body = bodies[dialect](model);
      const asked = Array.from({ length: 8 }, () => statusOf(url, `/v1/${dialect}`, body));
      expect(await Promise.all(asked)).toEqual(Array(8).fill(200));
    }),
);

onLinux('the largest kept responses of eight tenants, read and gone on from at once, fit it as well', () =>
  belowLimit('kept responses', async (url) => {
    const principals = Array.from({ length: 8 }, () => ({ tenantId: newId() }));
    const body = bodies.responses('gpt-responses');
    const ids: string[] = [];
    for (const principal of principals) {
      const { start } = await answerTo(() => harness.post('/v1/responses', body, { url, principal }));
      ids.push(/"id":"(resp_\w+)"/.exec(start)?.[1] ?? '');
    }
    const all = principals.flatMap((principal, index) => {
      const id = ids[index] ?? '';
      const next = { model: 'gpt-responses', input: 'Go on.', previous_response_id: id };
      return [
        answerTo(() => itemsOf(url, id, principal)),
        answerTo(() => harness.post('/v1/responses', next, { url, principal })),
      ];
    });
    expect((await Promise.all(all)).map(({ status }) => status)).toEqual(Array(16).fill(200));
  }),
);

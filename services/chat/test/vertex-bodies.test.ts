import { generateKeyPairSync } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, beforeEach, expect, it } from '@jest/globals';
import { ChatHarness } from './chat-harness.ts';
import { ScriptedProvider, whole } from './scripted-provider.ts';

let provider: ScriptedProvider;
let issuer: ScriptedProvider;
let harness: ChatHarness;
let folder: string;

beforeAll(async () => {
  provider = await ScriptedProvider.start();
  issuer = await ScriptedProvider.start();
  folder = await mkdtemp(path.join(tmpdir(), 'vertex-'));
  const credentials_file = path.join(folder, 'account.json');
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const account = {
    ...{ type: 'service_account', client_email: 'gw@p.iam.gserviceaccount.com' },
    private_key: privateKey.export({ type: 'pkcs8', format: 'pem' }),
    token_uri: `${issuer.url}/google`,
  };
  await writeFile(credentials_file, JSON.stringify(account));
  const at = { base_url: `${provider.url}/v1`, max_retries: 0, project: 'my-project', region: 'eu' };
  harness = await ChatHarness.start(
    {},
    {
      providers: [{ ...at, name: 'vertex', kind: 'vertex', credentials_file }],
      models: [
        { id: 'claude', provider: 'vertex', api: 'messages', upstream_model: 'claude-x@20260101' },
        { id: 'tuned', provider: 'vertex', upstream_model: '1234567890', family: 'gemini-2.5-flash' },
      ],
      embeddings: undefined,
    },
  );
  issuer.answer(whole({ access_token: 'token', expires_in: 3_600, token_type: 'Bearer' }));
});
afterAll(async () => {
  await harness.stop();
  provider.stop();
  issuer.stop();
  await rm(folder, { recursive: true });
});
beforeEach(() => {
  provider.received.splice(0);
});

const messages = [{ role: 'user', content: 'hi' }];
const gemini = {
  candidates: [{ content: { role: 'model', parts: [{ text: 'Hello.' }] }, finishReason: 'STOP', index: 0 }],
  usageMetadata: { promptTokenCount: 3, candidatesTokenCount: 2, totalTokenCount: 5 },
};
const ask = (dialect: string, at: string, body: object): Promise<Response> =>
  harness.post(at, body, { headers: { 'x-gatehouse-dialect': dialect, 'anthropic-beta': 'one-1' } });
const sent = (): unknown[] => provider.received.map(({ body }) => JSON.parse(body.toString()) as unknown);

it.each([
  [{ type: 'web_search_20250305', name: 'web_search' }, true],
  [{ type: 'tool_search_tool_regex_20251119', name: 'tool_search_tool_regex' }, true],
  // No call can have it there, so that the count is the gateway's own.
  [{ type: 'code_execution_20250825', name: 'code_execution' }, false],
])('a count with %j is one of Vertex AI, without betas: %s', async (tool, isCounted) => {
  provider.answer(whole({ input_tokens: 7_777 }));
  const body = { model: 'claude', messages, tools: [tool] };
  const counted = await ask('messages', '/v1/messages/count_tokens', body);
  const { input_tokens: tokens } = (await counted.json()) as { input_tokens: number };
  expect([counted.status, tokens === 7_777]).toEqual([200, isCounted]);
  const inBody = { model: 'claude-x@20260101', anthropic_version: 'vertex-2023-10-16' };
  expect(sent()).toEqual(isCounted ? [{ ...body, ...inBody }] : []);
});

it.each([
  ['web_search_20250305', 200],
  ['custom', 400],
])('a count that Vertex AI refuses with a tool of the type %s: %s', async (type, status) => {
  const message = 'tools.0: the type is not supported here';
  provider.answer(
    whole({ type: 'error', error: { type: 'invalid_request_error', message } }, 400),
    whole({ input_tokens: 7_777 }),
  );
  const body = { model: 'claude', messages, tools: [{ type, name: 'web_search' }] };
  const counted = await ask('messages', '/v1/messages/count_tokens', body);
  expect([counted.status, counted.headers.get('x-gateway-estimated')]).toEqual([
    status,
    status === 200 ? 'true' : null,
  ]);
  // Counts without the tool stay the provider's.
  const plain = await ask('messages', '/v1/messages/count_tokens', { model: 'claude', messages });
  if (status === 200) expect(await plain.json()).toEqual({ input_tokens: 7_777 });
});

it.each([
  ['generateContent', gemini],
  ['countTokens', { totalTokens: 5 }],
])('ids of calls are left out by the family of a tuned Gemini before 3: %s', async (method, answer) => {
  const contents = (id: object) => [
    { role: 'user', parts: [{ text: 'hi' }] },
    { role: 'model', parts: [{ functionCall: { ...id, name: 'f', args: { a: 1 } } }] },
    { role: 'user', parts: [{ functionResponse: { ...id, name: 'f', response: { output: 'x' } } }] },
  ];
  provider.answer(whole(answer));
  const request = { contents: contents({ id: 'a' }) };
  const counted = { generateContentRequest: { model: 'models/tuned', ...request } };
  const body = method === 'countTokens' ? counted : request;
  expect((await ask('gemini', `/v1beta/models/tuned:${method}`, body)).status).toBe(200);
  expect(sent()).toEqual([{ contents: contents({}) }]);
  expect(provider.received[0]?.path).toContain(`/models/1234567890:${method}`);
});

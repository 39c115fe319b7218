import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { newId } from '@gatehouse/kit/ids';
import { KeyRing } from '@gatehouse/secrets/key-ring';
import { sealProviderKey } from '@gatehouse/secrets/provider-key';
import { linesOf, sdkFor, uploaded } from './batch-client.ts';
import { ChatHarness } from './chat-harness.ts';
import { answerOf, eventsOf, framesOf, messageItem } from './response-answers.ts';

/** One tenant's calls are refused in every way that a provider has; another's are made as before. */

const missingScopes = 'You have insufficient permissions for this operation. Missing scopes: model.request';
const oneHour = { 'retry-after': '3600' };
/** By name: status, body and headers of what a provider answers; `null` breaks the connection. */
const refusals: Record<string, [status: number, body: unknown, headers?: Record<string, string>] | null> = {
  '401-scopes': [401, { error: { message: missingScopes, type: 'invalid_request_error', code: null } }],
  '401-key': [401, { error: { message: 'Incorrect API key provided', code: 'invalid_api_key' } }],
  '400-key': [400, { error: { code: 400, message: 'm', details: [{ reason: 'API_KEY_INVALID' }] } }],
  '400-trigger': [400, { error: { message: "Invalid value: 'compaction_trigger'." } }],
  '402': [402, { error: { message: 'm', code: 'insufficient_quota' } }],
  '403': [403, { error: { message: 'm', code: 'insufficient_permissions' } }],
  '404': [404, { detail: 'Not Found' }],
  '405': [405, { detail: 'Method Not Allowed' }],
  '429': [429, { error: { message: 'Request too large', code: 'rate_limit_exceeded' } }, oneHour],
  '500': [500, { error: { message: 'm' } }],
  '501': [501, { error: { message: 'm' } }],
  '529': [529, { error: { message: 'm' } }, oneHour],
  odd: [200, 'no JSON'],
  broken: null,
};
const names = Object.keys(refusals);

const usage = { prompt_tokens: 1, total_tokens: 1 };
const item = { type: 'compaction', id: 'cmp_1', encrypted_content: 'enc' };
const file = { id: 'file-1', object: 'file', bytes: 1, created_at: 1, filename: 'f', purpose: 'batch' };

/** A provider of all operations that refuses those whose text says so. */
class RefusingProvider {
  readonly calls: string[] = [];
  /** The refusal of lists of files, which have no text. */
  ofFiles: string | null = null;
  readonly #server: Server = createServer((request, response) => void this.#answer(request, response));

  async start(): Promise<string> {
    this.#server.listen(0, '127.0.0.1');
    await once(this.#server, 'listening');
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  stop(): void {
    this.#server.closeAllConnections();
    this.#server.close();
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const text = Buffer.concat((await request.toArray()) as Buffer[]).toString();
    const at = `${request.method ?? ''} ${request.url ?? ''}`;
    const kind = /token$/.test(at) ? 'token' : operationOf(at, text);
    this.calls.push(kind);
    const isSummary = text.includes('Summarise this conversation');
    const named = isSummary ? undefined : /refuse with ([\w-]+)/.exec(text)?.[1];
    const name = kind === 'files' && request.method === 'GET' ? this.ofFiles : named;
    const refusal = name === undefined || name === null ? undefined : refusals[name];
    if (refusal === null) response.destroy();
    else if (refusal === undefined) answerWell(kind, response);
    else {
      const [status, body, headers] = refusal;
      const isText = typeof body === 'string';
      response.writeHead(status, { 'content-type': isText ? 'text/plain' : 'application/json', ...headers });
      response.end(isText ? body : JSON.stringify(body));
    }
  }
}

function operationOf(at: string, text: string): string {
  const [, last = ''] = /\/(\w+)(?:\?.*)?$/.exec(at) ?? [];
  if (last !== 'responses') return last;
  if (text.includes('"compaction_trigger"')) return 'trigger';
  return text.includes('"stream":true') ? 'stream' : 'responses';
}

function answerWell(kind: string, response: ServerResponse): void {
  const vector = { object: 'list', data: [{ object: 'embedding', index: 0, embedding: [0.5] }], usage };
  const answers: Record<string, object> = {
    token: { access_token: 't', expires_in: 3_600, token_type: 'Bearer' },
    input_tokens: { object: 'response.input_tokens', input_tokens: 5 },
    compact: { ...answerOf([item]), object: 'response.compaction' },
    trigger: answerOf([item]),
    embeddings: { ...vector, model: 'm' },
    files: { ...file, data: [] },
  };
  if (kind === 'stream') {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.end(framesOf(eventsOf([messageItem('hello')])).join(''));
    return;
  }
  response.writeHead(200, { 'content-type': 'application/json' });
  response.end(JSON.stringify(answers[kind] ?? answerOf([messageItem('hello')])));
}

const provider = new RefusingProvider();
let harness: ChatHarness;
let folder: string;
const kinds = ['pool', 'file', 'single', 'entra', 'own'] as const;
beforeAll(async () => {
  const url = await provider.start();
  folder = await mkdtemp(path.join(tmpdir(), 'one-tenant-'));
  const keyFile = path.join(folder, 'key');
  await writeFile(keyFile, 'sk-file');
  const common = { kind: 'openai', base_url: `${url}/v1`, max_retries: 0 };
  const entra = { tenant_id: 'contoso', client_id: 'gw', authority_url: url, client_secret_env: 'KEY' };
  const price = { input_per_mtok: '1', output_per_mtok: '2' };
  harness = await ChatHarness.start(
    {},
    {
      providers: [
        { ...common, name: 'pool', keys: [{ env: 'KEY' }] },
        { ...common, name: 'file', keys: [{ file: keyFile }] },
        { ...common, name: 'single', api_key_env: 'KEY' },
        { ...common, name: 'entra', kind: 'azure', base_url: url, entra },
        { ...common, name: 'own', keys: [{ env: 'KEY' }] },
      ],
      models: kinds.flatMap((kind) =>
        operationsAt(kind).flatMap((operation) =>
          names.flatMap((name) => [
            {
              id: modelFor(kind, operation, name),
              provider: kind,
              api: 'responses',
              reasoning: false,
              price,
            },
            { id: `${modelFor(kind, operation, name)}-plain`, provider: kind, price },
          ]),
        ),
      ),
      embeddings: undefined,
    },
    { KEY: 'sk-platform' },
  );
});
afterAll(async () => {
  await harness.stop();
  provider.stop();
  await rm(folder, { recursive: true });
});

const user = (text: string) => ({ type: 'message', role: 'user', content: text });
const trigger = { type: 'compaction_trigger' };
type Ask = (model: string, text: string) => [path: string, body: object];
/** Requests by the operation that the provider gets. */
const requests: Record<string, Ask> = {
  responses: (model, text) => ['/v1/responses', { model, input: [user(text)] }],
  stream: (model, text) => ['/v1/responses', { model, input: [user(text)], stream: true }],
  input_tokens: (model, text) => ['/v1/responses/input_tokens', { model, input: [user(text)] }],
  compact: (model, text) => ['/v1/responses/compact', { model, input: [user(text)] }],
  trigger: (model, text) => ['/v1/responses', { model, input: [user(text), trigger] }],
  embeddings: (model, text) => ['/v1/embeddings', { model: `${model}-plain`, input: text }],
};
/** Gatehouse has no files at Azure. */
const operationsAt = (kind: string): string[] => [
  ...Object.keys(requests),
  ...(kind === 'entra' ? [] : ['files']),
];

/** The operation that keys and breakers know it by. */
const scopeOf = (operation: string): string =>
  ['responses', 'stream', 'trigger'].includes(operation) ? 'chat' : operation;

/** A model of which nothing is known before. */
const modelFor = (kind: string, worst: string, name: string): string => `${kind}-${worst}-${name}`;

/** Returns the status of the answer. */
async function ask(operation: string, model: string, text: string, tenantId: string): Promise<number> {
  if (operation === 'files') {
    const line = linesOf([{ id: 'a', body: { model: `${model}-plain` } }]);
    return uploaded(sdkFor(harness, { tenantId }), line).then(
      () => 200,
      (error: unknown) => (error as { status: number }).status,
    );
  }
  const [at, body] = requests[operation]?.(model, text) ?? [];
  const response = await harness.post(at ?? '', body, {
    principal: { tenantId },
    headers: { 'x-gatehouse-dialect': at === '/v1/embeddings' ? 'chat' : 'responses' },
  });
  await response.text();
  return response.status;
}

/** A tenant, which pays itself where the kind is its own key. */
function tenantOf(kind: string): string {
  const tenantId = newId();
  if (kind !== 'own') return tenantId;
  const id = newId();
  const sealed = sealProviderKey(KeyRing.parse(harness.identity.keyRing), { tenantId, id }, 'sk-own');
  const providerKeys = [{ id, provider: 'own', models: [], userId: undefined, sealed }];
  harness.settings.set(tenantId, { providerKeys });
  return tenantId;
}

describe.each(kinds)('by the credentials "%s" of a provider', (kind) => {
  const operations = operationsAt(kind);
  it.each(operations)(
    'the worst "%s" of one tenant keeps no other from any operation, nor itself from others',
    async (worst) => {
      const one = tenantOf(kind);
      for (const [index, name] of names.entries()) {
        const model = modelFor(kind, worst, name);
        provider.ofFiles = name;
        // As many failures open a circuit.
        const times = (refusals[name]?.[0] ?? 500) >= 500 || name === 'odd' ? 10 : 1;
        await Promise.all(Array.from({ length: times }, () => ask(worst, model, `refuse with ${name}`, one)));
        provider.ofFiles = null;
        const next = operations[index % operations.length] ?? worst;
        const asked: [tenantId: string, operation: string][] = [
          [newId(), worst],
          [newId(), next],
        ];
        if (scopeOf(next) !== scopeOf(worst)) asked.push([one, next]);
        for (const [tenantId, operation] of asked) {
          provider.calls.length = 0;
          const status = await ask(operation, model, 'hi', tenantId);
          expect([name, operation, status, provider.calls[0]]).toEqual([name, operation, 200, operation]);
        }
      }
    },
  );
});

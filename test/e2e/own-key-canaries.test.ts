import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createLogger } from '@gatehouse/kit/log';
import { sleep } from '@gatehouse/kit/clock';
import { newId } from '@gatehouse/kit/ids';
import { CanaryProvider, type CanaryFault } from '@gatehouse/test/canary-provider';
import { eventually } from '@gatehouse/test/eventually';
import { TestGateway } from '@gatehouse/test/gateway';
import { OtlpReceiver } from '@gatehouse/test/otlp-receiver';
import type { Answer } from '@gatehouse/test/some-gateway';
import { columnsWith } from '@gatehouse/test/columns-with';
import type { TenantAccess } from '@gatehouse/test/tenants';

/** The keys of ten tenants, and that of the platform: none is anywhere but at the provider, and none pays for another. */

const mark = `canary-${newId()}`;
/** As long as keys of providers are: longer than a code that is passed on. */
const length = '0123456789'.repeat(13);
const platformKey = `sk-platform-${mark}-${length}`;

/** A request of a route, for a model of the provider with the same name. */
interface Ask {
  kind: 'openai' | 'anthropic' | 'google' | 'azure';
  /** Members of the model. */
  model?: Record<string, unknown>;
  path: (model: string) => string;
  body: (model: string, text: string) => object;
}

const chat =
  (fields: object = {}) =>
  (model: string, text: string) => ({
    ...{ model, max_tokens: 20, messages: [{ role: 'user', content: text }] },
    ...fields,
  });
const response =
  (fields: object = {}) =>
  (model: string, input: string) => ({ model, input, ...fields });
const gemini = (_model: string, text: string) => ({ contents: [{ role: 'user', parts: [{ text }] }] });
const at = (route: string) => () => route;
const method = (name: string) => (model: string) => `/v1beta/models/${model}:${name}`;

const asks: Record<string, Ask> = {
  chat: { kind: 'openai', path: at('/v1/chat/completions'), body: chat() },
  'chat-stream': { kind: 'openai', path: at('/v1/chat/completions'), body: chat({ stream: true }) },
  embeddings: { kind: 'openai', path: at('/v1/embeddings'), body: response() },
  responses: { kind: 'openai', model: { api: 'responses' }, path: at('/v1/responses'), body: response() },
  'responses-stream': {
    ...{ kind: 'openai', model: { api: 'responses' }, path: at('/v1/responses') },
    body: response({ stream: true }),
  },
  compact: {
    kind: 'openai',
    model: { api: 'responses' },
    path: at('/v1/responses/compact'),
    body: response(),
  },
  'input-tokens': {
    ...{ kind: 'openai', model: { api: 'responses' }, path: at('/v1/responses/input_tokens') },
    body: response(),
  },
  messages: { kind: 'anthropic', path: at('/v1/messages'), body: chat() },
  'messages-stream': { kind: 'anthropic', path: at('/v1/messages'), body: chat({ stream: true }) },
  'count-tokens': { kind: 'anthropic', path: at('/v1/messages/count_tokens'), body: chat() },
  gemini: { kind: 'google', path: method('generateContent'), body: gemini },
  'gemini-stream': { kind: 'google', path: method('streamGenerateContent'), body: gemini },
  'gemini-count': { kind: 'google', path: method('countTokens'), body: gemini },
  azure: { kind: 'azure', path: at('/openai/v1/chat/completions'), body: chat() },
  'azure-deployment': {
    ...{ kind: 'azure', body: chat() },
    path: (model) => `/openai/deployments/${model}/chat/completions`,
  },
  translated: { kind: 'openai', path: at('/v1/messages'), body: chat() },
  'translated-stream': { kind: 'anthropic', path: at('/v1/chat/completions'), body: chat({ stream: true }) },
  'message-batch': {
    ...{ kind: 'anthropic', path: at('/v1/messages/batches') },
    body: (model, text) => ({ requests: [{ custom_id: 'a', params: chat()(model, text) }] }),
  },
};

/** One for each tenant; the first has none. */
const faults: (CanaryFault | null)[] = [null, 400, 401, 403, 429, 500, 529, 'hangs', 'cuts', 'no JSON'];

let provider: CanaryProvider;
let receiver: OtlpReceiver;
let gateway: TestGateway;
let folder: string;
let logs = '';
const tenants: (TenantAccess & { name: string; text: string; fault: CanaryFault | null })[] = [];
let platformTenant: TenantAccess;
const answers: { route: string; text: string }[] = [];

beforeAll(async () => {
  provider = await CanaryProvider.start();
  receiver = await OtlpReceiver.start();
  folder = await mkdtemp(path.join(tmpdir(), 'gatehouse-canaries-'));
  const models = path.join(folder, 'models.yaml');
  await writeFile(models, JSON.stringify(catalogue()));
  const log = createLogger('chat', 'trace', { write: (line: string) => void (logs += line) });
  gateway = await TestGateway.start({
    environment: {
      ...{ GATEHOUSE_MODELS: models, PLATFORM_KEY: platformKey, EGRESS_ALLOW: '127.0.0.1' },
      ...{ OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url, OTEL_METRIC_EXPORT_INTERVAL: '200' },
    },
    chat: { log },
  });
  platformTenant = await gateway.makeTenant();
  for (const [index, fault] of faults.entries()) {
    const tenant = await gateway.makeTenant();
    tenants.push({ ...tenant, name: `tenant ${index}`, text: `sk-${index}-${mark}-${length}`, fault });
  }
});
afterAll(async () => {
  await gateway.stop();
  await receiver.stop();
  await provider.stop();
  await rm(folder, { recursive: true });
});

/** A provider and a model for each route, so that no key rests when its turn comes, and a fallback that the platform pays. */
function catalogue() {
  const own = Object.entries(asks).map(([name, { kind }]) => ({
    ...{ name, kind, base_url: provider.urlOf(name) + (kind === 'openai' ? '/v1' : '') },
    ...{ api_key_env: 'PLATFORM_KEY', timeout_ms: 5_000, idle_timeout_ms: 5_000, max_retries: 0 },
  }));
  const files = { ...{ name: 'files', kind: 'openai', base_url: `${provider.urlOf('files')}/v1` } };
  const spare = { name: 'spare', kind: 'openai', base_url: `${provider.urlOf('spare')}/v1` };
  const price = { input_per_mtok: '1', output_per_mtok: '2' };
  return {
    providers: [
      ...own,
      ...[files, spare].map((each) => ({ ...each, api_key_env: 'PLATFORM_KEY', max_retries: 0 })),
    ],
    models: [
      ...Object.entries(asks).map(([name, { model = {} }]) => ({
        ...{ id: `m-${name}`, provider: name, price, fallbacks: ['spare'], ...model },
      })),
      { id: 'm-files', provider: 'files', price },
      { id: 'spare', provider: 'spare', price },
    ],
  };
}

/** Asks as a client of a tenant, and keeps all that it got. */
async function asked(route: string, call: Parameters<TestGateway['call']>[1]): Promise<Answer> {
  const answer = await gateway.call(route, call).catch((error: unknown) => {
    // A stream that its provider cut.
    if (error instanceof TypeError) return { status: 0, headers: new Headers(), body: String(error.cause) };
    throw error;
  });
  const text = JSON.stringify([answer.status, [...answer.headers], answer.body]);
  answers.push({ route, text });
  return answer;
}

async function upload(tenant: TenantAccess, text: string): Promise<Answer> {
  const line = { custom_id: 'a', method: 'POST', url: '/v1/chat/completions', body: chat()('m-files', text) };
  const form = new FormData();
  form.append('purpose', 'batch');
  form.append('file', new File([`${JSON.stringify(line)}\n`], 'requests.jsonl'));
  const answer = await fetch(`${gateway.url}/v1/files`, {
    ...{ method: 'POST', body: form, headers: { authorization: `Bearer ${tenant.userKey}` } },
  });
  const body = (await answer.json()) as { id?: string };
  answers.push({ route: '/v1/files', text: JSON.stringify([answer.status, [...answer.headers], body]) });
  return { status: answer.status, headers: answer.headers, body };
}

/** The errors of limits that could not be checked, or leased, in time. */
const lateLease = /checked in time|tenant service did not answer in time|too little time left/;

/** Whether limits were late, on a busy machine: no request was sent to the provider. */
function isEarly({ status, body }: Answer): boolean {
  return status === 503 && lateLease.test(JSON.stringify(body));
}

/** Sends every route's request as a tenant, in every dialect. Returns the answers by the name of the request. */
async function askAll(tenant: TenantAccess, text: string): Promise<Record<string, Answer>> {
  const byName: Record<string, Answer> = {};
  const ask = async ([name, { path: pathOf, body }]: [string, Ask]): Promise<void> => {
    const send = (): Promise<Answer> =>
      asked(pathOf(`m-${name}`), {
        ...{ key: tenant.userKey, body: body(`m-${name}`, text) },
        headers: { 'anthropic-version': '2023-06-01' },
      });
    let answer = await send();
    for (let tries = 1; tries < 10 && isEarly(answer); tries += 1) answer = await send();
    byName[name] = answer;
  };
  await Promise.all(Object.entries(asks).map(ask));
  const file = await upload(tenant, text);
  byName['files'] = file;
  const { id } = file.body as { id?: string };
  if (id === undefined) return byName;
  const batch = { input_file_id: id, endpoint: '/v1/chat/completions', completion_window: '24h' };
  byName['batches'] = await asked('/v1/batches', { key: tenant.userKey, body: batch });
  byName['content'] = await asked(`/v1/files/${id}/content`, { key: tenant.userKey });
  return byName;
}

/** The names of answers other than 200, each with its status and its error. */
function failuresIn(byName: Record<string, Answer>): unknown[] {
  const failed = Object.entries(byName).filter(([, { status }]) => status !== 200);
  return failed.map(([name, { status, body }]) => [name, status, JSON.stringify(body).slice(0, 500)]);
}

async function giveKeys({ adminKey, text }: { adminKey: string; text: string }): Promise<void> {
  for (const name of [...Object.keys(asks), 'files']) {
    const { status } = await asked('/v1/provider-keys', {
      key: adminKey,
      body: { provider: name, key: text },
    });
    expect([name, status]).toEqual([name, 201]);
  }
}

describe('own keys of ten tenants', () => {
  it('pay each for its own tenant at every route, whatever fails, and the platform pays for none', async () => {
    for (const tenant of tenants) {
      await giveKeys(tenant);
      if (tenant.fault !== null) provider.faults.set(tenant.text, tenant.fault);
    }
    // A replica takes keys up within five seconds.
    await sleep(6_000);
    provider.calls.length = 0;
    const names = Object.keys(asks);
    const all: Record<string, Answer>[] = [];
    for (const tenant of tenants) all.push(await askAll(tenant, tenant.name));
    const [first = {}, ...later] = all;
    expect(failuresIn(first)).toEqual([]);
    expect(Object.keys(first).toSorted()).toEqual([...names, 'files', 'batches', 'content'].toSorted());
    const failing = later.flatMap((byName) => names.map((name) => byName[name]?.status ?? 0));
    // A stream may begin well, and counts are estimated where a provider does not answer.
    expect(failing.filter((status) => status === 200).length).toBeLessThan(failing.length / 2);
    // All of the first tenant's, and each key was refused at each of its providers.
    for (const { name, text } of tenants) {
      const own = provider.calls.filter((call) => call.key === text);
      expect(new Set(own.map((call) => call.provider)).size).toBeGreaterThanOrEqual(names.length);
      const others = own.filter(({ body }) => /tenant \d+/.test(body) && !body.includes(`"${name}"`));
      expect(others.map(({ body }) => body)).toEqual([]);
    }
    expect(provider.calls.filter(({ key }) => key === platformKey)).toEqual([]);
    expect(provider.calls.filter(({ provider: name }) => name === 'spare')).toEqual([]);
  });

  it('pay for no tenant without keys, for whom the platform pays', async () => {
    provider.calls.length = 0;
    expect(failuresIn(await askAll(platformTenant, 'platform'))).toEqual([]);
    expect(
      new Set(provider.calls.filter(({ body }) => body.includes('platform')).map(({ key }) => key)),
    ).toEqual(new Set([platformKey]));
  });

  it('are in no answer, log, trace, metric, read of an admin or an owner, transfer, or table', async () => {
    const [first, second] = tenants;
    if (first === undefined || second === undefined) throw new Error('there are ten tenants');
    await eventually(async () => {
      const followed = await gateway.call('/v1/traces/follow', { key: first.adminKey });
      expect((followed.body as { traces: unknown[] }).traces.length).toBeGreaterThan(10);
    });
    for (const { adminKey, id } of tenants) {
      const read = (route: string) => asked(route, { key: adminKey });
      const followed = await read('/v1/traces/follow');
      for (const { id: trace } of (followed.body as { traces: { id: string }[] }).traces.slice(0, 30))
        await read(`/v1/traces/${trace}`);
      for (const route of [
        'provider-keys',
        'audit-log?limit=200',
        'usage/summary',
        'costs/summary',
        'limits',
      ])
        await read(`/v1/${route}`);
      for (const route of ['costs/export', 'api-keys', 'models', 'files', 'batches', 'agents', 'whoami'])
        await read(`/v1/${route}`);
      await asked(`/internal/v1/owner/tenants/${id}`, { key: gateway.ownerKey });
    }
    for (const route of ['providers', 'models', 'system', 'tenants'])
      await asked(`/internal/v1/owner/${route}`, { key: gateway.ownerKey });
    await transfer(first, second);
    expect(answers.filter(({ text }) => text.includes(mark))).toEqual([]);
    expect(answers.length).toBeGreaterThan(400);
    for (const name of ['chat-1', 'tenant-1', 'edge-1', 'analytics-1', 'agent-1', 'memory-1', 'webhook-1'])
      expect((await gateway.metrics(name)).includes(mark)).toBe(false);
    await eventually(() => expect(receiver.spans.length).toBeGreaterThan(100));
    expect(receiver.raw.includes(mark)).toBe(false);
    expect(logs.length).toBeGreaterThan(1_000);
    expect(logs.split('\n').filter((line) => line.includes(mark))).toEqual([]);
    for (const service of ['tenant', 'agent', 'analytics', 'memory', 'webhook', 'chat'] as const) {
      const rows = (sql: string, values?: unknown[]) => gateway.rows(service, sql, values);
      expect([service, await columnsWith(rows, mark)]).toEqual([service, []]);
      // The bytes of texts that are stored as they are.
      expect([service, await columnsWith(rows, Buffer.from(mark).toString('hex'))]).toEqual([service, []]);
    }
  });
});

/** An owner copies an agent of a tenant to another one, with everything that belongs to it. */
async function transfer(from: TenantAccess, to: TenantAccess): Promise<void> {
  const made = await asked('/v1/agents', { key: from.adminKey, body: { key: 'poet', model: 'm-chat' } });
  const { id } = made.body as { id: string };
  const asOwner = { key: gateway.ownerKey };
  const base = '/v1/tenant/resource-transfers';
  const plan = { mode: 'copy', source_tenant_id: from.id, target_tenant_id: to.id };
  const resources = [{ type: 'agent', id }];
  const preview = await asked(`${base}/previews`, { ...asOwner, body: { ...plan, resources } });
  const { id: previewId } = preview.body as { id: string };
  const begun = await asked(base, { ...asOwner, body: { preview_id: previewId } });
  await eventually(async () => {
    const shown = await asked(`${base}/${(begun.body as { id: string }).id}`, asOwner);
    expect(shown.body).toMatchObject({ status: 'completed' });
  });
}

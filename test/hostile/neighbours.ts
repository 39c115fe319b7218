import { readFile, writeFile } from 'node:fs/promises';
import { request } from 'node:http';
import { join } from 'node:path';
import { sleep } from '@gatehouse/kit/clock';
import { said, TestMcpServer } from '@gatehouse/test/mcp-server';
import type { TenantAccess } from '@gatehouse/test/tenants';
import type { Instructions } from '@gatehouse/test/provider-simulator/faults';
import type { ChaosSystem } from '../chaos/chaos-system.ts';
import { question } from '../chaos/client-dialect.ts';
import { unknownKey } from '../chaos/gateway-client.ts';

/** A tenant, or somebody without a key, that attacks, and another tenant whose requests must go on. */
export interface Ground {
  chaos: ChaosSystem;
  mcp: TestMcpServer;
  attacker: TenantAccess;
  other: TenantAccess;
}

export interface Scenario {
  name: string;
  /** Prepares both sides. */
  prepare: (ground: Ground) => Promise<{
    /** One round of the attack; it is repeated. Its errors are its own. */
    attack: () => Promise<unknown>;
    /** A request of the other tenant. Throws unless it is answered as it should be. */
    ask: () => Promise<unknown>;
  }>;
}

const model = 'gpt-4.1-mini';
const messages = [{ role: 'user', content: 'Go.' }];
export const completionBody = { model, messages };

interface Sent {
  method?: string;
  key?: string;
  body?: unknown;
  statuses?: readonly number[];
}

/** Sends a request and returns the JSON of its answer. Throws for other statuses than these. */
export async function send(
  { chaos }: Ground,
  path: string,
  { key, body, method = body === undefined ? 'GET' : 'POST', statuses = [200, 201] }: Sent,
): Promise<unknown> {
  const answer = await fetch(chaos.credentials.url + path, {
    method,
    headers: {
      'content-type': 'application/json',
      // As a page of the gateway, for logins.
      origin: chaos.credentials.url,
      ...(key !== undefined && { authorization: `Bearer ${key}` }),
    },
    ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
  });
  const text = await answer.text();
  if (!statuses.includes(answer.status))
    throw new Error(`${method} ${path}: ${answer.status} ${text.slice(0, 300)}`);
  return text.startsWith('{') ? JSON.parse(text) : text;
}

export const times = <Result>(count: number, work: (index: number) => Promise<Result>): Promise<Result[]> =>
  Promise.all(Array.from({ length: count }, (_, index) => work(index)));

/** An agent of a tenant with the tools of the MCP server. */
async function agentWithTools(ground: Ground, key: string): Promise<string> {
  await send(ground, '/v1/mcp/servers', { key, body: { name: 's', url: ground.mcp.url } });
  const tools = { mcp_servers: ['s'] };
  const made = await send(ground, '/v1/agents', { key, body: { key: 'tools', model, tools } });
  return (made as { id: string }).id;
}

const turnWith = (agent: string, tool: string): object => ({
  ...{ model: `agent:${agent}`, messages },
  x_simulator: { tool_calls: [{ name: `s__${tool}`, arguments: {} }] },
});

/** A completion whose client leaves after some milliseconds. */
export function leave({ chaos }: Ground, key: string, body: object, afterMs: number): Promise<void> {
  const sent = request(`${chaos.credentials.url}/v1/chat/completions`, {
    ...{ method: 'POST', agent: false },
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
  });
  sent.on('error', () => undefined).end(JSON.stringify(body));
  return new Promise((resolve) => {
    sent.on('close', resolve);
    setTimeout(() => sent.destroy(), afterMs);
  });
}

/** Turns of an agent whose tool never answers, and whose clients leave. `tool`: the one that the other tenant calls. */
export async function cancelledToolCalls(ground: Ground, tool = 'time'): ReturnType<Scenario['prepare']> {
  const { attacker, other } = ground;
  const [slow, quick] = [
    await agentWithTools(ground, attacker.adminKey),
    await agentWithTools(ground, other.adminKey),
  ];
  return {
    attack: () => times(32, () => leave(ground, attacker.userKey, turnWith(slow, 'wait'), 400)),
    ask: () => send(ground, '/v1/chat/completions', { key: other.userKey, body: turnWith(quick, tool) }),
  };
}

/** The other tenant's completion. */
const completion =
  (ground: Ground): (() => Promise<unknown>) =>
  () =>
    send(ground, '/v1/chat/completions', { key: ground.other.userKey, body: completionBody });

/** Answers of a provider that prove nothing about a key that all tenants share. */
const refusals: Instructions[] = [
  { status: 401, error: { message: 'Missing scopes: model.request', code: null } },
  { status: 403, error: { message: 'm', code: 'insufficient_permissions' } },
  { status: 429, error: { message: 'm', code: 'rate_limit_exceeded' }, retry_after: 3_600 },
];

/** Calls of all operations of a provider, each refused in each way. */
function refusedCalls(ground: Ground): Promise<unknown> {
  const key = ground.attacker.userKey;
  const refused = { statuses: [401, 403, 429, 500, 502, 503] };
  return Promise.all(
    refusals.flatMap((provider) => [
      ground.chaos.client.complete({ key, provider }),
      ground.chaos.client.complete({ key, provider, dialect: 'responses', model: 'gpt-5.4-nano' }),
      send(ground, '/v1/embeddings', {
        ...{ key, ...refused },
        body: { model: 'text-embedding-3-small', input: 'x', x_simulator: provider },
      }),
    ]),
  );
}

/** As many rows as a tenant with many agents has in a month. */
async function fillUsage({ chaos }: Ground, tenantId: string): Promise<void> {
  await chaos.rows(
    `insert into analytics.usage_totals (tenant_id, bucket, agent_id, model, provider, channel, requests, errors,
       cancelled, input_tokens, cached_input_tokens, output_tokens, reasoning_tokens, tool_calls, timed_requests,
       duration_ms, cost_pico, unpriced_requests, estimated_requests, estimated_cost_pico)
     select $1, date_trunc('day', now()) - (n % 600) * interval '15 minutes',
       ('00000000-0000-7000-8000-' || lpad((n / 600)::text, 12, '0'))::uuid, 'm', 'p', 'api',
       1, 0, 0, 1, 0, 1, 0, 0, 1, 1, 1, 0, 0, 0
     from generate_series(1, 60000) as n`,
    [tenantId],
  );
}

export const scenarios: Scenario[] = [
  { name: 'tool calls that are left, beside tool calls', prepare: (ground) => cancelledToolCalls(ground) },
  {
    name: 'unknown keys, beside requests',
    prepare: async (ground) => ({
      attack: () => times(200, () => send(ground, '/v1/models', { key: unknownKey(), statuses: [401, 503] })),
      ask: completion(ground),
    }),
  },
  {
    name: 'summaries of a large tenant, beside the usage of another one',
    prepare: async (ground) => {
      const { attacker, other } = ground;
      await fillUsage(ground, attacker.id);
      const path = '/v1/usage/summary?group_by=agent,model,hour';
      return {
        attack: () =>
          times(16, () => send(ground, path, { key: attacker.userKey, statuses: [200, 429, 503] })),
        ask: () => send(ground, '/v1/usage/summary', { key: other.userKey }),
      };
    },
  },
  {
    name: 'logins without a key or code, beside logins of a network',
    prepare: async (ground) => {
      const { adminKey: key } = ground.other;
      // Each logs in ten times a minute at most.
      const made = await times(10, () =>
        send(ground, '/v1/api-keys', { key, body: { name: 'k', role: 'user' } }),
      );
      const keys = made.map((each) => (each as { key: string }).key);
      let next = 0;
      const guess = { grant_type: 'urn:ietf:params:oauth:grant-type:device_code', device_code: unknownKey() };
      return {
        attack: () =>
          times(64, (n) =>
            n % 2 === 0
              ? send(ground, '/login/token', { body: guess, statuses: [400, 401, 429] })
              : send(ground, '/login/key', { body: { key: unknownKey() }, statuses: [401, 429] }),
          ),
        ask: () => send(ground, '/login/key', { body: { key: keys[(next += 1) % keys.length] } }),
      };
    },
  },
  {
    name: 'the largest bodies, beside small ones',
    prepare: async (ground) => {
      const content = 'ü'.repeat(9 * 1024 * 1024);
      const body = JSON.stringify({ model, messages: [{ role: 'user', content }] });
      const key = ground.attacker.userKey;
      return {
        attack: () =>
          times(2, () =>
            send(ground, '/v1/chat/completions', { key, body, statuses: [200, 400, 413, 429, 503] }),
          ),
        ask: completion(ground),
      };
    },
  },
  {
    name: '250 references to items, beside completions',
    prepare: async (ground) => {
      const key = ground.attacker.userKey;
      const made = await times(50, () =>
        send(ground, '/v1/responses', { key, body: { model, input: 'Hi.' } }),
      );
      const ids = made.flatMap((response) =>
        (response as { output: { id: string }[] }).output.map(({ id }) => id),
      );
      const input = Array.from({ length: 250 }, (_, n) => ({
        type: 'item_reference',
        id: ids[n % ids.length],
      }));
      return {
        attack: () =>
          times(8, () =>
            send(ground, '/v1/responses', {
              key,
              body: { model, input },
              statuses: [200, 400, 404, 429, 503],
            }),
          ),
        ask: completion(ground),
      };
    },
  },
  {
    name: 'calls that the provider refuses, beside completions with the same key',
    prepare: (ground) => Promise.resolve({ attack: () => refusedCalls(ground), ask: completion(ground) }),
  },
];

/** Requests for a tier, a class of tokens and a tool of the provider that have no price. */
export const unpriced: { name: string; path: string; body: object }[] = [
  {
    ...{ name: 'a tier', path: '/v1/chat/completions' },
    body: { model, messages, service_tier: 'priority' },
  },
  {
    ...{ name: 'a cache write', path: '/v1/responses' },
    body: {
      model: 'gpt-5.4-nano',
      input: question({ usage: { prompt_tokens: 1_000, cache_write_tokens: 1_000 } }),
    },
  },
  {
    name: 'a search',
    path: '/v1/responses',
    body: { model: 'gpt-5.4-nano', input: 'Go.', tools: [{ type: 'web_search' }] },
  },
];

/** Writes the catalogue of `make up` with OpenAI's key as one that rests once it is refused, and returns its file. */
export async function modelsWithRests(folder: string): Promise<string> {
  const catalogue = await readFile(`${import.meta.dirname}/../../deploy/local/models.yaml`, 'utf8');
  const [key, keys] = ['api_key_env: OPENAI_API_KEY', 'keys: [{ env: OPENAI_API_KEY }]'];
  if (!catalogue.includes(key)) throw new Error('the catalogue has no key of OpenAI');
  const file = join(folder, 'models.yaml');
  await writeFile(file, catalogue.replace(key, keys));
  return file;
}

/** How long the tool `rest` takes, and the tool `stay`, which outlives a connection between services. */
const restMs = 4_000;
const stayMs = 40_000;

export function startMcp(): Promise<TestMcpServer> {
  return TestMcpServer.start([
    { name: 'time', run: () => said('It is noon.') },
    { name: 'rest', run: () => sleep(restMs).then(() => said('It is later.')) },
    { name: 'stay', run: () => sleep(stayMs).then(() => said('It is much later.')) },
    {
      name: 'wait',
      run: (_, signal) =>
        new Promise((resolve) => {
          signal.addEventListener('abort', () => resolve(said('It was left.')));
        }),
    },
  ]);
}

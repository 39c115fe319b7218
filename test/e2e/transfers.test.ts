import { afterAll, beforeAll, beforeEach, expect, it } from '@jest/globals';
import type { TransferPreview, WireTransfer } from '@gatehouse/contract/transfers';
import { eventually } from '@gatehouse/test/eventually';
import { newId } from '@gatehouse/kit/ids';
import { signed } from '@gatehouse/test/webhook-senders';
import { TestGateway } from '@gatehouse/test/gateway';
import { said, TestMcpServer } from '@gatehouse/test/mcp-server';
import { Receiver } from '@gatehouse/test/receiver';
import type { TenantAccess } from '@gatehouse/test/tenants';

/** Transfers between tenants, with all services. */

const transfers = '/v1/tenant/resource-transfers';
const previews = `${transfers}/previews`;
let gateway: TestGateway;
let receiver: Receiver;
let mcpServer: TestMcpServer;
let source: TenantAccess;
let target: TenantAccess;

beforeAll(async () => {
  receiver = await Receiver.start();
  mcpServer = await TestMcpServer.start([{ name: 'search', run: () => said('Found.') }]);
  gateway = await TestGateway.start({
    environment: { EGRESS_ALLOW: '127.0.0.1', PUBLIC_URL: 'http://127.0.0.1' },
  });
});
beforeEach(async () => {
  source = await gateway.makeTenant();
  target = await gateway.makeTenant();
});
afterAll(async () => {
  await gateway.stop();
  await mcpServer.stop();
  await receiver.stop();
});

async function make(path: string, body: object, { adminKey } = source): Promise<string> {
  const made = await gateway.call(path, { key: adminKey, body });
  expect(made.status).toBe(201);
  return (made.body as { id: string }).id;
}

interface Made {
  agent: string;
  server: string;
  channel: string;
  endpoint: string;
}

/** An agent with a document, a graph, a tool, a channel and an endpoint. */
async function makeAgent(key = 'clerk'): Promise<Made> {
  const server = await make('/v1/mcp/servers', { name: 'mail', url: mcpServer.url });
  const tools = { mcp_servers: ['mail/search'] };
  const agent = await make('/v1/agents', { key, model: 'small', memory: { enabled: true }, tools });
  const url = receiver.url('/');
  const channel = await make('/v1/channels/instances', {
    ...{ name: 'Desk', type: 'generic', agent_id: agent, config: { callback_url: url }, credentials: {} },
  });
  const endpoint = await make('/v1/webhooks/endpoints', { name: 'Alerts', agent_id: agent });
  const document = { key: source.adminKey, method: 'PUT', body: { text: 'The key is under the mat.' } };
  await gateway.call(`/v1/agents/${agent}/memory/documents/key.md`, document);
  const entities = [
    { external_id: 'ann', name: 'Ann', type: 'person' },
    { external_id: 'bob', name: 'Bob', type: 'person' },
  ];
  const graph = { key: source.adminKey };
  await gateway.call(`/v1/agents/${agent}/kg/entities`, { ...graph, body: { entities } });
  const relations = [{ source: 'ann', target: 'bob', type: 'knows' }];
  await gateway.call(`/v1/agents/${agent}/kg/relations`, { ...graph, body: { relations } });
  return { agent, server, channel, endpoint };
}

const all = ({ agent, server, channel, endpoint }: Made) => [
  { type: 'agent', id: agent },
  { type: 'mcp_server', id: server },
  { type: 'channel_instance', id: channel },
  { type: 'webhook_endpoint', id: endpoint },
];

async function preview(
  resources: { type: string; id: string }[],
  fields: object = {},
  key = gateway.ownerKey,
) {
  const body = {
    ...{ mode: 'copy', source_tenant_id: source.id, target_tenant_id: target.id, resources },
    ...fields,
  };
  const answer = await gateway.call(previews, { key, body });
  const { status } = answer;
  return { status, body: answer.body as TransferPreview & { error: { code: string; message: string } } };
}

it('previews an agent with everything that belongs to it', async () => {
  const made = await makeAgent();
  const { status, body } = await preview(all(made));
  expect([status, body]).toMatchObject([
    201,
    {
      resources: [
        {
          ...{ type: 'agent', name: 'clerk', action: 'copy', secrets: 'none' },
          counts: { documents: 1, passages: 1, entities: 2, relations: 1 },
        },
        { type: 'mcp_server', name: 'mail', secrets: 'none', counts: {} },
        { type: 'channel_instance', name: 'Desk', secrets: 'stay', counts: {} },
        { type: 'webhook_endpoint', name: 'Alerts', secrets: 'travel', counts: {} },
      ],
      ...{ conflicts: [], problems: [] },
    },
  ]);
  expect(
    body.dependencies.map(({ type, name, needs, included }) => [type, name, needs.name, included]),
  ).toEqual([
    ['agent', 'clerk', 'mail', true],
    ['webhook_endpoint', 'Alerts', 'clerk', true],
    ['channel_instance', 'Desk', 'clerk', true],
  ]);
  const moved = await preview(all(made), { mode: 'move', include: { memory: false } });
  expect(moved.body.resources.map(({ counts }) => counts)).toEqual([
    { entities: 2, relations: 1 },
    {},
    { conversations: 0, messages: 0 },
    { calls: 0 },
  ]);
});

it('finds what is missing, what stays behind and what the target has already', async () => {
  const made = await makeAgent();
  const [agent, server, , endpoint] = all(made);
  if (agent === undefined || server === undefined || endpoint === undefined)
    throw new Error('nothing was made');
  const lacking = [await preview([agent]), await preview([endpoint])];
  expect(lacking.map(({ body }) => body.error.code)).toEqual(['dependency_missing', 'dependency_missing']);
  expect(lacking[0]?.body.error.message).toContain(`needs the mcp server ${made.server}`);

  const moved = await preview([agent, server], { mode: 'move' });
  expect(moved.body.dependencies.filter(({ included }) => !included)).toMatchObject([
    { type: 'channel_instance', name: 'Desk', needs: { name: 'clerk' } },
    { type: 'webhook_endpoint', name: 'Alerts', needs: { name: 'clerk' } },
  ]);
  const serverAlone = await preview([server], { mode: 'move' });
  expect(serverAlone.body.dependencies).toMatchObject([{ type: 'agent', name: 'clerk', included: false }]);

  const there = await make('/v1/agents', { key: 'clerk', model: 'small' }, target);
  await make('/v1/agents', { key: 'clerk-2', model: 'small' }, target);
  const renamed = await preview([agent, server], { on_conflict: 'rename' });
  expect(renamed.body).toMatchObject({
    resources: [{ target_name: 'clerk-3' }, { target_name: 'mail' }],
    conflicts: [{ name: 'clerk', existing_id: there, resolution: 'rename' }],
  });
});

it('names the limits of the target', async () => {
  const made = await makeAgent();
  const limits = { memory: { documents: 0, entities: 1 } };
  target = await gateway.makeTenant({ limits, allowed_models: ['priced'] });
  const [agent, server] = all(made);
  const { body } = await preview([agent, server].filter((ref) => ref !== undefined));
  expect(body.problems).toEqual([
    { code: 'limit_reached', message: 'The target may have 0 documents in memory.' },
    { code: 'limit_reached', message: 'The target may have 1 entities in memory.' },
    { code: 'model_not_found', message: 'The target may not use the model small.' },
  ]);
});

it('changes with what would be transferred, and is not for the relay', async () => {
  const made = await makeAgent();
  const foreign = await preview(all(made), {}, target.adminKey);
  expect([foreign.status, foreign.body.error.code]).toEqual([403, 'role_missing']);
  const relayed = await gateway.call(`/api-docs/proxy${previews}`, { key: gateway.ownerKey, body: {} });
  expect([relayed.status, relayed.body]).toMatchObject([403, { error: { code: 'relay_forbidden' } }]);
  const revisions = async () => {
    const { body } = await preview(all(made));
    const [row] = await gateway.rows('tenant', 'select source from tenant.transfer_previews where id = $1', [
      body.id,
    ]);
    const { resources } = row?.['source'] as { resources: { revision: string }[] };
    return resources.map(({ revision }) => revision);
  };
  const before = await revisions();
  expect(await revisions()).toEqual(before);
  const patch = { key: source.adminKey, method: 'PATCH' };
  await gateway.call(`/v1/agents/${made.agent}`, { ...patch, body: { system_prompt: 'Be brief.' } });
  await gateway.call(`/v1/mcp/servers/${made.server}`, { ...patch, body: { timeout_ms: 5_000 } });
  await gateway.call(`/v1/channels/instances/${made.channel}`, { ...patch, body: { name: 'Front desk' } });
  await gateway.call(`/v1/webhooks/endpoints/${made.endpoint}`, { ...patch, body: { mode: 'async' } });
  const after = await revisions();
  expect(after.filter((revision, index) => revision === before[index])).toEqual([]);
});

type Answered = WireTransfer & { error: { code: string; message: string } };

async function begin(previewId: string, key = gateway.ownerKey): Promise<{ status: number; body: Answered }> {
  const answer = await gateway.call(transfers, { key, body: { preview_id: previewId } });
  return { status: answer.status, body: answer.body as Answered };
}

async function ended(id: string): Promise<WireTransfer> {
  return eventually(async () => {
    const answer = await gateway.call(`${transfers}/${id}`, { key: gateway.ownerKey });
    const transfer = answer.body as WireTransfer;
    expect(transfer.status).not.toBe('running');
    return transfer;
  }, 60_000);
}

/** Carries a transfer out by an owner. */
async function carryOut(
  resources: { type: string; id: string }[],
  fields: object = {},
): Promise<WireTransfer> {
  const { body } = await preview(resources, fields);
  const begun = await begin(body.id);
  expect(begun).toMatchObject({ status: 202, body: { status: 'running' } });
  return ended(begun.body.id);
}

const ask = ({ userKey }: TenantAccess, model: string, content: string) =>
  gateway.call('/v1/chat/completions', {
    key: userKey,
    body: { model, messages: [{ role: 'user', content }] },
  });

/** What a tenant has of an agent. */
async function inventory({ adminKey }: TenantAccess, agent: string) {
  const get = async (path: string) => {
    const answer = await gateway.call(path, { key: adminKey });
    return answer.status === 200 ? (answer.body as unknown) : answer.status;
  };
  return {
    agent: await get(`/v1/agents/${agent}`),
    document: await get(`/v1/agents/${agent}/memory/documents/key.md`),
    stats: await get(`/v1/agents/${agent}/memory/stats`),
    entities: await get(`/v1/agents/${agent}/kg/entities`),
    relations: await gateway
      .call(`/v1/agents/${agent}/kg/traverse`, { key: adminKey, body: { start: ['ann'] } })
      .then(({ body }) => (body as { edges?: unknown[] }).edges?.length ?? 0),
  };
}

it('copies an agent with its tools, its memory and its graph', async () => {
  const made = await makeAgent();
  const resources = all(made).slice(0, 2);
  await make('/v1/mcp/servers', { name: 'mail', url: mcpServer.url }, target);
  const before = await inventory(source, made.agent);
  const transfer = await carryOut(resources, { on_conflict: 'rename' });
  expect(transfer).toMatchObject({
    ...{ status: 'completed', phase: 'completed', mode: 'copy', error: null },
    items: [
      { type: 'agent', source_id: made.agent, action: 'copy' },
      { type: 'mcp_server', source_id: made.server, action: 'copy' },
    ],
  });
  const copy = transfer.items[0]?.target_id ?? '';
  expect(copy).not.toBe(made.agent);
  const after = await inventory(target, copy);
  expect(after.agent).toMatchObject({ key: 'clerk', tools: { mcp_servers: ['mail-2/search'] } });
  expect(after.document).toMatchObject({ path: 'key.md', text: 'The key is under the mat.' });
  expect(after.relations).toBe(1);
  expect(await inventory(source, made.agent)).toEqual(before);
  // The memory is searched, and the tool is called.
  const answer = await ask(target, 'agent:clerk', 'Where is the key? Use your tool.');
  expect(answer.status).toBe(200);
  expect(JSON.stringify(answer.body)).toContain('Found.');
  const found = await gateway.call(`/v1/agents/${copy}/memory/search`, {
    key: target.adminKey,
    body: { query: 'key mat' },
  });
  expect((found.body as { results: unknown[] }).results).toHaveLength(1);
  // Each side has its own from now on.
  await gateway.call(`/v1/agents/${copy}/memory/documents/key.md`, {
    key: target.adminKey,
    method: 'DELETE',
  });
  expect((await inventory(source, made.agent)).document).toMatchObject({ path: 'key.md' });
});

it('moves an agent with its ids, and back', async () => {
  const made = await makeAgent();
  const resources = all(made).slice(0, 2);
  const before = await inventory(source, made.agent);
  const moved = await carryOut(resources, { mode: 'move' });
  expect(moved).toMatchObject({
    status: 'completed',
    items: [{ target_id: made.agent }, { target_id: made.server }],
  });
  expect(await inventory(target, made.agent)).toEqual(before);
  expect(await inventory(source, made.agent)).toMatchObject({ agent: 404, document: 404, stats: 404 });
  expect((await ask(target, 'agent:clerk', 'Hello.')).status).toBe(200);
  expect((await ask(source, 'agent:clerk', 'Hello.')).status).toBe(404);
  const listed = await gateway.call('/v1/mcp/servers', { key: source.adminKey });
  expect((listed.body as { data: unknown[] }).data).toEqual([]);
  // Also what the source had is gone.
  await eventually(async () => {
    for (const table of ['documents', 'chunks', 'postings', 'scopes', 'graphs', 'entities', 'relations'])
      expect([
        table,
        await gateway.rows('memory', `select 1 from memory.${table} where tenant_id = $1`, [source.id]),
      ]).toEqual([table, []]);
  }, 30_000);
  [source, target] = [target, source];
  expect(await carryOut(resources, { mode: 'move' })).toMatchObject({ status: 'completed' });
  expect(await inventory(target, made.agent)).toEqual(before);
});

it('needs the consent of the target, and the preview of the source, unchanged and unused', async () => {
  const made = await makeAgent();
  const resources = all(made).slice(0, 2);
  const asked = await preview(resources, {}, source.adminKey);
  expect((await begin(asked.body.id, source.adminKey)).body.error.code).toBe('not_accepted');
  const accept = `${previews}/${asked.body.id}/accept`;
  const accepted = await gateway.call(accept, { key: target.adminKey, method: 'POST' });
  expect(accepted.status).toBe(200);
  expect((await begin(asked.body.id, target.adminKey)).body.error.code).toBe('role_missing');
  const stranger = await gateway.makeTenant();
  expect((await begin(asked.body.id, stranger.adminKey)).status).toBe(404);
  await gateway.call(`/v1/agents/${made.agent}`, {
    ...{ key: source.adminKey, method: 'PATCH' },
    body: { system_prompt: 'Be brief.' },
  });
  const stale = await begin(asked.body.id, source.adminKey);
  expect(stale.body.error).toMatchObject({ code: 'preview_stale' });
  expect(stale.body.error.message).toContain('clerk');

  const again = await preview(resources, {}, source.adminKey);
  await gateway.call(`${previews}/${again.body.id}/accept`, { key: target.adminKey, method: 'POST' });
  const begun = await begin(again.body.id, source.adminKey);
  expect(begun.status).toBe(202);
  expect((await begin(again.body.id, source.adminKey)).body.error.code).toBe('preview_used');
  expect(await ended(begun.body.id)).toMatchObject({ status: 'completed' });
  for (const { adminKey } of [source, target]) {
    const list = await gateway.call(transfers, { key: adminKey });
    expect((list.body as { data: WireTransfer[] }).data).toMatchObject([{ id: begun.body.id }]);
  }
  expect((await gateway.call(`${transfers}/${begun.body.id}`, { key: stranger.adminKey })).status).toBe(404);
  const conflict = await preview(resources);
  expect(await begin(conflict.body.id)).toMatchObject({
    ...{ status: 409, body: { error: { code: 'agent_key_taken' } } },
  });
});

it('copies channels and endpoints with their agent, the channels without their tokens', async () => {
  const made = await makeAgent();
  const secret = `whsec_${Buffer.alloc(32, 7).toString('base64')}`;
  const endpoint = await make('/v1/webhooks/endpoints', { name: 'Signed', agent_id: made.agent, secret });
  const resources = [...all(made), { type: 'webhook_endpoint', id: endpoint }];
  const { items, status } = await carryOut(resources);
  expect(status).toBe('completed');
  const idOf = (source_id: string) => items.find((item) => item.source_id === source_id)?.target_id ?? '';
  const show = async (path: string) => (await gateway.call(path, { key: target.adminKey })).body as object;
  expect(await show(`/v1/channels/instances/${idOf(made.channel)}`)).toMatchObject({
    ...{ name: 'Desk', status: 'disabled', enabled: false, agent_id: idOf(made.agent) },
    config: { callback_url: receiver.url('/') },
  });
  expect(await show(`/v1/webhooks/endpoints/${idOf(endpoint)}`)).toMatchObject({
    ...{ name: 'Signed', enabled: true, agent_id: idOf(made.agent) },
  });
  const deliver = async (to: string) => {
    const body = JSON.stringify({ input: 'Is the disk full?' });
    const headers = signed({ scheme: 'standard', secret }, body, { id: newId() });
    const answer = await fetch(`${gateway.url}/v1/webhooks/llm?endpoint=${to}`, {
      ...{ method: 'POST', body, headers: { 'content-type': 'application/json', ...headers } },
    });
    return [answer.status, ((await answer.json()) as { agent_id?: string }).agent_id];
  };
  expect(await deliver(idOf(endpoint))).toEqual([200, idOf(made.agent)]);
  expect(await deliver(endpoint)).toEqual([200, made.agent]);
  const moving = await preview(resources, { mode: 'move', on_conflict: 'rename' });
  expect(moving.body.problems).toMatchObject([{ code: 'invalid_value' }]);
  expect(await begin(moving.body.id)).toMatchObject({
    ...{ status: 400, body: { error: { code: 'invalid_value' } } },
  });
  expect((await inventory(source, made.agent)).document).toMatchObject({ path: 'key.md' });
});

it('leaves the secrets behind in a copy that a tenant makes', async () => {
  const auth = { type: 'bearer', token: 'secret' };
  const server = await make('/v1/mcp/servers', { name: 'locked', url: mcpServer.url, auth });
  const resources = [{ type: 'mcp_server', id: server }];
  const asked = await preview(resources, {}, source.adminKey);
  await gateway.call(`${previews}/${asked.body.id}/accept`, { key: target.adminKey, method: 'POST' });
  const copied = await ended((await begin(asked.body.id, source.adminKey)).body.id);
  const show = async (id: string | null | undefined) =>
    (await gateway.call(`/v1/mcp/servers/${id ?? ''}`, { key: target.adminKey })).body as object;
  expect(await show(copied.items[0]?.target_id)).toMatchObject({
    status: 'needs_auth',
    auth: { token_set: false },
  });
  const byOwner = await carryOut(resources, { on_conflict: 'rename' });
  const other = await show(byOwner.items[0]?.target_id);
  expect(other).toMatchObject({ name: 'locked-2', status: 'connected', auth: { token_set: true } });
  const refreshed = await gateway.call(`/v1/mcp/servers/${byOwner.items[0]?.target_id ?? ''}/refresh`, {
    ...{ key: target.adminKey, method: 'POST' },
  });
  expect(refreshed.status).toBe(200);
  expect(mcpServer.requests.at(-1)?.headers.authorization).toBe('Bearer secret');
});

it('keeps what it transfers as it is, and shows nothing of it before its end', async () => {
  const made = await makeAgent();
  const resources = all(made).slice(0, 2);
  const { body } = await preview(resources);
  const { begun, release } = await heldByWebhook(body.id);
  const ofSource = { key: source.adminKey };
  const changes: [string, string, object?][] = [
    ['PATCH', `/v1/agents/${made.agent}`, { name: 'Other' }],
    ['DELETE', `/v1/agents/${made.agent}`],
    ['PATCH', `/v1/mcp/servers/${made.server}`, { timeout_ms: 5_000 }],
    ['DELETE', `/v1/mcp/servers/${made.server}`],
    ['PUT', `/v1/agents/${made.agent}/memory/documents/new.md`, { text: 'New.' }],
    ['DELETE', `/v1/agents/${made.agent}/memory/documents/key.md`],
    ['POST', `/v1/agents/${made.agent}/kg/entities`, { entities: [{ name: 'Cyd', type: 'person' }] }],
  ];
  for (const [method, path, change] of changes) {
    const answer = await gateway.call(path, { ...ofSource, method, body: change });
    expect([path, answer.status, answer.body]).toMatchObject([
      path,
      409,
      { error: { code: 'resource_locked' } },
    ]);
  }
  expect((await ask(source, 'agent:clerk', 'Hello.')).status).toBe(200);
  const copy = begun.items[0]?.target_id ?? '';
  expect(await inventory(target, copy)).toMatchObject({ agent: 404, document: 404 });
  expect((await ask(target, 'agent:clerk', 'Hello.')).status).toBe(404);
  const agents = await gateway.call('/v1/agents', { key: target.adminKey });
  expect((agents.body as { data: unknown[] }).data).toEqual([]);
  const taken = await gateway.call('/v1/agents', {
    key: target.adminKey,
    body: { key: 'clerk', model: 'small' },
  });
  expect([taken.status, taken.body]).toMatchObject([409, { error: { code: 'agent_key_taken' } }]);
  const again = await preview(resources);
  expect((await begin(again.body.id)).body.error.code).toBe('resource_locked');
  await release();
  expect(await ended(begun.id)).toMatchObject({ status: 'completed' });
  expect((await inventory(target, copy)).document).toMatchObject({ path: 'key.md' });
  for (const [method, path, change] of changes.slice(0, 1))
    expect((await gateway.call(path, { ...ofSource, method, body: change })).status).toBe(200);
});

it('leaves nothing behind when it fails', async () => {
  const made = await makeAgent();
  const resources = all(made).slice(0, 2);
  const { body } = await preview(resources, { mode: 'move' });
  const { begun, release } = await heldByWebhook(body.id);
  // As if another service had refused it.
  const undo = `update tenant.transfers set phase = 'aborting', error = '{"code": "limit_reached", "message": "Full."}' where id = $1`;
  await gateway.rows('tenant', undo, [begun.id]);
  await release();
  expect(await ended(begun.id)).toMatchObject({ status: 'failed', error: { code: 'limit_reached' } });
  expect((await inventory(source, made.agent)).document).toMatchObject({ path: 'key.md' });
  const patched = await gateway.call(`/v1/agents/${made.agent}`, {
    ...{ key: source.adminKey, method: 'PATCH' },
    body: { name: 'Other' },
  });
  expect(patched.status).toBe(200);
  for (const table of ['agents', 'mcp_servers'])
    expect(
      await gateway.rows('agent', `select 1 from agent.${table} where tenant_id = $1`, [target.id]),
    ).toEqual([]);
  await eventually(async () => {
    for (const table of ['documents', 'chunks', 'postings', 'scopes', 'graphs', 'entities', 'relations'])
      expect(
        await gateway.rows('memory', `select 1 from memory.${table} where tenant_id = $1`, [target.id]),
      ).toEqual([]);
  }, 30_000);
  // What is undone can be done again.
  expect(await carryOut(resources, { mode: 'move' })).toMatchObject({ status: 'completed' });
  expect((await inventory(target, made.agent)).document).toMatchObject({ path: 'key.md' });
});

/** Begins a transfer that webhook holds up until `release`, when the other services have locked what they have of it. */
async function heldByWebhook(previewId: string) {
  const flag = `release_${newId().replaceAll('-', '')}`;
  const held = gateway.rows(
    'webhook',
    `do $$ begin
       lock table webhook.transfers in exclusive mode;
       while not exists (select from pg_class where relname = '${flag}') loop perform pg_sleep(0.02); end loop;
     end $$`,
  );
  const { body } = await begin(previewId);
  await eventually(async () => {
    const waiting = 'select 1 from pg_locks where not granted and relation = to_regclass($1)';
    expect(await gateway.rows('webhook', waiting, ['webhook.transfers'])).not.toEqual([]);
  }, 20_000);
  const release = async () => {
    await gateway.rows('webhook', `create table public.${flag} ()`);
    await held;
  };
  return { begun: body, release };
}

import { afterAll, beforeAll, beforeEach, expect, it } from '@jest/globals';
import type { WireTransfer } from '@gatehouse/contract/transfers';
import { newId } from '@gatehouse/kit/ids';
import { eventually } from '@gatehouse/test/eventually';
import { signed } from '@gatehouse/test/webhook-senders';
import {
  all,
  ask,
  begin,
  carryOut,
  ended,
  gateway,
  heldByWebhook,
  inventory,
  make,
  makeAgent,
  mcpServer,
  newTenants,
  preview,
  previews,
  receiver,
  source,
  startGround,
  stopGround,
  swap,
  target,
  transfers,
} from './transfer-ground.ts';

/** Transfers between tenants, with all services. */

beforeAll(startGround);
beforeEach(newTenants);
afterAll(stopGround);

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
  const moved = await carryOut(resources, { mode: 'move' }, { hurries: false });
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
  });
  swap();
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
  const patch = (path: string, body: object) =>
    gateway.call(path, { method: 'PATCH', key: source.adminKey, body });
  await patch(`/v1/webhooks/endpoints/${endpoint}`, { callback_secret: secret });
  await patch(`/v1/channels/instances/${made.channel}`, { credentials: { secret }, overlap_seconds: 3_600 });
  const { items, status } = await carryOut(resources);
  expect(status).toBe('completed');
  // Replaced secrets stay with the source.
  const kept = `select count(*)::integer as kept from (
    select tenant_id from webhook.endpoints where previous_callback_secret is not null
    union all select tenant_id from webhook.channel_instances where previous_credentials is not null) as old
    where tenant_id = $1`;
  expect(await gateway.rows('webhook', kept, [source.id])).toEqual([{ kept: 2 }]);
  expect(await gateway.rows('webhook', kept, [target.id])).toEqual([{ kept: 0 }]);
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
});

it('copies where answers of endpoints go as far as the channels are copied', async () => {
  const made = await makeAgent();
  const config = { callback_url: receiver.url('/') };
  const other = await make('/v1/channels/instances', {
    ...{ name: 'Other', type: 'generic', agent_id: made.agent, config, credentials: {} },
  });
  const endpointFor = (channel: string) =>
    make('/v1/webhooks/endpoints', {
      ...{ name: 'Alerts', agent_id: made.agent },
      deliver_to: { channel_instance_id: channel, conversation: 'ops' },
    });
  const endpoints = [await endpointFor(made.channel), await endpointFor(other)];
  const { items, status } = await carryOut([
    ...all(made),
    ...endpoints.map((id) => ({ type: 'webhook_endpoint', id })),
  ]);
  expect(status).toBe('completed');
  const idOf = (source_id: string) => items.find((item) => item.source_id === source_id)?.target_id ?? '';
  const settings = await Promise.all(
    endpoints.map(async (id) => {
      const path = `/v1/webhooks/endpoints/${idOf(id)}`;
      const shown = await gateway.call(path, { key: target.adminKey });
      return (shown.body as { deliver_to: object | null }).deliver_to;
    }),
  );
  expect(settings).toEqual([{ channel_instance_id: idOf(made.channel), conversation: 'ops' }, null]);
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
  });
  // An undone transfer can be done again.
  expect(await carryOut(resources, { mode: 'move' })).toMatchObject({ status: 'completed' });
  expect((await inventory(target, made.agent)).document).toMatchObject({ path: 'key.md' });
});

it('deletes the data of a user also in the target, when that was requested meanwhile', async () => {
  const made = await makeAgent();
  const as = (user: string, key: string) => ({ key, headers: { 'x-service-user-id': user } });
  const seat = (agent: string) => `/v1/agents/${agent}/memory/documents/seat.md`;
  const graph = (agent: string) => `/v1/agents/${agent}/kg/entities`;
  for (const user of ['ann', 'bob']) {
    const by = as(user, source.adminKey);
    await gateway.call(seat(made.agent), { ...by, method: 'PUT', body: { text: 'At the window.' } });
    const entities = [{ external_id: user, name: user, type: 'seat', scope: 'user' }];
    await gateway.call(graph(made.agent), { ...by, body: { entities } });
  }
  const { body } = await preview(all(made).slice(0, 2));
  const { begun, release } = await heldByWebhook(body.id);
  await gateway.call('/v1/users/ann/data', { key: source.adminKey, method: 'DELETE' });
  const noted = 'select 1 from memory.deleted_users where tenant_id = $1';
  await eventually(async () => expect(await gateway.rows('memory', noted, [source.id])).toHaveLength(1));
  await release();
  expect(await ended(begun.id)).toMatchObject({ status: 'completed' });
  const copy = begun.items[0]?.target_id ?? '';
  const seen = async (user: string) => {
    const found = await gateway.call(seat(copy), as(user, target.adminKey));
    const rows = 'select 1 from memory.graphs where tenant_id = $1 and user_id = $2';
    return [found.status, (await gateway.rows('memory', rows, [target.id, user])).length];
  };
  expect(await seen('ann')).toEqual([404, 0]);
  expect(await seen('bob')).toEqual([200, 1]);
});

it('uses what the target has in place of what is skipped, and keeps it until its end', async () => {
  const made = await makeAgent();
  const own = await make('/v1/mcp/servers', { name: 'mail', url: mcpServer.url }, target);
  const { body } = await preview(all(made).slice(0, 2), { on_conflict: 'skip' });
  expect(body.resources.map(({ action }) => action)).toEqual(['copy', 'skip']);
  const { begun, release } = await heldByWebhook(body.id);
  const remove = { key: target.adminKey, method: 'DELETE' };
  const refused = await gateway.call(`/v1/mcp/servers/${own}`, remove);
  expect([refused.status, refused.body]).toMatchObject([409, { error: { code: 'resource_locked' } }]);
  await release();
  expect(await ended(begun.id)).toMatchObject({
    status: 'completed',
    items: [{ action: 'copy' }, { action: 'skip', source_id: made.server, target_id: own }],
  });
  expect((await ask(target, 'agent:clerk', 'Use your tool.')).status).toBe(200);
  const changed = await gateway.call(`/v1/mcp/servers/${own}`, {
    ...{ key: target.adminKey, method: 'PATCH', body: { timeout_ms: 5_000 } },
  });
  expect(changed.status).toBe(200);
});

it('brings what only JSON can hold, and what has changed in the list of tools meanwhile', async () => {
  const made = await makeAgent();
  const metadata = { odd: 'a\u0000b\ud800c' };
  const patch = { key: source.adminKey, method: 'PATCH' };
  const patched = await gateway.call(`/v1/agents/${made.agent}`, { ...patch, body: { metadata } });
  expect(patched.status).toBe(200);
  const graph = `/v1/agents/${made.agent}/kg/entities`;
  const entities = [{ external_id: 'odd', name: 'Odd', type: 'thing', properties: metadata }];
  expect((await gateway.call(graph, { key: source.adminKey, body: { entities } })).status).toBe(200);
  const { body } = await preview(all(made).slice(0, 2), { mode: 'move' });
  expect(body.problems).toEqual([]);
  const { begun, release } = await heldByWebhook(body.id);
  const odd = JSON.stringify([
    { name: 'search', description: 'x\u0000\ud800y', inputSchema: { type: 'object' } },
  ]);
  await gateway.rows('agent', 'update agent.mcp_servers set tools = $2::json where id = $1', [
    made.server,
    odd,
  ]);
  await release();
  expect(await ended(begun.id)).toMatchObject({ status: 'completed', error: null });
  const shown = await gateway.call(`/v1/agents/${made.agent}`, { key: target.adminKey });
  expect(shown.body).toMatchObject({ metadata });
  const found = await gateway.call(`${graph}?q=Odd`, { key: target.adminKey });
  expect(found.body).toMatchObject({ data: [{ properties: metadata }] });
});

it('gives a copy no tools of a server that only the target has', async () => {
  const tools = { mcp_servers: ['mail/search'] };
  const missing = { allow_missing: true };
  const agent = await make('/v1/agents', { key: 'clerk', model: 'small', tools, ...missing });
  await make('/v1/mcp/servers', { name: 'mail', url: mcpServer.url }, target);
  const [item] = (await carryOut([{ type: 'agent', id: agent }])).items;
  const copy = await gateway.call(`/v1/agents/${item?.target_id ?? ''}`, { key: target.adminKey });
  expect((copy.body as { tools: { mcp_servers: string[] } }).tools.mcp_servers).toEqual([]);
});

it('is undone at once when a secret can no longer be decrypted', async () => {
  const made = await makeAgent();
  await gateway.rows('webhook', `update webhook.endpoints set secret = '\\x00' where id = $1`, [
    made.endpoint,
  ]);
  expect(await carryOut(all(made), { mode: 'move' })).toMatchObject({
    ...{ status: 'failed', error: { code: 'secret_unreadable' } },
  });
  expect((await ask(source, 'agent:clerk', 'Hello.')).status).toBe(200);
});

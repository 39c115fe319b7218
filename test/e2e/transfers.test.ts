import { afterAll, beforeAll, beforeEach, expect, it } from '@jest/globals';
import type { TransferPreview } from '@gatehouse/contract/transfers';
import { TestGateway } from '@gatehouse/test/gateway';
import { said, TestMcpServer } from '@gatehouse/test/mcp-server';
import { Receiver } from '@gatehouse/test/receiver';
import type { TenantAccess } from '@gatehouse/test/tenants';

/** Transfers between tenants, with all services. */

const previews = '/v1/tenant/resource-transfers/previews';
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

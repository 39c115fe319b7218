import { expect } from '@jest/globals';
import type { TransferPreview, WireTransfer } from '@gatehouse/contract/transfers';
import { newId } from '@gatehouse/kit/ids';
import { lockWaits } from '@gatehouse/test/lock-waits';
import { eventually } from '@gatehouse/test/eventually';
import { TestGateway } from '@gatehouse/test/gateway';
import { said, TestMcpServer } from '@gatehouse/test/mcp-server';
import { Receiver } from '@gatehouse/test/receiver';
import type { TenantAccess } from '@gatehouse/test/tenants';

/** Two tenants and what is transferred between them, for the tests of transfers with all services. */

export const transfers = '/v1/tenant/resource-transfers';
export const previews = `${transfers}/previews`;
export let gateway: TestGateway;
export let receiver: Receiver;
export let mcpServer: TestMcpServer;
export let source: TenantAccess;
export let target: TenantAccess;

export async function startGround(): Promise<void> {
  receiver = await Receiver.start();
  mcpServer = await TestMcpServer.start([{ name: 'search', run: () => said('Found.') }]);
  gateway = await TestGateway.start({
    environment: { EGRESS_ALLOW: '127.0.0.1', PUBLIC_URL: 'http://127.0.0.1' },
  });
}

export async function newTenants(): Promise<void> {
  source = await gateway.makeTenant();
  target = await gateway.makeTenant();
}

export function useAsTarget(tenant: TenantAccess): void {
  target = tenant;
}

/** Makes the target the source from now on, and the source the target. */
export function swap(): void {
  [source, target] = [target, source];
}

export async function stopGround(): Promise<void> {
  await gateway.stop();
  await mcpServer.stop();
  await receiver.stop();
}

export async function make(path: string, body: object, { adminKey } = source): Promise<string> {
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
export async function makeAgent(key = 'clerk'): Promise<Made> {
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

export const all = ({ agent, server, channel, endpoint }: Made) => [
  { type: 'agent', id: agent },
  { type: 'mcp_server', id: server },
  { type: 'channel_instance', id: channel },
  { type: 'webhook_endpoint', id: endpoint },
];

export async function preview(
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

type Answered = WireTransfer & { error: { code: string; message: string } };

export async function begin(
  previewId: string,
  key = gateway.ownerKey,
): Promise<{ status: number; body: Answered }> {
  const answer = await gateway.call(transfers, { key, body: { preview_id: previewId } });
  return { status: answer.status, body: answer.body as Answered };
}

/** Ends the 6 s for which a move waits once its agents are closed, because of requests that were accepted before. */
const hurry = `update tenant.transfers set phase_at = phase_at - interval '10 s'
  where id = $1 and phase = 'closing' and phase_at > now() - interval '6 s'`;

interface Ending {
  /** False where requests are under way, or where other services must have noticed by the end: they cache agents for 2 s. */
  hurries?: boolean;
}

export async function ended(id: string, { hurries = true }: Ending = {}): Promise<WireTransfer> {
  const look = async () => {
    if (hurries) await gateway.rows('tenant', hurry, [id]);
    const answer = await gateway.call(`${transfers}/${id}`, { key: gateway.ownerKey });
    const transfer = answer.body as WireTransfer;
    expect(transfer.status).not.toBe('running');
    return transfer;
  };
  return eventually(look, 90_000, 100);
}

/** Carries a transfer out by an owner. */
export async function carryOut(
  resources: { type: string; id: string }[],
  fields: object = {},
  ending: Ending = {},
): Promise<WireTransfer> {
  const { body } = await preview(resources, fields);
  const begun = await begin(body.id);
  expect(begun).toMatchObject({ status: 202, body: { status: 'running' } });
  return ended(begun.body.id, ending);
}

export const ask = ({ userKey }: TenantAccess, model: string, content: string) =>
  gateway.call('/v1/chat/completions', {
    key: userKey,
    body: { model, messages: [{ role: 'user', content }] },
  });

/** Everything of an agent that a tenant has. */
export async function inventory({ adminKey }: TenantAccess, agent: string) {
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

/** Begins a transfer that webhook holds up until `release`, when the other services have locked what they have of it. */
export async function heldByWebhook(previewId: string) {
  const release = holdWebhook();
  const { body } = await begin(previewId);
  await eventually(async () => {
    const waiting = `select 1 from ${lockWaits} where relation = to_regclass($1)`;
    expect(await gateway.rows('webhook', waiting, ['webhook.transfers'])).not.toEqual([]);
  });
  return { begun: body, release };
}

/** Lets webhook carry out no step of a transfer until the function is called that it returns. */
export function holdWebhook(): () => Promise<void> {
  const flag = `release_${newId().replaceAll('-', '')}`;
  const held = gateway.rows(
    'webhook',
    `do $$ begin
       lock table webhook.transfers in exclusive mode;
       while not exists (select from pg_class where relname = '${flag}') loop perform pg_sleep(0.02); end loop;
     end $$`,
  );
  return async () => {
    await gateway.rows('webhook', `create table public.${flag} ()`);
    await held;
  };
}

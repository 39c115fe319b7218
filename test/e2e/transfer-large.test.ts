import { afterAll, beforeAll, expect, it } from '@jest/globals';
import type { TransferPreview } from '@gatehouse/contract/transfers';
import { newId } from '@gatehouse/kit/ids';
import { AuthorizationServer } from '@gatehouse/test/authorization-server';
import { eventually } from '@gatehouse/test/eventually';
import { said, TestMcpServer } from '@gatehouse/test/mcp-server';
import { personConsents } from '@gatehouse/test/person-consent';
import type { TenantAccess } from '@gatehouse/test/tenants';
import { signed } from '@gatehouse/test/webhook-senders';
import {
  ask,
  begin,
  ended,
  gateway,
  make,
  mcpServer,
  newTenants,
  preview,
  receiver,
  source,
  startGround,
  stopGround,
  swap,
  target,
} from './transfer-ground.ts';

/** An agent with all that one can have, copied and moved. */

const documents = 10;
const passagesEach = 1_000;
const relations = 5_000;
const question = 'Where is the lighthouse?';

let login: AuthorizationServer;
let calendar: TestMcpServer;
let agent: string;
let resources: { type: string; id: string }[];

beforeAll(async () => {
  await startGround();
  await newTenants();
  calendar = await TestMcpServer.start([{ name: 'today', run: () => said('Two letters.') }]);
  login = await AuthorizationServer.start();
  login.protect(calendar);
  const mail = await make('/v1/mcp/servers', { name: 'mail', url: mcpServer.url });
  const dates = await make('/v1/mcp/servers', {
    ...{ name: 'dates', url: calendar.url, auth: { type: 'oauth', per_user: true } },
  });
  await consent();
  agent = await make('/v1/agents', {
    ...{ key: 'clerk', model: 'small', memory: { enabled: true } },
    tools: { mcp_servers: ['mail/search', 'dates'] },
  });
  await remember();
  const channel = await withSecret('/v1/channels/instances', {
    ...{ name: 'Desk', type: 'generic', agent_id: agent, config: { callback_url: receiver.url('/replies') } },
    credentials: {},
  });
  const endpoint = await withSecret('/v1/webhooks/endpoints', { name: 'Alerts', agent_id: agent });
  const message = { message_id: newId(), conversation_id: 'ann', user: { id: 'ann' }, text: 'Hello.' };
  await send(`/v1/webhooks/message?channel=${channel.id}`, channel.secret, message);
  for (const mode of ['sync', 'async'])
    await send(`/v1/webhooks/llm?endpoint=${endpoint.id}`, endpoint.secret, { input: 'Hello.', mode });
  await eventually(async () => {
    const open = `select 1 from webhook.calls where finished_at is null
      union all select 1 from webhook.channel_messages where status in ('received', 'queued')`;
    expect(await gateway.rows('webhook', open)).toEqual([]);
    expect(receiver.at('/replies')).toHaveLength(1);
  });
  resources = [
    { type: 'agent', id: agent },
    { type: 'mcp_server', id: mail },
    { type: 'mcp_server', id: dates },
    { type: 'channel_instance', id: channel.id },
    { type: 'webhook_endpoint', id: endpoint.id },
  ];
}, 240_000);
afterAll(async () => {
  await login.stop();
  await calendar.stop();
  await stopGround();
});

async function withSecret(path: string, body: object): Promise<{ id: string; secret: string }> {
  const made = await gateway.call(path, { key: source.adminKey, body });
  expect(made.status).toBe(201);
  return made.body as { id: string; secret: string };
}

async function send(path: string, secret: string, content: object): Promise<void> {
  const [id, body] = [newId(), JSON.stringify(content)];
  const headers = signed({ scheme: 'standard', secret }, body, { id });
  const answer = await fetch(gateway.url + path, {
    ...{ method: 'POST', body, headers: { 'content-type': 'application/json', ...headers } },
  });
  expect([200, 202]).toContain(answer.status);
}

/** The user ann logs in at the server of dates. */
async function consent(): Promise<void> {
  const link = '/v1/mcp/servers/dates/consent-links';
  const headers = { 'x-service-user-id': 'ann' };
  const made = await gateway.call(link, { method: 'POST', key: source.userKey, headers });
  const { url: page } = made.body as { url: string };
  await personConsents({ url: gateway.url, link: page, login, user: 'ann at dates' });
}

async function remember(): Promise<void> {
  const of = `/v1/agents/${agent}`;
  const call = async (method: string, path: string, body: object): Promise<void> => {
    const answer = await gateway.call(of + path, { key: source.adminKey, method, body });
    expect([path, answer.status]).toEqual([path, expect.any(Number)]);
    expect([200, 201]).toContain(answer.status);
  };
  for (let number = 0; number < documents; number += 1) {
    const text = Array.from(
      { length: passagesEach },
      (_, place) => `## Part ${place}\n\n${`House ${number} has room ${place}. `.repeat(34)}`,
    );
    await call('PUT', `/memory/documents/house-${number}.md`, { text: text.join('\n\n') });
  }
  await call('PUT', '/memory/documents/light.md', { text: 'The lighthouse is on the cliff.' });
  const names = Array.from({ length: 101 }, (_, number) => `person-${number}`);
  const entities = names.map((name) => ({ external_id: name, name, type: 'person' }));
  await call('POST', '/kg/entities', { entities });
  for (let from = 0; from < relations / 100; from += 1) {
    const known = names.filter((name) => name !== `person-${from}`);
    const made = known.map((name) => ({ source: `person-${from}`, target: name, type: 'knows' }));
    await call('POST', '/kg/relations', { relations: made });
  }
}

const countsOf = ({ resources: of }: TransferPreview) =>
  of.map(({ type, name, counts }) => ({ type, name, counts }));

/** Its memory and its tool are used. */
async function expectAnswer(tenant: TenantAccess, id: string): Promise<void> {
  const answer = await ask(tenant, 'agent:clerk', `${question} Use your tool.`);
  expect(answer.status).toBe(200);
  const found = await gateway.call(`/v1/agents/${id}/memory/search`, {
    ...{ key: tenant.adminKey, body: { query: question, limit: 1 } },
  });
  expect((found.body as { results: { text: string }[] }).results).toMatchObject([
    { text: 'The lighthouse is on the cliff.' },
  ]);
}

async function passagesOf({ id }: TenantAccess): Promise<unknown> {
  const sql = 'select count(*)::integer as count from memory.chunks where tenant_id = $1';
  return (await gateway.rows('memory', sql, [id]))[0]?.['count'];
}

const logins = async ({ id }: TenantAccess) =>
  (await gateway.rows('agent', 'select 1 from agent.mcp_logins where tenant_id = $1', [id])).length;

it('is copied as the preview says, and answers with its memory', async () => {
  const asked = await preview(resources);
  const [ofAgent] = asked.body.resources;
  expect(ofAgent?.counts).toMatchObject({ documents: documents + 1, entities: 101, relations });
  const passages = await passagesOf(source);
  expect(passages).toBeGreaterThan(10_000);
  const copied = await ended((await begin(asked.body.id)).body.id);
  expect(copied).toMatchObject({ status: 'completed', error: null });
  const copies = copied.items.map(({ type, target_id }) => ({ type, id: target_id ?? '' }));
  expect(await logins(source)).toBe(1);
  expect(await logins(target)).toBe(0);
  expect(await passagesOf(target)).toBe(passages);
  const id = copies[0]?.id ?? '';
  await expectAnswer(target, id);
  await expectAnswer(source, agent);
  swap();
  const back = await preview(copies);
  swap();
  expect(countsOf(back.body)).toEqual(countsOf(asked.body));
});

it('is moved as the preview says, answers there, and is gone at the source', async () => {
  const first = source;
  await newTenants();
  const elsewhere = target;
  const plan = { mode: 'move', source_tenant_id: first.id, target_tenant_id: elsewhere.id };
  const asked = await preview(resources, plan);
  const passages = await passagesOf(first);
  const of = (type: string) => asked.body.resources.find((resource) => resource.type === type)?.counts;
  expect(of('channel_instance')).toEqual({ conversations: 1, messages: 2 });
  expect(of('webhook_endpoint')).toEqual({ calls: 2 });
  const moved = await ended((await begin(asked.body.id)).body.id, { hurries: false });
  expect(moved).toMatchObject({ status: 'completed', error: null });
  await expectAnswer(elsewhere, agent);
  expect(await passagesOf(elsewhere)).toBe(passages);
  expect(await logins(elsewhere)).toBe(0);
  const back = { mode: 'move', source_tenant_id: elsewhere.id, target_tenant_id: first.id };
  expect(countsOf((await preview(resources, back)).body)).toEqual(countsOf(asked.body));
  expect((await ask(first, 'agent:clerk', question)).status).toBe(404);
  for (const path of [
    ...[`/v1/agents/${agent}`, `/v1/agents/${agent}/memory/stats`],
    ...resources.slice(1).map(({ type, id }) => `${pathOf[type] ?? ''}/${id}`),
  ])
    expect([path, (await gateway.call(path, { key: first.adminKey })).status]).toEqual([path, 404]);
});

const pathOf: Record<string, string> = {
  mcp_server: '/v1/mcp/servers',
  channel_instance: '/v1/channels/instances',
  webhook_endpoint: '/v1/webhooks/endpoints',
};

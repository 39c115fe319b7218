import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { openApiFile } from '@gatehouse/contract/openapi';
import { newId } from '@gatehouse/kit/ids';
import type { LocalCredentials } from '@gatehouse/local/credentials';
import { freePort } from '@gatehouse/local/ports';
import { AuthorizationServer } from '@gatehouse/test/authorization-server';
import { eventually } from '@gatehouse/test/eventually';
import { localDatabaseUrl } from '@gatehouse/test/local-database';
import { LocalSystem } from '@gatehouse/test/local-system';
import { makeUsedStateFolder } from '@gatehouse/test/used-state';
import { TestMcpServer } from '@gatehouse/test/mcp-server';
import { signed } from '@gatehouse/test/webhook-senders';
import { expectSameAsCsv } from './csv-lists.ts';
import { acceptsDryRun, asDryRun, expectNothingChanged } from './dry-run-check.ts';
import { logInAtServer, registerLoginServer } from './login-server.ts';
import { makePersonKey, openSession, storeContents } from './openapi-people.ts';
import {
  actingUserOf,
  bodiesOf,
  exampleRole,
  isTable,
  namesResource,
  pathOf,
  queryOf,
  rank,
  sentBody,
  successesOf,
  takeAMoment,
  unknownIds,
  withTheirIds,
} from './openapi-replay.ts';
import {
  DocumentCheck,
  operationsOf,
  ownParameters,
  roleFor,
  type Answered,
  type OpenApiDocument,
  type Operation,
} from '../conformance/openapi-document.ts';

/** The document against a system as `make up` starts it, with the example values exactly as they are written. */

const source = readFileSync(openApiFile);
const document = JSON.parse(source.toString('utf8')) as OpenApiDocument;
const operations = operationsOf(document);
const check = new DocumentCheck(document);
const startTimeoutMs = 90_000;
let system: LocalSystem;
let removeState: () => Promise<void>;
let credentials: LocalCredentials;
let databaseUrl: string;
let login: AuthorizationServer;
let loginServer: TestMcpServer;

beforeAll(async () => {
  const state = await makeUsedStateFolder();
  removeState = state.remove;
  system = new LocalSystem(state.folder, { PORT: String(await freePort()), EGRESS_ALLOW: '127.0.0.1' });
  credentials = await system.ready();
  databaseUrl = await localDatabaseUrl(state.folder);
  login = await AuthorizationServer.start();
  loginServer = await TestMcpServer.start([]);
  login.protect(loginServer);
  await storeContents(credentials);
  made.set(loginServers, await registerLoginServer(credentials, loginServer.url));
  await makeTarget();
  personKey = await makePersonKey(credentials);
}, startTimeoutMs);

afterAll(async () => {
  await system.stop();
  await removeState();
  await loginServer.stop();
  await login.stop();
}, startTimeoutMs);

interface Sent {
  key?: string | null;
  method?: string | undefined;
  body?: unknown;
  params?: Record<string, string>;
  query?: Record<string, string>;
  headers?: Record<string, string>;
}

function keyOf(operation: Operation): string | null {
  if (operation.operationId === 'transfers.previews.accept') return target.adminKey;
  if (operation.operationId.startsWith('me.api-keys.')) return personKey;
  const role = exampleRole(operation);
  return role === null ? null : credentials[`${role}_key`];
}

async function send(operation: Operation, sent: Sent = {}): Promise<Answered> {
  const { key = keyOf(operation), body } = sent;
  const { headers, ...ofBody } = sentBody(body);
  const response = await fetch(credentials.url + pathOf(operation, sent), {
    method: sent.method ?? operation.method,
    headers: { ...(key !== null && { authorization: `Bearer ${key}` }), ...headers, ...sent.headers },
    ...ofBody,
  });
  const text = await response.text();
  const json = response.headers.get('content-type') === 'application/json';
  return {
    status: response.status,
    headers: response.headers,
    body: json ? (JSON.parse(text) as unknown) : text,
  };
}

/** A page of the gateway has these headers, and the session of its browser. */
const ofPage: Record<string, string> = { 'sec-fetch-site': 'same-origin', 'x-gatehouse-page': '1' };
const needsPage = new Set(['login.key', 'session.get']);

async function onceThere(operation: Operation, sent: Sent): Promise<Answered> {
  return eventually(async () => {
    const answered = await send(operation, sent);
    expect([400, 404, 409]).not.toContain(answered.status);
    return answered;
  });
}

/** The tenant that resources go to. */
const target = { id: '', adminKey: '' };

async function makeTarget(): Promise<void> {
  const response = await fetch(`${credentials.url}/internal/v1/owner/tenants`, {
    method: 'POST',
    headers: { authorization: `Bearer ${credentials.owner_key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ slug: 'target', name: 'Target' }),
  });
  const { id, admin_key: adminKey } = (await response.json()) as { id: string; admin_key: string };
  Object.assign(target, { id, adminKey });
}

/** A key that is bound to a user, who makes keys with it. */
let personKey = '';

/** Ids of what the replay made, by the path of its collection. */
const made = new Map<string, string>();

function remember(operation: Operation, { status, body, headers }: Answered): void {
  const { id, scheme } = Object(body) as { id?: string; scheme?: string };
  const makes = status === 201 || operation.operationId.endsWith('.create');
  if (makes && id !== undefined) made.set(operation.path, id);
  // The endpoint and the channels that the other routes name sign as Standard Webhooks.
  if (makes && scheme === 'standard') senders.endpoint = body as Sender;
  if (operation.operationId === 'webhooks.endpoints.create') made.set(operation.path, senders.endpoint.id);
  if (operation.operationId === 'channels.instances.create')
    rememberChannel(body as Sender & { type: string });
  if (operation.operationId === 'webhooks.llm')
    made.set('/v1/webhooks/calls', (body as { call_id: string }).call_id);
  if (operation.operationId === 'login.key')
    ofPage['cookie'] = (headers.get('set-cookie') ?? '').split(';', 1)[0] ?? '';
  const [first] = (body as { data?: { id: string }[] } | null)?.data ?? [];
  if (/\.upsert$|\.conversations\.list$|^sessions\.list$/.test(operation.operationId) && first !== undefined)
    made.set(operation.path, first.id);
  if (status === 202) made.set(`${operation.path}/deletions`, (body as { id: string }).id);
  const run = headers.get('x-run-id');
  if (run !== null) made.set('/v1/traces', run);
}

function rememberChannel(channel: Sender & { type: string }): void {
  if (channel.type === 'generic') senders.channel = channel;
  else made.set(zaloChannels, channel.id);
  made.set('/v1/channels/instances', senders.channel.id);
}

/** The path of channels that need a consent. */
const zaloChannels = '/v1/channels/instances of Zalo';

/** The path of MCP servers that need a consent. */
const loginServers = '/v1/mcp/servers that need a consent';
/** Operations on such a server, where a definition can be accepted that no user was listed yet. */
const ofLogins = ['mcp.servers.consent-links.create', 'mcp.servers.tools.accept', 'mcp.logins.delete'];

interface Sender {
  id: string;
  secret: string;
}

/** The endpoint and the channel that the replay created, with their secrets. */
const senders: Record<'endpoint' | 'channel', Sender> = {
  endpoint: { id: '', secret: '' },
  channel: { id: '', secret: '' },
};

/** The parameter that names the sender, of routes without a key. */
const senderOf: Readonly<Record<string, keyof typeof senders>> = {
  'webhooks.llm': 'endpoint',
  'webhooks.message': 'channel',
};

/** A request of that sender, signed by Standard Webhooks. */
function signedBy(sender: keyof typeof senders, body: unknown): Pick<Sent, 'query' | 'headers'> {
  const { id, secret } = senders[sender];
  const headers = signed({ scheme: 'standard', secret }, JSON.stringify(body), { id: newId() });
  return { query: { [sender]: id }, headers };
}

/** Agents, files, tenants and previews that a body names are those of the replay. */
function bodyOf(body: unknown): unknown {
  if (typeof body !== 'object' || body === null) return body;
  const agentId = made.get('/v1/agents');
  // A login; other bodies with a key have more.
  if (Object.keys(body).join() === 'key') return { key: credentials.user_key };
  if (Object.hasOwn(body, 'preview_id'))
    return { preview_id: made.get('/v1/tenant/resource-transfers/previews') };
  if (Object.hasOwn(body, 'input_file_id')) return { ...body, input_file_id: made.get('/v1/files') };
  if (Object.hasOwn(body, 'agent_id')) return { ...body, agent_id: agentId };
  if (!Object.hasOwn(body, 'source_tenant_id')) return body;
  const resources = [{ type: 'agent', id: agentId }];
  return { ...body, source_tenant_id: credentials.tenant_id, target_tenant_id: target.id, resources };
}

/** An id in an example names no resource, so one that the replay created replaces it. Keys and names are taken as shown. */
function paramsOf(operation: Operation): Record<string, string> {
  const own = ownParameters(operation).filter((parameter) => parameter.in === 'path');
  return Object.fromEntries(
    own.map(({ name, schema, example }) => {
      const [path = ''] = operation.path.split(`/{${name}}`);
      const ofServer = ofLogins.includes(operation.operationId) ? loginServers : path;
      const collection = operation.path.includes('/zalo-oa/') ? zaloChannels : ofServer;
      return [
        name,
        schema.format === 'uuid' || withTheirIds.includes(collection)
          ? (made.get(collection) ?? 'nothing was made')
          : String(example),
      ];
    }),
  );
}

/** Rows of lists as CSV, by operation. */
const lists = new Map<string, number>();

const replay = operations
  .toSorted((a, b) => rank(a) - rank(b))
  .flatMap((operation) => bodiesOf(operation).map(([example, body]) => ({ operation, example, body })));

describe('the examples of the document, one after the other', () => {
  it.each(replay.map((step) => [`${step.operation.operationId}: ${step.example}`, step] as const))(
    '%s',
    async (_name, { operation, body }) => {
      const sender = senderOf[operation.operationId];
      // The replay has deleted the data of the user before.
      if (operation.operationId === 'mcp.logins.delete') await logInAtServer(credentials, login);
      if (operation.operationId === 'me.sessions.delete')
        made.set('/v1/me/sessions', await openSession(credentials));
      const sent = {
        body: bodyOf(body),
        params: paramsOf(operation),
        query: queryOf(operation),
        ...actingUserOf(operation),
        ...(needsPage.has(operation.operationId) && { headers: ofPage }),
        ...(sender !== undefined && signedBy(sender, body)),
      };
      const sending = takeAMoment.has(operation.operationId) ? onceThere : send;
      const dryRun = acceptsDryRun(operation)
        ? await expectNothingChanged(databaseUrl, () => sending(operation, asDryRun(sent)))
        : null;
      const answered = await sending(operation, sent);
      expect(successesOf(operation)).toContain(answered.status);
      if (dryRun !== null) expect(dryRun.status).toBe(answered.status);
      if (dryRun !== null) expect(check.problems(operation, dryRun)).toEqual([]);
      expect(check.problems(operation, answered)).toEqual([]);
      remember(operation, answered);
      if (!isTable(operation)) return;
      const asked = { ...sent.headers, authorization: `Bearer ${keyOf(operation) ?? ''}` };
      const url = credentials.url + pathOf(operation, { params: sent.params });
      // An item may change between two requests: a key has a new last use.
      lists.set(operation.operationId, await eventually(() => expectSameAsCsv(url, asked)));
    },
  );

  it('cover every list as CSV, with items but of cookies, transfers and the owner’s counters', () => {
    expect(lists.size).toBe(operations.filter(isTable).length);
    const mayBeEmpty = /cookies|transfers|owner\.policies/;
    expect([...lists].filter(([id, rows]) => rows === 0 && !mayBeEmpty.test(id))).toEqual([]);
  });
});

describe('what goes wrong is documented too', () => {
  const named = (list: Operation[]) => list.map((operation) => [operation.operationId, operation] as const);
  const needsMore = (operation: Operation) =>
    'x-required-scope' in operation || 'x-required-role' in operation;
  const secured = operations.filter((operation) => roleFor(operation) !== null);

  async function expectDocumented(operation: Operation, sent: Sent, status: number): Promise<void> {
    const answered = await send(operation, sent);
    expect(answered).toMatchObject({ status });
    expect(check.problems(operation, answered)).toEqual([]);
  }

  it.each(named(secured))('%s without a key', async (_id, operation) => {
    await expectDocumented(operation, { key: null, params: unknownIds(operation) }, 401);
  });

  it.each(named(secured.filter(needsMore)))('%s with a key that may not', async (_id, operation) => {
    const ofTenant = roleFor(operation) === 'owner' ? credentials.admin_key : credentials.owner_key;
    const key = operation['x-required-scope'] === 'transfers.write' ? credentials.user_key : ofTenant;
    await expectDocumented(operation, { key, params: unknownIds(operation) }, 403);
  });

  it.each(named(secured.filter(namesResource)))('%s of nothing', async (_id, operation) => {
    const [[, body] = []] = bodiesOf(operation);
    const sent = { body, params: unknownIds(operation), ...actingUserOf(operation) };
    await expectDocumented(operation, sent, 404);
  });

  // Clients of other APIs send parameters that only those read.
  const lenient = /(^|\.)models\.|^(messages|responses|gemini|azure|chat|embeddings|moderations)\./;
  const strict = secured.filter(({ operationId }) => !lenient.test(operationId));

  it.each(named(strict))('%s with an unknown query parameter', async (_id, operation) => {
    const [[, body] = []] = bodiesOf(operation);
    const sent = { body, params: unknownIds(operation), query: { no_such_parameter: '1' } };
    await expectDocumented(operation, sent, 400);
  });

  const withBody = secured.filter(({ requestBody }) => requestBody !== undefined);
  const withJson = withBody.filter(
    ({ requestBody }) => requestBody?.content['application/json'] !== undefined,
  );

  it.each(named(withBody))('%s with a body of another type', async (_id, operation) => {
    const sent = { body: {}, params: unknownIds(operation), headers: { 'content-type': 'text/plain' } };
    await expectDocumented(operation, sent, 415);
  });

  it.each(named(withJson.filter(({ path }) => !/\/(chat|embeddings|moderations)/.test(path))))(
    '%s with an unknown field',
    async (_id, operation) => {
      await expectDocumented(operation, { body: { no_such_field: 1 }, params: unknownIds(operation) }, 400);
    },
  );

  it.each(named(withJson))('%s with what is no JSON object', async (_id, operation) => {
    await expectDocumented(operation, { body: [], params: unknownIds(operation) }, 400);
  });

  it.each(
    named(
      operations.filter(
        (operation) => successesOf(operation).includes(201) && operation.path.endsWith('agents'),
      ),
    ),
  )('%s of a key that is taken', async (_id, operation) => {
    await expectDocumented(operation, { body: { key: credentials.agent_key, model: 'gpt-4.1-mini' } }, 409);
  });

  it.each(named(operations))('%s with another method', async (_id, operation) => {
    const known = Object.keys(document.paths[operation.path] ?? {}).map((method) => method.toUpperCase());
    const method = ['PUT', 'DELETE', 'PATCH'].find((other) => !known.includes(other));
    await expectDocumented(operation, { method, params: unknownIds(operation) }, 405);
  });
});

describe('the check of these tests', () => {
  const operation = operations.find(({ operationId }) => operationId === 'agents.get');
  if (operation === undefined) throw new Error('agents.get is not documented');

  it('finds a status, a header, a type, a code and a field that are not documented', async () => {
    const good = await send(operation, { params: { agentID: credentials.agent_key } });
    expect(check.problems(operation, good)).toEqual([]);
    expect(check.problems(operation, { ...good, status: 418 })).toHaveLength(1);
    expect(check.problems(operation, { ...good, body: { ...(good.body as object), more: 1 } })).toHaveLength(
      1,
    );
    const html = new Headers({ 'x-request-id': 'a', 'content-type': 'text/html' });
    expect(check.problems(operation, { ...good, headers: html })).toHaveLength(1);
    const nameless = new Headers({ 'content-type': 'application/json' });
    expect(check.problems(operation, { ...good, headers: nameless })).toHaveLength(1);
    const missing = await send(operation, { params: { agentID: 'nobody' } });
    const { error } = missing.body as { error: object };
    const other = { ...missing, body: { error: { ...error, code: 'agent_key_taken' } } };
    expect(check.problems(operation, other)).toHaveLength(1);
  });
});

describe('GET /openapi.json', () => {
  it('serves the committed file byte for byte, to anybody', async () => {
    const response = await fetch(`${credentials.url}/openapi.json`);
    expect(Buffer.from(await response.arrayBuffer()).equals(source)).toBe(true);
    expect(response.headers.get('content-type')).toBe('application/json');
    expect(response.headers.get('cache-control')).toMatch(/^public, max-age=\d+$/);
    expect(response.headers.get('etag')).toMatch(/^"[\w-]+"$/);
  });

  it('is a 304 for a client that has it', async () => {
    const etag = (await fetch(`${credentials.url}/openapi.json`)).headers.get('etag') ?? '';
    for (const tag of [etag, `W/${etag}`, `"other", ${etag}`, '*']) {
      const again = await fetch(`${credentials.url}/openapi.json`, { headers: { 'if-none-match': tag } });
      expect([again.status, await again.text(), again.headers.get('etag')]).toEqual([304, '', etag]);
    }
    const other = await fetch(`${credentials.url}/openapi.json`, { headers: { 'if-none-match': '"other"' } });
    expect(other.status).toBe(200);
  });
});

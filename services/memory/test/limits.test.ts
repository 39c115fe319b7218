import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { newId } from '@gatehouse/kit/ids';
import type { GetTenantSettingsResponse, MemoryLimits } from '@gatehouse/proto/tenant/v1/tenant';
import { MemoryServiceUnderTest, type TestTenant } from './memory-service.ts';
import { manyDocuments, MovingClient } from './moving-client.ts';

let memory: MemoryServiceUnderTest;
beforeAll(async () => {
  memory = await MemoryServiceUnderTest.start();
});
afterEach(() => {
  memory.tenant.takes = true;
});
afterAll(() => memory.stop());

const deadline = { deadlineMs: 5_000 };
const plenty: MemoryLimits = { documents: 1_000n, bytes: 1_000_000n, entities: 1_000n };

function tenantWith(limits: Partial<MemoryLimits>, settings: Partial<GetTenantSettingsResponse> = {}) {
  const tenant = memory.makeTenant();
  memory.tenant.settings.set(tenant.id, { memoryLimits: { ...plenty, ...limits }, ...settings });
  return tenant;
}

/** The status of a put and, if it failed, the code. */
async function put(tenant: TestTenant, path: string, text: string): Promise<(number | string)[]> {
  const url = `${tenant.base}/memory/documents/${path}`;
  const { status, body } = await memory.call('PUT', url, { as: tenant.admin, body: { text } });
  return status < 400 ? [status] : [status, body.error.code];
}

async function usage(tenant: TestTenant) {
  return (await memory.peer('tenant')).call('getUsage', { tenantId: tenant.id }, deadline);
}

it('a tenant stores as many documents as its limit, and may replace and delete them', async () => {
  const tenant = tenantWith({ documents: 2n });
  expect(await put(tenant, 'a', 'one')).toEqual([201]);
  expect(await put(tenant, 'b', 'two')).toEqual([201]);
  expect(await put(tenant, 'c', 'three')).toEqual([403, 'limit_reached']);
  expect(await put(tenant, 'b', 'two, longer')).toEqual([200]);
  await memory.call('DELETE', `${tenant.base}/memory/documents/a`, { as: tenant.admin });
  expect(await put(tenant, 'c', 'three')).toEqual([201]);
  expect(await usage(tenant)).toEqual({ documents: 2n, bytes: 18n, entities: 0n });
});

it('a refused document changes nothing, not even the one that it would replace', async () => {
  const tenant = tenantWith({ bytes: 20n });
  expect(await put(tenant, 'a', 'a heron stands')).toEqual([201]);
  expect(await put(tenant, 'a', 'a kingfisher dives fast')).toEqual([403, 'limit_reached']);
  expect(await put(tenant, 'b', 'an otter')).toEqual([403, 'limit_reached']);
  expect((await memory.get(tenant, 'a')).body.text).toBe('a heron stands');
  expect(await memory.pathsFor(tenant, 'kingfisher')).toEqual([]);
  expect(await memory.pathsFor(tenant, 'heron')).toEqual(['a']);
  expect(await usage(tenant)).toEqual({ documents: 1n, bytes: 15n, entities: 0n });
});

it('counts bytes as UTF-8, and a tenant above a lowered limit may still shrink', async () => {
  const tenant = tenantWith({ bytes: 11n });
  expect(await put(tenant, 'a', 'ééééé')).toEqual([201]);
  expect(await put(tenant, 'a', 'éééééé')).toEqual([403, 'limit_reached']);
  memory.tenant.settings.set(tenant.id, { memoryLimits: { ...plenty, bytes: 4n } });
  await new Promise((resolve) => setTimeout(resolve, 1_100));
  expect(await put(tenant, 'a', 'éééé')).toEqual([200]);
  expect(await put(tenant, 'b', 'x')).toEqual([403, 'limit_reached']);
});

describe('bytes count that are', () => {
  const filler = 'x'.repeat(2_000);
  const send = (tenant: TestTenant, path: string, body: object) =>
    memory.call('POST', `${tenant.base}/${path}`, { as: tenant.admin, body });
  const entity = (fields: object) => ({ entities: [{ external_id: 'e', name: 'e', type: 't', ...fields }] });
  const relation = (fields: object) => ({
    relations: [{ source: 'e', target: 'e', type: 'knows', ...fields }],
  });

  it.each([
    ['the metadata of a document', 'a', { metadata: { filler } }],
    ['the title of a document', 'a', { title: filler.slice(0, 200) }],
    ['the path of a document', 'p'.repeat(500), {}],
  ])('%s', async (_what, path, fields) => {
    const tenant = tenantWith({ bytes: 100n });
    const answer = await memory.call('PUT', `${tenant.base}/memory/documents/${path}`, {
      as: tenant.admin,
      body: { text: 'x', ...fields },
    });
    expect([answer.status, answer.body.error.code]).toEqual([403, 'limit_reached']);
    expect(await put(tenant, 'b', 'x')).toEqual([201]);
  });

  it('the metadata of an imported document, in a small and in a large import', async () => {
    const tenant = tenantWith({ bytes: 100_000n });
    const moving = new MovingClient(memory);
    for (const count of [60, 400]) {
      const documents = manyDocuments(count).map(({ path }) => ({ path, text: 'x', metadata: { filler } }));
      expect((await moving.import(tenant, documents)).error?.code).toBe('limit_reached');
    }
    expect(await usage(tenant)).toMatchObject({ documents: 0n, bytes: 0n });
  });

  it.each([
    ['the description of an entity', entity({ description: filler })],
    ['the properties of an entity', entity({ properties: { filler } })],
  ])('%s', async (_what, body) => {
    const tenant = tenantWith({ bytes: 1_000n });
    expect((await send(tenant, 'kg/entities', body)).body.error.code).toBe('limit_reached');
    expect((await send(tenant, 'kg/entities', entity({}))).status).toBe(200);
    expect((await send(tenant, 'kg/entities', body)).body.error.code).toBe('limit_reached');
  });

  it('the properties of a relation, also of a changed one', async () => {
    const tenant = tenantWith({ bytes: 1_000n });
    await send(tenant, 'kg/entities', entity({}));
    const large = relation({ properties: { filler } });
    expect((await send(tenant, 'kg/relations', large)).body.error.code).toBe('limit_reached');
    expect((await send(tenant, 'kg/relations', relation({}))).status).toBe(200);
    expect((await send(tenant, 'kg/relations', large)).body.error.code).toBe('limit_reached');
  });

  it('those of a conversation', async () => {
    const tenant = tenantWith({ bytes: 100n });
    const chat = await memory.peer('chat');
    const turn = {
      input: 'Hello',
      output: 'Hi',
      startedAtMs: BigInt(Date.now()),
      sessionId: 's'.repeat(200),
    };
    const of = { tenantId: tenant.id, agentId: tenant.agentId, analyser: 'english', userId: 'ann' };
    const remembered = chat.call('remember', { ...turn, ...of, runId: newId() }, deadline);
    await expect(remembered).rejects.toMatchObject({ code: 'limit_reached' });
  });

  it('given back with what is replaced, forgotten and deleted', async () => {
    const tenant = tenantWith({});
    const ann = tenant.acting('ann');
    const url = `${tenant.base}/memory/documents/a`;
    for (const metadata of [{ filler }, { other: filler.slice(0, 5) }])
      await memory.call('PUT', url, { as: ann, body: { text: 'é', title: 'T', metadata } });
    const stored = 'é'.length + 1 + 'aTann{"other":"xxxxx"}'.length;
    expect((await usage(tenant)).bytes).toBe(BigInt(stored));
    const kg = (path: string, body: object) =>
      memory.call('POST', `${tenant.base}/kg/${path}`, { as: ann, body });
    for (const description of [filler, 'short']) await kg('entities', entity({ description }));
    for (const properties of [{ filler }, {}]) await kg('relations', relation({ properties }));
    expect((await usage(tenant)).bytes).toBe(BigInt(stored + 'eetshortknows'.length));
    const peer = await memory.participant('tenant');
    const request = {
      tenantId: tenant.id,
      userId: 'ann',
      deletionId: newId(),
      requestedAtMs: BigInt(Date.now()),
    };
    await peer.call('forgetUser', request, deadline);
    expect(await usage(tenant)).toEqual({ documents: 0n, bytes: 0n, entities: 0n });
  });
});

describe('a document with a title, which a replica of the release before', () => {
  const replaceAsBefore = (tenant: TestTenant, text: string) =>
    memory.rows(
      `with own as (select * from memory.documents where tenant_id = $1),
       scope as (
         update memory.scopes set bytes = scopes.bytes + octet_length($2) - own.bytes from own where scopes.id = own.scope_id
       ), tenant as (
         update memory.tenants set bytes = tenants.bytes + octet_length($2) - own.bytes from own
         where tenants.tenant_id = $1
       )
       update memory.documents set text = $2, bytes = octet_length($2) where tenant_id = $1`,
      [tenant.id, text],
    );
  const moveAsBefore = (tenant: TestTenant) =>
    memory.rows(
      `update memory.scopes set bytes = documents.bytes from memory.documents
       where documents.scope_id = scopes.id and scopes.tenant_id = $1`,
      [tenant.id],
    );

  it.each<[string, (tenant: TestTenant) => Promise<unknown>]>([
    ['has replaced by a shorter one', (tenant) => replaceAsBefore(tenant, 'x')],
    ['has replaced by a longer one', (tenant) => replaceAsBefore(tenant, 'x'.repeat(500))],
    ['has moved to another scope', moveAsBefore],
  ])('%s, gives back all its bytes when it is deleted', async (_what, change) => {
    const tenant = tenantWith({});
    const url = `${tenant.base}/memory/documents/a`;
    const title = 'Birds that stand in water';
    await memory.call('PUT', url, { as: tenant.admin, body: { text: 'a heron stands', title } });
    await change(tenant);
    expect((await memory.call('DELETE', url, { as: tenant.admin })).status).toBeLessThan(300);
    expect(await usage(tenant)).toMatchObject({ documents: 0n, bytes: 0n });
    expect(await memory.stats(tenant)).toMatchObject({ documents: 0, bytes: 0 });
  });
});

it('all agents of a tenant share its limits, and concurrent writers stay within them', async () => {
  const tenant = tenantWith({ documents: 5n });
  const second = { ...tenant, base: `/v1/agents/${memory.agents.add(tenant.id, 'second')}` };
  const answers = await Promise.all(
    Array.from({ length: 12 }, (_, n) => put(n % 2 === 0 ? tenant : second, `p${n}`, 'text')),
  );
  expect(answers.filter(([status]) => status === 201)).toHaveLength(5);
  expect(answers.filter(([, code]) => code === 'limit_reached')).toHaveLength(7);
  expect((await usage(tenant)).documents).toBe(5n);
});

it('turns of conversations are within the limits too', async () => {
  const tenant = tenantWith({ documents: 1n });
  const chat = await memory.peer('chat');
  const remember = (input: string) => {
    const turn = { input, output: 'Hi', startedAtMs: BigInt(Date.now()), sessionId: 's' };
    const of = { tenantId: tenant.id, agentId: tenant.agentId, analyser: 'english', userId: 'ann' };
    return chat.call('remember', { ...turn, ...of, runId: newId() }, deadline);
  };
  expect(await remember('Hello')).toEqual({ stored: true });
  await expect(remember('Hello again')).rejects.toMatchObject({ code: 'limit_reached' });
});

it('a tenant that is not active writes nothing', async () => {
  const tenant = tenantWith({}, { status: 'suspended' });
  expect(await put(tenant, 'a', 'one')).toEqual([403, 'tenant_suspended']);
});

it('known limits hold through an outage of the tenant service; unknown ones are a 503', async () => {
  const [known, unknown] = [tenantWith({ documents: 1n }), tenantWith({})];
  expect(await put(known, 'a', 'one')).toEqual([201]);
  memory.tenant.takes = false;
  await new Promise((resolve) => setTimeout(resolve, 1_100));
  expect(await put(known, 'a', 'other')).toEqual([200]);
  expect(await put(known, 'b', 'two')).toEqual([403, 'limit_reached']);
  expect(await put(unknown, 'a', 'one')).toEqual([503, 'database_unavailable']);
});

it('there are no limits while a tenant service of the release before sends none', async () => {
  const tenant = memory.makeTenant();
  expect(await put(tenant, 'a', 'one')).toEqual([201]);
});

it('only the tenant service reads the use', async () => {
  const call = (await memory.peer('chat')).call('getUsage', { tenantId: newId() }, deadline);
  await expect(call).rejects.toMatchObject({ code: 'caller_not_allowed' });
});

import { afterAll, afterEach, beforeAll, expect, it } from '@jest/globals';
import { newId } from '@gatehouse/kit/ids';
import type { GetTenantSettingsResponse, MemoryLimits } from '@gatehouse/proto/tenant/v1/tenant';
import { MemoryServiceUnderTest, type TestTenant } from './memory-service.ts';

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
  expect(await usage(tenant)).toEqual({ documents: 2n, bytes: 16n, entities: 0n });
});

it('a refused document changes nothing, not even the one that it would replace', async () => {
  const tenant = tenantWith({ bytes: 20n });
  expect(await put(tenant, 'a', 'a heron stands')).toEqual([201]);
  expect(await put(tenant, 'a', 'a kingfisher dives fast')).toEqual([403, 'limit_reached']);
  expect(await put(tenant, 'b', 'an otter')).toEqual([403, 'limit_reached']);
  expect((await memory.get(tenant, 'a')).body.text).toBe('a heron stands');
  expect(await memory.pathsFor(tenant, 'kingfisher')).toEqual([]);
  expect(await memory.pathsFor(tenant, 'heron')).toEqual(['a']);
  expect(await usage(tenant)).toEqual({ documents: 1n, bytes: 14n, entities: 0n });
});

it('counts bytes as UTF-8, and a tenant above a lowered limit may still shrink', async () => {
  const tenant = tenantWith({ bytes: 10n });
  expect(await put(tenant, 'a', 'ééééé')).toEqual([201]);
  expect(await put(tenant, 'a', 'éééééé')).toEqual([403, 'limit_reached']);
  memory.tenant.settings.set(tenant.id, { memoryLimits: { ...plenty, bytes: 4n } });
  await new Promise((resolve) => setTimeout(resolve, 1_100));
  expect(await put(tenant, 'a', 'éééé')).toEqual([200]);
  expect(await put(tenant, 'b', 'x')).toEqual([403, 'limit_reached']);
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

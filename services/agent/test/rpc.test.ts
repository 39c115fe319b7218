import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { lockWaits } from '@gatehouse/test/lock-waits';
import { eventually } from '@gatehouse/test/eventually';
import { AgentServiceUnderTest, type TestTenant } from './agent-service.ts';

let agents: AgentServiceUnderTest;
let tenant: TestTenant;

beforeAll(async () => {
  agents = await AgentServiceUnderTest.start({ settings: { DATABASE_POOL: '10' } });
  tenant = agents.makeTenant();
});
afterAll(() => agents.stop());

describe('ResolveAgent', () => {
  it('returns all settings that a completion needs, unchanged', async () => {
    const settings = {
      key: 'support',
      model: 'vendor/large',
      model_fallbacks: ['small', 'large'],
      system_prompt: 'Be\r\nkind.\u2028 🐘',
      parameters: { stop: ['\u0000', '\ud800'], seed: -1, extra: { z: 1, a: [null] } },
      memory: { enabled: true, recall_limit: 7, min_score: 0.5, write: true, analyser: 'simple' },
    };
    const agent = await agents.makeAgent(tenant.admin, settings);
    const resolved = await agents.resolve(tenant.user, 'support');
    const { settingsJson = '', ...members } = { ...resolved };
    expect(JSON.parse(settingsJson)).toEqual({ memory: agent.memory, tools: null });
    expect(members).toEqual({
      id: agent.id,
      key: 'support',
      model: 'vendor/large',
      modelFallbacks: ['small', 'large'],
      systemPrompt: settings.system_prompt,
      parametersJson: JSON.stringify(settings.parameters),
      status: 'active',
      created: BigInt(Math.floor(Date.parse(agent.created_at) / 1_000)),
      memory: { enabled: true, recallLimit: 7, write: true, analyser: 'simple', minScore: 0.5 },
    });
  });

  it('reads the memory of an agent that was stored before it had an analyser as english', async () => {
    const { id } = await agents.makeAgent(tenant.admin, { memory: { enabled: true } });
    const stored = JSON.stringify({ enabled: true, recall_limit: 5, write: false });
    await agents.rows('update agent.agents set memory = $2 where id = $1', [id, stored]);
    const memory = { enabled: true, recallLimit: 5, write: false, analyser: 'english', minScore: 0.25 };
    expect(await agents.resolve(tenant.user, id)).toMatchObject({ memory });
    const { body } = await agents.get(tenant.admin, id);
    expect(body.memory).toEqual({
      enabled: true,
      recall_limit: 5,
      min_score: 0.25,
      write: false,
      analyser: 'english',
    });
    const patched = await agents.patch(tenant.admin, id, { memory: { write: true } });
    expect(patched.body.memory).toEqual({
      enabled: true,
      recall_limit: 5,
      min_score: 0.25,
      write: true,
      analyser: 'english',
    });
  });

  it('shows a change from the next call on', async () => {
    const { id } = await agents.makeAgent(tenant.admin);
    await agents.patch(tenant.admin, id, { system_prompt: 'New', status: 'disabled' });
    expect(await agents.resolve(tenant.user, id)).toMatchObject({ systemPrompt: 'New', status: 'disabled' });
    await agents.delete(tenant.admin, id);
    await expect(agents.resolve(tenant.user, id)).rejects.toMatchObject({ code: 'not_found' });
  });
});

it('agents are resolved while slow HTTP requests of other tenants hold all connections of theirs', async () => {
  // A tenant alone never holds all.
  const slow = [agents.makeTenant(), agents.makeTenant()];
  const { key } = await agents.makeAgent(tenant.admin);
  const ids = await Promise.all(slow.map(async ({ admin }) => (await agents.makeAgent(admin)).id));
  // A change of an agent's key waits for this lock.
  const locks = slow.map(({ id }) => `agent keys of ${id}`);
  for (const lock of locks) await agents.rows('select pg_advisory_lock(hashtextextended($1, 0))', [lock]);
  const waiting = slow.flatMap(({ admin }, index) =>
    Array.from({ length: 15 }, async (_, n) => agents.patch(admin, ids[index] ?? '', { key: `key-${n}` })),
  );
  await eventually(async () => {
    expect((await agents.rows(`select from ${lockWaits}`)).length).toBeGreaterThanOrEqual(5);
  });
  for (let n = 0; n < 3; n += 1) expect(await agents.resolve(tenant.user, key)).toMatchObject({ key });
  expect(await agents.listVisible(tenant.user)).toContain(key);
  for (const lock of locks) await agents.rows('select pg_advisory_unlock(hashtextextended($1, 0))', [lock]);
  await Promise.all(waiting);
});

describe('DescribeAgents', () => {
  const names = async (tenantId: string, ids: string[], caller = 'analytics') => {
    const peer = await agents.peer(caller);
    return (
      await peer.call(
        'describeAgents',
        { tenantId, ids, keys: [], onlyVisible: false, userId: '' },
        { deadlineMs: 5_000 },
      )
    ).agents;
  };

  it('names agents of the tenant alone, private and disabled ones too', async () => {
    const other = agents.makeTenant();
    const settings = { key: 'night-shift', name: 'Night shift', status: 'disabled', visibility: 'private' };
    const { id } = await agents.makeAgent(tenant.admin, { ...settings, owner_user_id: 'ann' });
    const { id: theirs } = await agents.makeAgent(other.admin);
    expect(await names(tenant.id, [id, theirs])).toEqual([{ id, key: 'night-shift', name: 'Night shift' }]);
    expect(await names(other.id, [id])).toEqual([]);
    await agents.delete(tenant.admin, id);
    expect(await names(tenant.id, [id])).toEqual([]);
  });

  it('finds agents of the tenant by their keys', async () => {
    const [mine, other] = [agents.makeTenant(), agents.makeTenant()];
    const key = 'night-shift';
    const { id } = await agents.makeAgent(mine.admin, { key, visibility: 'private', owner_user_id: 'ann' });
    await agents.makeAgent(other.admin, { key });
    const peer = await agents.peer('tenant');
    const keyed = async (keys: string[]) => {
      const request = { tenantId: mine.id, ids: [], keys, onlyVisible: false, userId: '' };
      return (await peer.call('describeAgents', request, { deadlineMs: 5_000 })).agents;
    };
    expect(await keyed([key, 'night', id])).toMatchObject([{ id, key }]);
    await expect(keyed(Array.from({ length: 201 }, (_, n) => `a-${n}`))).rejects.toMatchObject({
      code: 'invalid_value',
    });
  });

  it('leaves out private agents of other users where only visible ones are named', async () => {
    const mine = agents.makeTenant();
    const { id } = await agents.makeAgent(mine.admin, {
      key: 'diary',
      visibility: 'private',
      owner_user_id: 'ann',
    });
    const { id: shared } = await agents.makeAgent(mine.admin, { key: 'day-shift' });
    const peer = await agents.peer('analytics');
    const visibleTo = async (userId: string, search: { ids: string[]; namePrefix?: string }) => {
      const request = { tenantId: mine.id, keys: [], onlyVisible: true, userId, ...search };
      const named = await peer.call('describeAgents', request, { deadlineMs: 5_000 });
      return named.agents.map((agent) => agent.id).toSorted();
    };
    for (const search of [{ ids: [id, shared] }, { ids: [], namePrefix: 'd' }]) {
      expect(await visibleTo('ann', search)).toEqual([id, shared].toSorted());
      expect(await visibleTo('bob', search)).toEqual([shared]);
      expect(await visibleTo('', search)).toEqual([shared]);
    }
  });

  it('finds agents by the beginning of their keys and names, in any case', async () => {
    const mine = agents.makeTenant();
    const { id } = await agents.makeAgent(mine.admin, { key: 'night-shift', name: 'Shift of the night' });
    await agents.makeAgent(tenant.admin, { key: 'nights' });
    const peer = await agents.peer('analytics');
    const named = async (namePrefix: string) => {
      const request = { tenantId: mine.id, ids: [], keys: [], namePrefix, onlyVisible: false, userId: '' };
      return (await peer.call('describeAgents', request, { deadlineMs: 5_000 })).agents.map(
        (agent) => agent.id,
      );
    };
    expect(await named('NIGHT')).toEqual([id]);
    expect(await named('shift')).toEqual([id]);
    expect(await named('hift')).toEqual([]);
  });

  it('refuses more than 200 ids, and other services', async () => {
    const ids = Array.from({ length: 201 }, () => tenant.id);
    await expect(names(tenant.id, ids)).rejects.toMatchObject({ param: 'ids' });
    await expect(names(tenant.id, [], 'chat')).rejects.toMatchObject({ code: 'caller_not_allowed' });
  });
});

describe('ListVisibleAgents', () => {
  it('names agents, however large their prompts are', async () => {
    const large = agents.makeTenant();
    const keys: string[] = [];
    // More than the four megabytes that a message of gRPC may have.
    for (let n = 0; n < 8; n += 1) {
      const agent = await agents.makeAgent(large.admin, { system_prompt: '漢'.repeat(200_000) });
      keys.unshift(agent.key);
    }
    expect(await agents.listVisible(large.user)).toEqual(keys);
  });

  it('has pages of a thousand, the newest first, each agent once while others are made', async () => {
    const many = agents.makeTenant();
    await agents.rows(
      `insert into agent.agents (id, tenant_id, key, name, description, model, model_fallbacks, system_prompt,
         parameters, tools, memory, visibility, status, metadata)
       select ('00000000-0000-7000-8000-' || lpad(n::text, 12, '0'))::uuid, $1, 'agent-' || n, '', '', '', '{}', '',
         '{}', '{}', '{}', 'tenant', 'active', '{}'
       from generate_series(1, 2500) n`,
      [many.id],
    );
    const [keys, sizes]: [string[], number[]] = [[], []];
    for (let [before, more] = ['', true]; more;) {
      const page = await agents.visiblePage(many.user, before);
      keys.push(...page.agents.map(({ key }) => key));
      sizes.push(page.agents.length);
      [before, more] = [page.agents.at(-1)?.id ?? '', page.hasMore];
      await agents.makeAgent(many.admin);
    }
    expect(sizes).toEqual([1_000, 1_000, 500]);
    expect(keys).toEqual(Array.from({ length: 2_500 }, (_, n) => `agent-${2_500 - n}`));
  });

  it('refuses a place in the list that is no id', async () => {
    await expect(agents.visiblePage(tenant.user, 'x')).rejects.toMatchObject({ code: 'invalid_value' });
  });
});

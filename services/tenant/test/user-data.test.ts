import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { topics } from '@gatehouse/contract/services';
import { writeDeletionReceipt } from '@gatehouse/events/deletion-event';
import { eventually } from '@gatehouse/test/eventually';
import { columnsWith } from '@gatehouse/test/columns-with';
import { TenantServiceUnderTest, type TestTenant } from './tenant-service.ts';
import { statusesOf, UserDataClient } from './user-data.ts';

let service: TenantServiceUnderTest;
let users: UserDataClient;
let tenant: TestTenant;
beforeAll(async () => {
  service = await TenantServiceUnderTest.start();
  users = new UserDataClient(service);
  tenant = await service.makeTenant();
});
afterEach(() => {
  service.others.answer = () => ({ counts: {}, completed: true });
});
afterAll(() => service.stop());

const rows = (sql: string, values?: unknown[]) => service.rows(sql, values);

async function databaseTime(): Promise<number> {
  const [row] = await service.rows<{ at: number }>(
    `select (extract(epoch from clock_timestamp()) * 1000)::float8 as at`,
  );
  return row?.at ?? 0;
}

describe('a deletion of the data of a user', () => {
  it('is published once to every service, and completes with the counts of their receipts', async () => {
    service.others.answer = ({ service: name }) => ({ counts: { [`of ${name}`]: 7 }, completed: true });
    const before = await databaseTime();
    const started = await users.start(tenant, 'ada');
    const after = await databaseTime();
    const running = { status: 'running', counts: {} };
    expect(started).toEqual({
      id: expect.any(String),
      status: 'running',
      services: ['memory', 'analytics', 'chat', 'webhook', 'agent'].map((name) => ({
        service: name,
        ...running,
      })),
    });
    const { services } = await users.untilCompleted(tenant, 'ada', started.id);
    expect(services).toEqual(
      ['memory', 'analytics', 'chat', 'webhook', 'agent'].map((name) => ({
        service: name,
        status: 'completed',
        counts: { [`of ${name}`]: 7 },
      })),
    );
    const calls = service.others.callsFor('ada');
    expect(calls.map((call) => call.service).sort()).toEqual([
      'agent',
      'analytics',
      'chat',
      'memory',
      'webhook',
    ]);
    for (const call of calls) {
      expect(call).toMatchObject({ tenantId: tenant.id, deletionId: started.id });
      expect(call.requestedAtMs).toBeGreaterThanOrEqual(before);
      expect(call.requestedAtMs).toBeLessThanOrEqual(after + 1);
    }
  });

  it('shows the counts of the last receipt of a service', async () => {
    const answers = [
      { counts: { documents: 500, chunks: 2_000 }, completed: false },
      { counts: { documents: 20 }, completed: false },
      { counts: { documents: 0, entities: 3 }, completed: true },
    ];
    service.others.answer = ({ service: name }) =>
      (name === 'memory' ? answers.shift() : undefined) ?? { counts: {}, completed: true };
    const { id } = await users.start(tenant, 'ben');
    const { services } = await users.untilCompleted(tenant, 'ben', id);
    expect(services[0]?.counts).toEqual({ documents: 520, chunks: 2_000, entities: 3 });
    expect(service.others.callsFor('ben', 'memory')).toHaveLength(3);
    expect(service.others.callsFor('ben', 'chat')).toHaveLength(1);
  });

  it('takes a receipt from the service that it is of alone', async () => {
    service.others.answer = () => ({ counts: {}, completed: false });
    const { id } = await users.start(tenant, 'cid');
    await eventually(() => expect(service.others.callsFor('cid', 'memory').length).toBeGreaterThan(0));
    const requestedAtMs = service.others.callsFor('cid', 'memory')[0]?.requestedAtMs ?? 0;
    const of = { deletion_id: id, tenant_id: tenant.id, service: 'memory', requested_at_ms: requestedAtMs };
    const receipt = writeDeletionReceipt('test', { ...of, counts: {}, completed: true });
    const sent = service.send('chat', {
      topic: topics.receipts,
      source: 'test',
      events: [receipt],
      fresh: false,
    });
    await expect(sent).rejects.toMatchObject({ code: 'caller_not_allowed' });
    expect(statusesOf(await users.read(tenant, 'cid', id))).toMatchObject({ memory: 'running' });
    service.others.answer = () => ({ counts: {}, completed: true });
    await users.untilCompleted(tenant, 'cid', id);
  });

  it('goes on when a service is back, and an outage of one delays no other', async () => {
    await service.others.of('memory').stop();
    const { id } = await users.start(tenant, 'dan');
    await eventually(async () => {
      expect(statusesOf(await users.read(tenant, 'dan', id))).toEqual({
        memory: 'running',
        analytics: 'completed',
        chat: 'completed',
        webhook: 'completed',
        agent: 'completed',
      });
    });
    await service.others.of('memory').restart();
    await users.untilCompleted(tenant, 'dan', id, 12_000);
  });

  it('leaves the user id in no table once it is completed, and a keyed hash in the audit log', async () => {
    const userId = 'eve@example.com';
    const { id } = await users.start(tenant, userId);
    await users.untilCompleted(tenant, userId, id);
    await eventually(async () => expect(await columnsWith(rows, userId)).toEqual([]));
    const log = await service.call(
      'GET',
      `/internal/v1/owner/audit-log?tenant_id=${tenant.id}&action=user_data.deletion_requested&limit=1`,
    );
    const entry = log.body.data[0] as unknown as { after: { user_hash: string } };
    expect(entry).toMatchObject({
      action: 'user_data.deletion_requested',
      actor: { role: 'admin', user_id: null },
      resource: { type: 'user_data', id },
      before: null,
    });
    expect(entry.after).toEqual({ user_hash: expect.stringMatching(/^[\w.-]+:[\w-]{43}$/) });
    // The same user has the same hash in this tenant and another one in others.
    const again = await users.start(tenant, userId);
    const other = await service.makeTenant();
    const elsewhere = await users.start(other, userId);
    const hashes = await service.rows<{ id: string; user_hash: string }>(
      'select id, user_hash from tenant.user_deletions where id = any ($1)',
      [[again.id, elsewhere.id]],
    );
    const hashOf = (wanted: string) => hashes.find((row) => row.id === wanted)?.user_hash;
    expect(hashOf(again.id)).toBe(entry.after.user_hash);
    expect(hashOf(elsewhere.id)).not.toBe(entry.after.user_hash);
  });

  it('leaves the API keys of the user', async () => {
    const key = await service.makeKey(tenant.admin, { user_id: 'finn' });
    const { id } = await users.start(tenant, 'finn');
    await users.untilCompleted(tenant, 'finn', id);
    const answer = await service.call('GET', `/v1/api-keys/${key.id}`, { as: tenant.admin });
    expect(answer.body).toMatchObject({ status: 'active', user_id: 'finn' });
  });
});

describe('a deletion of the data of a user of the directory', () => {
  const makeUser = (name: string, aliases: string[]) =>
    service.call('PUT', `/v1/users/${name}`, { as: tenant.admin, body: { aliases } });

  it('covers what services have under every name, and is complete with all of it', async () => {
    await makeUser('jo-1', ['Jo@example.com', 'tg:5']);
    let release: (() => void) | undefined;
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    service.others.answer = async ({ service: name, userId }) => {
      if (name === 'chat' && userId === 'tg:5') await held;
      return { counts: { rows: 2 }, completed: true };
    };
    const names = ['jo-1', 'Jo@example.com', 'jo@example.com', 'tg:5'];
    const { id } = await users.start(tenant, 'Jo@example.com');
    await eventually(async () => {
      expect(statusesOf(await users.read(tenant, 'jo-1', id))).toEqual({
        ...{ memory: 'completed', analytics: 'completed', chat: 'running', webhook: 'completed' },
        agent: 'completed',
      });
    });
    expect((await users.read(tenant, 'jo-1', id)).status).toBe('running');
    release?.();
    const { services } = await users.untilCompleted(tenant, 'jo-1', id);
    expect(services.map(({ counts }) => counts)).toEqual(Array(5).fill({ rows: 2 * names.length }));
    for (const name of names) expect(service.others.callsFor(name)).toHaveLength(5);
    // The names mean no user any more, and the deletion is still found by each.
    for (const name of names) expect((await users.read(tenant, name, id)).status).toBe('completed');
    expect((await users.get(tenant.admin, 'other', id)).status).toBe(404);
    for (const name of names) expect(await columnsWith(rows, name)).toEqual([]);
  });

  it('is one with the running deletion of a name', async () => {
    service.others.answer = () => ({ counts: {}, completed: false });
    const ofName = await users.start(tenant, 'kim@example.com');
    await makeUser('kim', ['kim@example.com']);
    const { id } = await users.start(tenant, 'kim');
    expect((await users.start(tenant, 'kim')).id).toBe(id);
    service.others.answer = () => ({ counts: {}, completed: true });
    await users.untilCompleted(tenant, 'kim', id);
    expect((await users.read(tenant, 'kim@example.com', ofName.id)).status).toBe('completed');
    expect((await users.read(tenant, 'kim@example.com', id)).status).toBe('completed');
  });
});

describe('a second deletion of a user', () => {
  it('is the running one, which then covers what the user did until then', async () => {
    let release: (() => void) | undefined;
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    service.others.answer = async ({ service: name }) => {
      if (name === 'memory') await held;
      return { counts: {}, completed: true };
    };
    const first = await users.start(tenant, 'gus');
    await eventually(async () => {
      expect(statusesOf(await users.read(tenant, 'gus', first.id))).toMatchObject({
        analytics: 'completed',
        chat: 'completed',
        webhook: 'completed',
        agent: 'completed',
      });
    });
    await eventually(() => expect(service.others.callsFor('gus', 'memory')).toHaveLength(1));
    const between = await databaseTime();
    const second = await users.start(tenant, 'gus');
    expect(second.id).toBe(first.id);
    expect(second.status).toBe('running');
    release?.();
    await users.untilCompleted(tenant, 'gus', first.id);
    for (const name of ['memory', 'analytics', 'chat', 'webhook', 'agent'] as const) {
      const last = service.others.callsFor('gus', name).at(-1);
      expect(last?.requestedAtMs).toBeGreaterThanOrEqual(between);
    }
  });

  it('is a new one when the first is completed', async () => {
    const first = await users.start(tenant, 'hal');
    await users.untilCompleted(tenant, 'hal', first.id);
    const second = await users.start(tenant, 'hal');
    expect(second.id).not.toBe(first.id);
    await users.untilCompleted(tenant, 'hal', second.id);
    expect(service.others.callsFor('hal', 'chat')).toHaveLength(2);
  });

  it('at the same time is one', async () => {
    service.others.answer = () => ({ counts: {}, completed: false });
    const started = await Promise.all(Array.from({ length: 6 }, () => users.start(tenant, 'ida')));
    expect(new Set(started.map(({ id }) => id)).size).toBe(1);
    service.others.answer = () => ({ counts: {}, completed: true });
    await users.untilCompleted(tenant, 'ida', started[0]?.id ?? '', 10_000);
  });
});

import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { afterAll, afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { Jobs } from '@gatehouse/jobs/jobs';
import { newId } from '@gatehouse/kit/ids';
import { createLogger } from '@gatehouse/kit/log';
import { Registry } from '@gatehouse/kit/metrics';
import { deleteOldRows } from '@gatehouse/pg/clean-up-store';
import { createPool, type Pool } from '@gatehouse/pg/pool';
import { eventually } from '@gatehouse/test/eventually';
import { deletionTasks, participants } from '../src/deletions/deletion-tasks.ts';
import { deletionUpkeep } from '../src/deletions/deletion-upkeep-job.ts';
import { DeletionSystemStore, oldDeletions } from '../src/deletions/deletion-system-store.ts';
import { TenantServiceUnderTest, type TestTenant } from './tenant-service.ts';
import { statusesOf, UserDataClient } from './user-data.ts';

const log = createLogger('tenant', 'silent');

let service: TenantServiceUnderTest;
let users: UserDataClient;
let tenant: TestTenant;
let system: Pool;
let deletions: DeletionSystemStore;
beforeAll(async () => {
  service = await TenantServiceUnderTest.start();
  users = new UserDataClient(service);
  tenant = await service.makeTenant();
  system = createPool({ url: service.database.url, role: 'tenant_system', max: 2, log });
  const jobs = new Jobs({ service: 'tenant', tasks: deletionTasks, system, log });
  deletions = new DeletionSystemStore(system, jobs);
});
afterEach(() => {
  service.others.answer = () => ({ counts: {}, completed: true });
});
afterAll(async () => {
  await system.end();
  await service.stop();
});

/** Another process of the service, and the port of its HTTP server. */
async function startProcess(): Promise<{ child: ChildProcess; port: number }> {
  const main = fileURLToPath(new URL('../src/main.ts', import.meta.url));
  const child = spawn(process.execPath, [main], {
    env: { ...service.environment(), LOG_LEVEL: 'info' },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  for await (const line of createInterface({ input: child.stdout })) {
    const { msg, http_port: port } = JSON.parse(line) as { msg: string; http_port?: number };
    if (msg === 'listening' && port !== undefined) return { child, port };
  }
  throw new Error('the process has ended');
}

it('a deletion survives the death of the process that publishes it', async () => {
  await service.service.stop();
  const { child, port } = await startProcess();
  service.others.answer = () => ({ counts: { documents: 2 }, completed: true });
  await service.others.of('memory').stop();
  const { body } = await service.call('DELETE', '/v1/users/ann/data', { as: tenant.admin, port });
  await eventually(() => expect(service.others.callsFor('ann')).toHaveLength(participants.length - 1));
  child.kill('SIGKILL');
  await once(child, 'exit');
  await service.others.of('memory').restart();
  // A process counts as lost after 15 s without a heartbeat.
  await service.rows(
    `update tenant_jobs.job set heartbeat_on = heartbeat_on - interval '1 minute' where state = 'active'`,
  );
  await service.run();
  const { services } = await users.untilCompleted(tenant, 'ann', body.id, 12_000);
  expect(services[0]).toEqual({ service: 'memory', status: 'completed', counts: { documents: 2 } });
  expect(service.others.callsFor('ann')).toHaveLength(participants.length);
});

describe('the upkeep of deletions', () => {
  it('publishes a deletion again to services from which no receipt comes, and to no others', async () => {
    service.others.answer = ({ service: name }) =>
      name === 'analytics' ? { counts: {}, completed: true } : new Promise(() => undefined);
    const { id } = await users.start(tenant, 'ben');
    await eventually(async () => {
      expect(statusesOf(await users.read(tenant, 'ben', id))).toMatchObject({ analytics: 'completed' });
      expect(service.others.callsFor('ben')).toHaveLength(participants.length);
    });
    service.others.answer = () => ({ counts: {}, completed: true });
    await deletions.resume();
    expect(service.others.callsFor('ben')).toHaveLength(participants.length);
    await service.rows(
      `update tenant.user_deletion_services set attempted_at = now() - interval '61 minutes' where deletion_id = $1`,
      [id],
    );
    expect(await deletions.resume()).toBe(false);
    await users.untilCompleted(tenant, 'ben', id);
    expect(service.others.callsFor('ben', 'analytics')).toHaveLength(1);
  });

  it('shows deletions that have been running for over an hour', async () => {
    service.others.answer = ({ service: name }) => ({ counts: {}, completed: name !== 'chat' });
    const { id } = await users.start(tenant, 'cleo');
    await eventually(async () => {
      expect(statusesOf(await users.read(tenant, 'cleo', id))).toMatchObject({
        memory: 'completed',
        analytics: 'completed',
      });
    });
    expect(await deletions.findOverdue()).toEqual({ count: 0, oldest: [] });
    await service.rows(
      `update tenant.user_deletions set created_at = now() - interval '61 minutes' where id = $1`,
      [id],
    );
    const registry = new Registry();
    const warn = jest.fn<(fields: object, message: string) => void>();
    const parts = deletionUpkeep({
      deletions,
      log: { warn } as unknown as typeof log,
      registry,
      timing: { often: 50, seldom: 50 },
    });
    for (const part of parts) part.start();
    await eventually(async () => {
      expect(await registry.metrics()).toContain('gatehouse_user_deletions_overdue 1');
      expect(warn).toHaveBeenCalledWith(
        { deletion_id: id, tenant_id: tenant.id, services: ['chat'] },
        'the deletion of the data of a user has been running for over an hour',
      );
    });
    for (const part of parts) await part.stop();
    service.others.answer = () => ({ counts: {}, completed: true });
    await users.untilCompleted(tenant, 'cleo', id);
    expect(await deletions.findOverdue()).toEqual({ count: 0, oldest: [] });
  });

  it('deletes deletions 90 days after their completion', async () => {
    const [old, recent] = [await users.start(tenant, 'dan'), await users.start(tenant, 'eve')];
    await users.untilCompleted(tenant, 'dan', old.id);
    await users.untilCompleted(tenant, 'eve', recent.id);
    const age = 'update tenant.user_deletions set completed_at = now() - $2::interval where id = $1';
    await service.rows(age, [old.id, '91 days']);
    await service.rows(age, [recent.id, '89 days']);
    // One that runs is never deleted.
    const running = newId();
    await service.rows(
      `insert into tenant.user_deletions (id, tenant_id, user_id, user_hash, created_at, requested_at)
       values ($1, $2, 'finn', 'hash', now() - interval '100 days', now() - interval '100 days')`,
      [running, tenant.id],
    );
    await deleteOldRows(system, oldDeletions);
    expect((await users.get(tenant.admin, 'dan', old.id)).status).toBe(404);
    expect((await users.get(tenant.admin, 'eve', recent.id)).status).toBe(200);
    expect(await service.rows('select id from tenant.user_deletions where id = $1', [running])).toHaveLength(
      1,
    );
    const orphans = `select from tenant.user_deletion_services where deletion_id = $1`;
    expect(await service.rows(orphans, [old.id])).toEqual([]);
  });
});

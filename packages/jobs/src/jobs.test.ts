import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { newId } from '@gatehouse/kit/ids';
import { withTenant } from '@gatehouse/pg/pool';
import { eventually } from '@gatehouse/test/eventually';
import { query } from '@gatehouse/test/query';
import { tablesWithoutPolicies } from '@gatehouse/test/rls-audit';
import { JobsUnderTest } from '../test/harness.ts';
import { someTask, tasks } from '../test/tasks.ts';
import { Jobs } from './jobs.ts';

let service: JobsUnderTest;
beforeAll(async () => {
  service = await JobsUnderTest.start();
});
afterEach(async () => {
  await service.stopWorkers();
  await query(service.database.adminUrl, 'delete from memory_jobs.job');
  service.calls.splice(0);
});
afterAll(() => service.stop());

const noJobs = async (): Promise<void> => expect(await service.rows()).toEqual([]);

describe('a job', () => {
  it('runs once its transaction is committed, at once in the process that added it', async () => {
    await service.work({ timing: { pollMs: 60_000 } }, service.jobs);
    await withTenant(service.app, service.tenantId, async (db) => {
      await service.jobs.add(db, { task: 'embed', tenantId: service.tenantId, ids: { documentId: 'a' } });
      await query(service.database.adminUrl, 'select pg_sleep(0.2)');
      expect(service.handled()).toEqual([]);
    });
    await eventually(() => expect(service.handled()).toEqual(['a']), 1_000);
    const [call] = service.calls;
    expect(call?.context).toMatchObject({ tenantId: service.tenantId, attempt: 1, lastAttempt: false });
    // A finished job leaves nothing behind.
    await eventually(noJobs);
  });

  it('of a rolled-back transaction never runs', async () => {
    await service.work({}, service.jobs);
    const failed = withTenant(service.app, service.tenantId, async (db) => {
      await service.jobs.add(db, { task: 'embed', tenantId: service.tenantId, ids: { documentId: 'a' } });
      throw new Error('rolled back');
    });
    await expect(failed).rejects.toThrow('rolled back');
    await service.add({ task: 'embed', ids: { documentId: 'b' } });
    await eventually(() => expect(service.handled()).toEqual(['b']));
    await eventually(noJobs);
    expect(service.handled()).toEqual(['b']);
  });

  it('runs once, however many replicas there are', async () => {
    for (let replica = 0; replica < 3; replica += 1) await service.work();
    const ids = Array.from({ length: 60 }, (_, n) => `document ${n}`);
    await Promise.all(
      ids.map((documentId) => service.add({ task: 'embed', tenantId: newId(), ids: { documentId } })),
    );
    await eventually(noJobs);
    expect(service.handled().sort()).toEqual(ids.sort());
    expect(new Set(service.calls.map(({ worker }) => worker)).size).toBe(3);
  });

  it('runs when its time has come', async () => {
    await service.work();
    await service.add({ task: 'embed', ids: { documentId: 'later' }, runAt: new Date(Date.now() + 1_000) });
    await service.add({ task: 'embed', ids: { documentId: 'now' } });
    const added = performance.now();
    await eventually(() => expect(service.handled()).toEqual(['now', 'later']));
    expect(performance.now() - added).toBeGreaterThan(800);
  });

  it('with a higher priority runs first', async () => {
    for (const priority of [0, 5, 1])
      await service.add({ task: 'embed', ids: { documentId: `${priority}` }, priority });
    await service.work();
    await eventually(() => expect(service.handled()).toEqual(['5', '1', '0']));
  });

  it.each([
    `'; drop table memory_jobs.job; --`,
    '$1 %s \\u0000 {"a":1} \\',
    '日本語 🦊 \u202e\u0001\n\t',
    '',
    'x'.repeat(512),
  ])('keeps its ids as they are: %j', async (text) => {
    await service.add({ task: 'embed', ids: { documentId: text }, key: text });
    await service.work();
    await eventually(() => expect(service.handled()).toEqual([text]));
  });

  it.each(['\u0000', '\ud800', 'x'.repeat(513)])('refuses text that is no id: %j', async (text) => {
    await expect(service.add({ task: 'embed', ids: { documentId: text } })).rejects.toThrow('not an id');
    await expect(service.add({ task: 'embed', ids: { documentId: 'a' }, key: text })).rejects.toThrow(
      'not an id',
    );
  });
});

describe('a key', () => {
  const add = (documentId: string, key: string, tenantId = service.tenantId) =>
    service.add({ task: 'embed', ids: { documentId }, key, tenantId });

  it('lets one job of a tenant wait', async () => {
    expect(await add('a', 'same')).toEqual(expect.any(String));
    expect(await add('b', 'same')).toBeUndefined();
    expect(await add('c', 'other')).toEqual(expect.any(String));
    expect(await add('d', 'same', newId())).toEqual(expect.any(String));
    await service.work();
    await eventually(noJobs);
    expect(service.handled().sort()).toEqual(['a', 'c', 'd']);
  });

  it('lets one job wait while another one runs', async () => {
    const release = Promise.withResolvers<undefined>();
    await service.work({ handle: () => release.promise });
    await add('first', 'same');
    await eventually(() => expect(service.handled()).toEqual(['first']));
    expect(await add('second', 'same')).toEqual(expect.any(String));
    release.resolve(undefined);
    await eventually(() => expect(service.handled()).toEqual(['first', 'second']));
  });

  it('lets several transactions agree on one job', async () => {
    const added = await Promise.all(Array.from({ length: 10 }, (_, n) => add(`${n}`, 'same')));
    expect(added.filter((id) => id !== undefined)).toHaveLength(1);
    expect(await service.rows()).toHaveLength(1);
  });

  it('cancels the job that waits', async () => {
    const other = newId();
    await add('mine', 'same');
    await add('theirs', 'same', other);
    const cancel = (tenantId: string) =>
      withTenant(service.app, service.tenantId, (db) =>
        service.jobs.cancel(db, { task: 'embed', tenantId, key: 'same' }),
      );
    // Row-level security hides the job of the other tenant.
    expect([await cancel(other), await cancel(service.tenantId)]).toEqual([0, 1]);
    expect((await service.rows()).map(({ data }) => data)).toEqual([{ documentId: 'theirs' }]);
  });
});

describe('the roles of a service', () => {
  it('are subject to row-level security in every table', async () => {
    expect(await tablesWithoutPolicies(service.database.adminUrl, 'memory_jobs')).toEqual([]);
    const owned = await query(
      service.database.adminUrl,
      `select relname from pg_class where relnamespace = 'memory_jobs'::regnamespace
         and relowner in ('memory_app'::regrole, 'memory_system'::regrole)`,
    );
    expect(owned).toEqual([]);
  });

  it('can add and see jobs of their tenant only', async () => {
    const other = newId();
    await service.add({ task: 'embed', ids: { documentId: 'theirs' }, tenantId: other });
    await service.add({ task: 'embed', ids: { documentId: 'mine' } });
    const seen = await withTenant(service.app, service.tenantId, (db) =>
      db.query<{ data: unknown }>('select data from memory_jobs.job_common'),
    );
    expect(seen.rows).toEqual([{ data: { documentId: 'mine' } }]);
    const all = withTenant(service.app, service.tenantId, (db) =>
      db.query('select data from memory_jobs.job'),
    );
    await expect(all).rejects.toThrow('permission denied');
    const foreign = withTenant(service.app, service.tenantId, (db) =>
      service.jobs.add(db, { task: 'embed', tenantId: other, ids: { documentId: 'x' } }),
    );
    await expect(foreign).rejects.toThrow('row-level security');
    const without = service.jobs.add(service.app, {
      task: 'embed',
      tenantId: other,
      ids: { documentId: 'x' },
    });
    await expect(without).rejects.toThrow('no tenant is set');
  });
});

describe('tasks', () => {
  const create = (options: Partial<typeof someTask>, name = 'embed') =>
    new Jobs({
      service: 'memory',
      tasks: { [name]: { ...someTask, ...options } },
      system: service.system,
      log: undefined as never,
    });

  it('must not let one tenant take all slots', () => {
    expect(() => create({ perTenant: 4 })).toThrow('less than concurrency');
    expect(() => create({ perTenant: 0 })).toThrow('at least 1');
  });

  it('must have usable names and options', () => {
    expect(() => create({}, 'Embed it')).toThrow('no name');
    expect(() => create({}, 'dead')).toThrow('no name');
    expect(() => create({ retryAfterS: [-1] })).toThrow('retryAfterS');
    expect(() => create({ deadlineMs: 0 })).toThrow('deadlineMs');
  });

  it('keep their order, as jobs of older releases wait', async () => {
    const changed = service.makeJobs({ ...tasks, embed: { ...tasks.embed, inOrder: true } });
    await expect(changed.createQueues()).rejects.toThrow('another name');
  });

  it('in order need a key', async () => {
    await expect(service.add({ task: 'reply', ids: { messageId: 'a' } })).rejects.toThrow('needs a key');
  });
});

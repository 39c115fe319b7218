import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { sleep } from '@gatehouse/kit/clock';
import { AppError } from '@gatehouse/kit/errors';
import { newId } from '@gatehouse/kit/ids';
import { withTenant } from '@gatehouse/pg/pool';
import { pino } from 'pino';
import { eventually } from '@gatehouse/test/eventually';
import { query } from '@gatehouse/test/query';
import { JobsUnderTest, type Call } from '../test/harness.ts';
import { someTask, tasks } from '../test/tasks.ts';
import { deleteExpired, deleteOldest } from './store/job-system-store.ts';

/** The schedule of retries that the Svix service has for webhooks. */
const hours = 3600;
const svix = [5, 300, 1_800, 2 * hours, 5 * hours, 10 * hours, 10 * hours];

let service: JobsUnderTest;
beforeAll(async () => {
  service = await JobsUnderTest.start({
    embed: { ...tasks.embed, retryAfterS: svix },
    reply: { ...tasks.reply, retryAfterS: [0.3], deadlineMs: 300 },
  });
});
afterEach(async () => {
  await service.stopWorkers();
  await query(service.database.adminUrl, 'delete from memory_jobs.job');
  service.calls.splice(0);
});
afterAll(() => service.stop());

const add = (documentId: string, tenantId = service.tenantId) =>
  service.add({ task: 'embed', ids: { documentId }, tenantId });
const reply = (messageId: string, key = 'conversation') =>
  service.add({ task: 'reply', ids: { messageId }, key });
const fail = (): Promise<never> => Promise.reject(new AppError('provider_timeout', 'of a secret document'));

/** Lets the only job run now, however long it should wait. */
async function skipDelay(): Promise<void> {
  await query(
    service.database.adminUrl,
    `update memory_jobs.job set start_after = now() where name <> 'dead'`,
  );
}

/** The lines of a log. */
function recordedLog() {
  const lines: Record<string, unknown>[] = [];
  const log = pino(
    { level: 'info' },
    { write: (line: string) => void lines.push(JSON.parse(line) as Record<string, unknown>) },
  );
  return { log, lines };
}

describe('a failed job', () => {
  it('is tried again on the schedule of its task, and is dead after the last attempt', async () => {
    const { log, lines } = recordedLog();
    const { registry } = await service.work({ handle: fail, log });
    await add('a');
    for (const [index, delay] of svix.entries()) {
      const [row] = await eventually(async () => {
        const rows = await service.rows();
        expect(rows).toMatchObject([{ state: 'retry', retry_count: index }]);
        return rows;
      });
      expect(row?.in_seconds).toBeGreaterThan(delay - 2);
      expect(row?.in_seconds).toBeLessThan(delay + 0.5);
      await skipDelay();
    }
    const dead = {
      name: 'dead',
      source_name: 'embed',
      group_id: service.tenantId,
      data: { documentId: 'a' },
      source_output: { code: 'provider_timeout' },
    };
    await eventually(async () => expect(await service.rows()).toMatchObject([dead]));
    expect(service.calls.map(({ context }) => context.attempt)).toEqual([1, 2, 3, 4, 5, 6, 7, 8]);
    expect(service.calls.map(({ context }) => context.lastAttempt).indexOf(true)).toBe(7);
    expect(lines.filter(({ level }) => level === 50)).toMatchObject([
      { task: 'embed', tenant_id: service.tenantId, msg: expect.stringContaining('last time') },
    ]);
    await eventually(async () => {
      const metrics = await registry.metrics();
      expect(metrics).toContain('gatehouse_jobs_failed_total{task="embed"} 8');
      expect(metrics).toContain('gatehouse_jobs_dead_total{task="embed"} 1');
      expect(metrics).toContain('gatehouse_jobs_dead 1');
      expect(metrics).toContain('gatehouse_jobs_waiting{task="embed"} 0');
    });
    // The error's message may contain content.
    expect(JSON.stringify(await service.rows())).not.toContain('secret');
  });

  it('may work the next time', async () => {
    const handle = ({ context }: Call) => (context.attempt === 1 ? fail() : Promise.resolve());
    const { registry } = await service.work({ handle });
    await reply('a');
    await eventually(async () => {
      expect(await service.rows()).toEqual([]);
      expect(service.calls).toHaveLength(2);
    });
    expect(await registry.metrics()).toContain('gatehouse_jobs_done_total{task="reply"} 1');
  });

  it('keeps what is looked for again from being added beside it', async () => {
    await service.work({ handle: fail });
    const again = (unlessTried?: true) =>
      service.add({ task: 'embed', ids: { documentId: 'a' }, key: 'a', ...(unlessTried && { unlessTried }) });
    await again();
    await eventually(async () => expect(await service.rows()).toMatchObject([{ state: 'retry' }]));
    expect(await again(true)).toBeUndefined();
    expect(await service.rows()).toHaveLength(1);
    expect(await again()).toEqual(expect.any(String));
  });

  it('fails at its deadline, also if its handler ignores the signal', async () => {
    const reasons: unknown[] = [];
    const handle = async ({ context: { attempt, signal } }: Call): Promise<void> => {
      signal.addEventListener('abort', () => reasons.push((signal.reason as Error).name));
      if (attempt === 1) await sleep(8_000);
    };
    await service.work({ handle });
    await reply('slow');
    const began = performance.now();
    await eventually(() => expect(service.calls).toHaveLength(2));
    // The deadline, a second's grace, the delay, a poll.
    expect(performance.now() - began).toBeLessThan(8_000);
    expect(reasons).toEqual(['TimeoutError']);
    await eventually(async () => expect(await service.rows()).toEqual([]));
  });
});

describe('dead jobs', () => {
  it('can be put back as the README says', async () => {
    const readme = await readFile(path.join(import.meta.dirname, '../README.md'), 'utf8');
    const [list, putBack] = /```sql\n([^]+?)```/.exec(readme)?.[1]?.split(';') ?? [];
    await service.work({ handle: ({ context }) => (context.lastAttempt ? Promise.resolve() : fail()) });
    await query(
      service.database.adminUrl,
      `insert into memory_jobs.job (name, policy, group_id, data, source_name, source_retry_count)
       values ('dead', 'standard', '${service.tenantId}', '{"messageId": "a"}', 'reply', 1)`,
    );
    await query(service.database.adminUrl, `update memory_jobs.job set singleton_key = 'conversation'`);
    const [dead] = await query<{ id: string }>(service.database.adminUrl, list ?? '');
    expect(dead).toMatchObject({ source_name: 'reply', tenant_id: service.tenantId });
    await query(service.database.adminUrl, (putBack ?? '').replace('…', dead?.id ?? ''));
    await eventually(async () => expect(await service.rows()).toEqual([]));
    expect(service.calls.map(({ context }) => context.attempt)).toEqual([1, 2]);
  });

  it('are kept for 30 days, at most 1,000 of them', async () => {
    await query(
      service.database.adminUrl,
      `insert into memory_jobs.job (name, policy, group_id, created_on)
       select 'dead', 'standard', 'g', now() - n * interval '12 hours' from generate_series(1, 100) as n`,
    );
    const options = { queue: 'dead', days: 30, most: 1_000 };
    expect(await deleteOldest(service.system, 'memory_jobs', options)).toBe(41);
    expect(await deleteOldest(service.system, 'memory_jobs', { ...options, most: 10 })).toBe(49);
    expect(await service.rows()).toHaveLength(10);
  });

  it('do not include jobs that waited for 30 days, which are deleted', async () => {
    await add('a');
    await add('b');
    expect(await deleteExpired(service.system, 'memory_jobs')).toEqual([]);
    await query(
      service.database.adminUrl,
      `update memory_jobs.job set keep_until = now() - interval '1 s' where data ->> 'documentId' = 'a'`,
    );
    expect(await deleteExpired(service.system, 'memory_jobs')).toEqual([{ task: 'embed', jobs: 1 }]);
    expect(await service.rows()).toHaveLength(1);
  });
});

describe('fairness', () => {
  it('leaves slots to other tenants while one has more jobs than slots', async () => {
    const small = newId();
    for (let n = 0; n < 20; n += 1) await add(`large ${n}`);
    const release = Promise.withResolvers<undefined>();
    const handle = ({ context }: Call) => (context.tenantId === small ? Promise.resolve() : release.promise);
    const { registry } = await service.work({ handle });
    await eventually(() => expect(service.handled()).toHaveLength(someTask.perTenant));
    for (let n = 0; n < 5; n += 1) {
      await add(`small ${n}`, small);
      await eventually(() => expect(service.handled()).toContain(`small ${n}`), 1_000);
    }
    await sleep(300);
    expect(service.handled()).toHaveLength(someTask.perTenant + 5);
    await eventually(async () => {
      const metrics = await registry.metrics();
      expect(metrics).toContain('gatehouse_jobs_waiting{task="embed"} 17');
      expect(metrics).toContain(`gatehouse_jobs_running{task="embed"} ${someTask.perTenant}`);
      const age = /gatehouse_jobs_oldest_age_seconds\{task="embed"\} ([\d.]+)/.exec(metrics);
      expect(Number(age?.[1])).toBeGreaterThan(0.2);
    });
    release.resolve(undefined);
    await eventually(async () => expect(await service.rows()).toEqual([]));
    expect(service.handled()).toHaveLength(25);
  });
});

describe('jobs in order', () => {
  it('run one at a time for each key, beside those of other keys', async () => {
    const running = new Set<string>();
    const both = Promise.withResolvers<undefined>();
    const handle = async ({ ids }: Call): Promise<void> => {
      const key = ids.messageId?.charAt(0) ?? '';
      expect(running).not.toContain(key);
      running.add(key);
      if (running.size === 2) both.resolve(undefined);
      await both.promise;
      await sleep(20);
      running.delete(key);
    };
    await service.work({ handle });
    await service.work({ handle });
    for (const name of ['a', 'b', 'c', 'd']) for (const key of ['1', '2']) await reply(`${key}${name}`, key);
    await eventually(async () => expect(await service.rows()).toEqual([]));
    expect(running.size).toBe(0);
  });

  it('wait once for each key, at the earlier time', async () => {
    const later = (afterS: number) =>
      service.add({ task: 'reply', ids: { messageId: 'a' }, key: 'conversation', afterS });
    expect(await later(600)).toEqual(expect.any(String));
    expect(await later(60)).toBeUndefined();
    expect(await later(300)).toBeUndefined();
    const rows = await service.rows();
    expect(rows).toHaveLength(1);
    expect(rows[0]?.in_seconds).toBeLessThan(61);
  });

  it('start once every transaction is over that relies on them', async () => {
    await reply('first');
    await withTenant(service.app, service.tenantId, async (db) => {
      const { tenantId } = service;
      await service.jobs.add(db, {
        task: 'reply',
        tenantId,
        ids: { messageId: 'first' },
        key: 'conversation',
      });
      await service.work();
      await sleep(400);
      expect(service.handled()).toEqual([]);
    });
    await eventually(() => expect(service.handled()).toEqual(['first']));
  });

  it('do in their next attempt what was added meanwhile, and nothing waits beside them', async () => {
    const release = Promise.withResolvers<undefined>();
    const handle = ({ context }: Call) =>
      context.attempt === 1 ? release.promise.then(fail) : Promise.resolve();
    await service.work({ handle });
    await reply('first');
    await eventually(() => expect(service.handled()).toEqual(['first']));
    await reply('while it runs');
    expect(await service.rows()).toHaveLength(2);
    release.resolve(undefined);
    await eventually(async () => expect(await service.rows()).toMatchObject([{ state: 'retry' }]));
    await reply('while it waits');
    await eventually(async () => expect(await service.rows()).toEqual([]));
    expect(service.handled()).toEqual(['first', 'first']);
  });

  it('keep the keys of tenants apart', async () => {
    const release = Promise.withResolvers<undefined>();
    await service.work({
      handle: ({ ids }) => (ids.messageId === 'a' ? release.promise : Promise.resolve()),
    });
    await reply('a', 'same');
    await service.add({ task: 'reply', ids: { messageId: 'b' }, key: 'same', tenantId: newId() });
    await eventually(() => expect(service.handled().sort()).toEqual(['a', 'b']));
    release.resolve(undefined);
  });
});

describe('a drain', () => {
  it('starts nothing more and waits for running jobs', async () => {
    const release = Promise.withResolvers<undefined>();
    const { worker } = await service.work({ handle: () => release.promise });
    await add('running');
    await eventually(() => expect(service.handled()).toEqual(['running']));
    worker.drain();
    await add('waiting');
    const stopped = worker.stop();
    await sleep(300);
    release.resolve(undefined);
    await stopped;
    expect(service.handled()).toEqual(['running']);
    expect(await service.rows()).toMatchObject([{ state: 'created', data: { documentId: 'waiting' } }]);
  });

  it('releases what does not end in time for another replica, as if it had not begun', async () => {
    const handle = ({ context: { signal } }: Call) =>
      new Promise<void>((_resolve, reject) =>
        signal.addEventListener('abort', () => reject(signal.reason as Error)),
      );
    const { worker } = await service.work({ handle, drainTimeoutMs: 200 });
    await add('a');
    await eventually(() => expect(service.handled()).toEqual(['a']));
    const began = performance.now();
    await worker.stop();
    expect(performance.now() - began).toBeLessThan(1_500);
    expect(await service.rows()).toMatchObject([{ state: 'created', retry_count: 0 }]);
    await service.work();
    await eventually(() => expect(service.handled()).toEqual(['a', 'a']));
    expect(service.calls.map(({ context }) => context.attempt)).toEqual([1, 1]);
  });

  it('releases also what ignores its signal, and drops what a newer job with its key does', async () => {
    const hang = Promise.withResolvers<undefined>();
    const { worker } = await service.work({ handle: () => hang.promise, drainTimeoutMs: 0 });
    await service.add({ task: 'embed', ids: { documentId: 'old' }, key: 'same' });
    await eventually(() => expect(service.handled()).toEqual(['old']));
    await service.add({ task: 'embed', ids: { documentId: 'new' }, key: 'same' });
    await worker.stop();
    expect(await service.rows()).toMatchObject([{ state: 'created', data: { documentId: 'new' } }]);
    hang.resolve(undefined);
  });
});

describe('a job that was taken for lost', () => {
  it('is aborted where it still runs, and its end there changes nothing', async () => {
    const release = Promise.withResolvers<undefined>();
    const aborted = Promise.withResolvers<undefined>();
    const handle = async ({ context: { attempt, signal } }: Call): Promise<void> => {
      if (attempt > 1) return release.promise.then(() => undefined);
      await new Promise((resolve) => signal.addEventListener('abort', resolve));
      aborted.resolve(undefined);
    };
    const { registry } = await service.work({ handle });
    await add('a');
    await eventually(() => expect(service.calls).toHaveLength(1));
    // Another replica does this with the jobs of a paused one.
    await query(service.database.adminUrl, `update memory_jobs.job set state = 'retry'`);
    await aborted.promise;
    await eventually(() => expect(service.calls.map(({ context }) => context.attempt)).toEqual([1, 2]));
    expect(await service.rows()).toMatchObject([{ state: 'active', retry_count: 1 }]);
    release.resolve(undefined);
    await eventually(async () => expect(await service.rows()).toEqual([]));
    expect(await registry.metrics()).toContain('gatehouse_jobs_done_total{task="embed"} 1');
  });

  it('is aborted in a replica that drains while another one runs it', async () => {
    const aborted = Promise.withResolvers<unknown>();
    const handle = ({ context: { signal } }: Call) =>
      new Promise<void>((resolve) =>
        signal.addEventListener('abort', () => {
          aborted.resolve(signal.reason);
          resolve();
        }),
      );
    const { worker } = await service.work({ handle });
    await add('a');
    await eventually(() => expect(service.calls).toHaveLength(1));
    worker.drain();
    await query(service.database.adminUrl, `update memory_jobs.job set state = 'retry'`);
    const other = await service.work();
    await eventually(async () => expect(await service.rows()).toEqual([]));
    expect(String(await aborted.promise)).toContain('taken the job over');
    expect(await other.registry.metrics()).toContain('gatehouse_jobs_done_total{task="embed"} 1');
  });

  it('is dead if that was its last attempt', async () => {
    await add('a');
    await query(
      service.database.adminUrl,
      `update memory_jobs.job set state = 'active', retry_count = 7, started_on = now(), heartbeat_on = now() - interval '1 min'`,
    );
    const { registry } = await service.work();
    await eventually(async () => expect(await service.rows()).toMatchObject([{ name: 'dead' }]));
    expect(await registry.metrics()).toContain('gatehouse_jobs_dead_total{task="embed"} 1');
    expect(service.calls).toEqual([]);
  });
});

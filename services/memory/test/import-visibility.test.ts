import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { sleep } from '@gatehouse/kit/clock';
import { newId } from '@gatehouse/kit/ids';
import type { Service } from '@gatehouse/shell/service';
import { lockWaits } from '@gatehouse/test/lock-waits';
import { eventually } from '@gatehouse/test/eventually';
import { Client } from 'pg';
import { MemoryServiceUnderTest, type TestTenant } from './memory-service.ts';
import { manyDocuments, MovingClient } from './moving-client.ts';

/** Imports as others see them while they run, and the end of one that fails. */

let memory: MemoryServiceUnderTest;
let moving: MovingClient;
let replica: Service;
beforeAll(async () => {
  memory = await MemoryServiceUnderTest.start();
  moving = new MovingClient(memory);
  replica = await memory.startReplica();
});
afterAll(async () => {
  await replica.stop();
  await memory.stop();
});

/** Waits until an import has stored so many documents of one passage and waits for more. */
async function untilStaged(tenant: TestTenant, count: number): Promise<void> {
  await eventually(async () => {
    const rows = await memory.rows(
      `select 1 from memory.chunks as c join memory.scopes as s on s.id = c.scope_id
       where c.tenant_id = $1 and s.generation > 0`,
      [tenant.id],
    );
    expect(rows.length).toBeGreaterThanOrEqual(count);
  });
}

/** Waits until nothing of unfinished or published imports is left to do. Searches at the same time slow that down. */
async function untilFinished(tenant: TestTenant): Promise<void> {
  await eventually(
    async () =>
      expect(await memory.rows('select 1 from memory.imports where tenant_id = $1', [tenant.id])).toEqual([]),
    60_000,
  );
}

/** Those of the two generations of texts that a tenant's paths have, by search and get. */
async function seen(tenant: TestTenant): Promise<Set<string>> {
  const [found, read] = await Promise.all([
    memory.search(tenant, { query: 'walrus otter', limit: 50 }),
    memory.get(tenant, 'doc/00003'),
  ]);
  const texts = [...found.body.results.map(({ text }) => text), read.body.text];
  return new Set(texts.map((text) => (text.includes('otter') ? 'otter' : 'walrus')));
}

describe('while an import runs', () => {
  it('searches see the old documents, then all of the new ones, and never both', async () => {
    const tenant = memory.makeTenant();
    await moving.import(tenant, manyDocuments(60, { about: 'walrus' }));
    let done = false;
    const views: Set<string>[] = [];
    const watch = async (): Promise<void> => {
      while (!done) {
        const found = await memory.search(tenant, { query: 'walrus otter', limit: 50 });
        views.push(
          new Set(found.body.results.map(({ text }) => (text.includes('otter') ? 'otter' : 'walrus'))),
        );
        expect(found.body.results).toHaveLength(50);
        expect(await memory.stats(tenant)).toMatchObject({ documents: 60 });
        await sleep(10);
      }
    };
    const watching = [watch(), watch()];
    await moving.import(tenant, manyDocuments(60, { about: 'otter' }));
    expect(await seen(tenant)).toEqual(new Set(['otter']));
    await untilFinished(tenant);
    done = true;
    await Promise.all(watching);
    for (const view of views) expect(view.size).toBe(1);
    expect(views.length).toBeGreaterThan(2);
    expect(
      await memory.rows(`select 1 from memory.documents where tenant_id = $1 and text like '%walrus%'`, [
        tenant.id,
      ]),
    ).toEqual([]);
  });

  it('puts, deletions and forgetting go on, and an import replaces what was put before it ended', async () => {
    const tenant = memory.makeTenant();
    await memory.put(tenant, 'doc/00001', 'Old walrus.');
    await memory.put(tenant, 'doc/00002', 'Old walrus.');
    await memory.put(tenant, 'kept', 'Old walrus.');
    const open = await moving.open(tenant);
    await open.send(manyDocuments(210, { about: 'otter' }));
    await untilStaged(tenant, 100);
    expect(await memory.pathsFor(tenant, 'otter')).toEqual([]);
    expect((await memory.put(tenant, 'doc/00001', 'New walrus.')).status).toBe(200);
    expect((await memory.put(tenant, 'doc/00005', 'New walrus.')).status).toBe(201);
    expect((await memory.get(tenant, 'doc/00005')).body.text).toBe('New walrus.');
    const path = `${tenant.base}/memory/documents/doc/00002`;
    expect((await memory.call('DELETE', path, { as: tenant.admin })).status).toBe(204);
    expect((await memory.pathsFor(tenant, 'walrus')).sort()).toEqual(['doc/00001', 'doc/00005', 'kept']);
    open.end();
    expect((await open.answer).counts).toMatchObject({ documents: 210 });
    expect(await memory.pathsFor(tenant, 'walrus')).toEqual(['kept']);
    expect(await memory.stats(tenant)).toMatchObject({ documents: 211 });
    const forget = await memory.call('POST', `${tenant.base}/memory/forget`, {
      as: tenant.admin,
      body: { path_prefix: 'doc/' },
    });
    expect(forget.body).toMatchObject({ documents: 210 });
    expect(await memory.stats(tenant)).toMatchObject({ documents: 1 });
    await untilFinished(tenant);
    const rows = await memory.rows<{ path: string }>(
      'select path from memory.documents where tenant_id = $1',
      [tenant.id],
    );
    expect(rows).toEqual([{ path: 'kept' }]);
    const [use] = await memory.rows(
      'select documents::int, bytes::int from memory.tenants where tenant_id = $1',
      [tenant.id],
    );
    expect(use).toEqual({ documents: 1, bytes: Buffer.byteLength('kept' + 'Old walrus.') });
  });

  it('a request to forget leaves what an import stores, which comes after it', async () => {
    const tenant = memory.makeTenant();
    await memory.put(tenant, 'doc/before', 'Old walrus.');
    const open = await moving.open(tenant);
    await open.send(manyDocuments(210));
    await untilStaged(tenant, 100);
    const body = { path_prefix: 'doc/' };
    const forget = await memory.call('POST', `${tenant.base}/memory/forget`, { as: tenant.admin, body });
    expect(forget.body).toMatchObject({ documents: 1 });
    open.end();
    expect((await open.answer).counts).toMatchObject({ documents: 210 });
    expect(await memory.stats(tenant)).toMatchObject({ documents: 210 });
  });

  it('another one into the same agent by another replica waits for it, and nothing is lost', async () => {
    const tenant = memory.makeTenant();
    const first = await moving.open(tenant);
    await first.send(manyDocuments(150, { about: 'walrus' }));
    await untilStaged(tenant, 100);
    const second = moving.import(tenant, manyDocuments(150, { about: 'otter', prefix: 'more' }), {
      port: replica.httpPort,
    });
    await first.send(manyDocuments(10, { about: 'walrus', prefix: 'last' }));
    first.end();
    expect((await first.answer).counts).toMatchObject({ documents: 160 });
    expect((await second).counts).toMatchObject({ documents: 150 });
    expect(await memory.stats(tenant)).toMatchObject({ documents: 310 });
    expect(await moving.export(tenant)).toHaveLength(310);
  });

  it('another one of the tenant by the same replica is refused, and other tenants are not', async () => {
    const [tenant, other] = [memory.makeTenant(), memory.makeTenant()];
    const open = await moving.open(tenant);
    await open.send(manyDocuments(110));
    await untilStaged(tenant, 100);
    const refused = await moving.import(tenant, [{ path: 'a', text: 'b' }]);
    expect([refused.status, refused.error?.code, refused.headers['retry-after']]).toEqual([
      429,
      'rate_limit_exceeded',
      '5',
    ]);
    expect((await moving.import(other, [{ path: 'a', text: 'b' }])).status).toBe(200);
    open.end();
    expect((await open.answer).status).toBe(200);
    expect((await moving.import(tenant, [{ path: 'a', text: 'b' }])).status).toBe(200);
  });

  it('no transaction is open while the client is slow', async () => {
    const tenant = memory.makeTenant();
    const open = await moving.open(tenant);
    await open.send(manyDocuments(210));
    await untilStaged(tenant, 200);
    await eventually(async () => {
      const busy = await memory.rows(
        `select query from pg_stat_activity where state <> 'idle' and application_name like '%memory_app' and datname = current_database()`,
      );
      expect(busy).toEqual([]);
    });
    open.end();
    await open.answer;
  });
});

describe('an import that does not end', () => {
  it('because its client leaves, leaves nothing', async () => {
    const tenant = memory.makeTenant();
    const open = await moving.open(tenant);
    await open.send(manyDocuments(210, { about: 'otter' }));
    await untilStaged(tenant, 100);
    open.abort();
    await untilFinished(tenant);
    expect(await memory.rows('select 1 from memory.postings where tenant_id = $1', [tenant.id])).toEqual([]);
    expect(await moving.export(tenant)).toEqual([]);
    expect((await moving.import(tenant, manyDocuments(60))).status).toBe(200);
  });

  it('because it reaches a limit of its tenant, leaves nothing; the limit counts what it replaces', async () => {
    const tenant = memory.makeTenant();
    memory.tenant.settings.set(tenant.id, {
      memoryLimits: { documents: 60n, bytes: 60_000n, entities: 0n },
    });
    for (const count of [3, 60]) {
      expect((await moving.import(tenant, manyDocuments(count))).status).toBe(200);
      expect((await moving.import(tenant, manyDocuments(count))).status).toBe(200);
    }
    for (const count of [1, 70]) {
      const answer = await moving.import(tenant, manyDocuments(count, { prefix: 'more' }));
      expect([answer.status, answer.error?.code]).toEqual([403, 'limit_reached']);
    }
    const large = await moving.import(tenant, [{ path: 'doc/00001', text: 'x '.repeat(20_000) }]);
    expect([large.status, large.error?.message]).toEqual([
      403,
      'The tenant has reached its limit of memory bytes: 60000.',
    ]);
    expect(await memory.stats(tenant)).toMatchObject({ documents: 60 });
    await untilFinished(tenant);
    const [held] = await memory.rows('select count(*)::int as n from memory.documents where tenant_id = $1', [
      tenant.id,
    ]);
    expect(held).toEqual({ n: 60 });
  });

  it('because the data of one of its users were deleted meanwhile, leaves nothing', async () => {
    const tenant = memory.makeTenant();
    const open = await moving.open(tenant);
    const ofAnn = manyDocuments(110).map((document) => ({ ...document, user_id: 'ann' }));
    await open.send(ofAnn);
    await untilStaged(tenant, 100);
    const requestedAtMs = BigInt(Date.now());
    const forgotten = await (
      await memory.participant('tenant')
    ).call(
      'forgetUser',
      { tenantId: tenant.id, userId: 'ann', deletionId: newId(), requestedAtMs },
      { deadlineMs: 5_000 },
    );
    expect(forgotten.completed).toBe(true);
    expect(await memory.rows('select 1 from memory.documents where tenant_id = $1', [tenant.id])).toEqual([]);
    await open.send(
      manyDocuments(110, { prefix: 'more' }).map((document) => ({ ...document, user_id: 'ann' })),
    );
    open.end();
    expect((await open.answer).status).toBe(404);
    await untilFinished(tenant);
    expect(await memory.rows('select 1 from memory.documents where tenant_id = $1', [tenant.id])).toEqual([]);
    const [use] = await memory.rows(
      'select documents::int, bytes::int from memory.tenants where tenant_id = $1',
      [tenant.id],
    );
    expect(use ?? { documents: 0, bytes: 0 }).toEqual({ documents: 0, bytes: 0 });
    expect((await moving.import(tenant, ofAnn.slice(0, 2))).status).toBe(200);
  });

  it('because its agent was deleted, leaves nothing', async () => {
    const tenant = memory.makeTenant();
    const open = await moving.open(tenant);
    await open.send(manyDocuments(110));
    await untilStaged(tenant, 100);
    await memory.rows('update memory.agents set deleted_at = now() where agent_id = $1', [tenant.agentId]);
    open.end();
    expect((await open.answer).status).toBe(404);
    await untilFinished(tenant);
    expect(await memory.rows('select 1 from memory.documents where tenant_id = $1', [tenant.id])).toEqual([]);
  });

  it('because it was discarded as dead, is not published', async () => {
    const tenant = memory.makeTenant();
    const open = await moving.open(tenant);
    await open.send(manyDocuments(110));
    await untilStaged(tenant, 100);
    await memory.rows(`update memory.imports set alive_at = now() - interval '2 min' where tenant_id = $1`, [
      tenant.id,
    ]);
    expect((await moving.import(tenant, manyDocuments(60), { port: replica.httpPort })).status).toBe(200);
    await open.send(manyDocuments(10, { prefix: 'last' }));
    open.end();
    expect((await open.answer).status).toBe(503);
    await untilFinished(tenant);
    expect(await moving.export(tenant)).toHaveLength(60);
  });
});

describe('publishing', () => {
  it('waits for writers, and later writers wait for it, so that a put is not lost between them', async () => {
    const tenant = memory.makeTenant();
    await memory.put(tenant, 'doc/00001', 'Old.');
    const blocker = new Client({ connectionString: memory.database.adminUrl });
    await blocker.connect();
    try {
      await blocker.query('begin');
      await blocker.query(`select pg_advisory_xact_lock_shared(hashtextextended($1, 0))`, [
        `memory of ${tenant.agentId}`,
      ]);
      const imported = moving.import(tenant, manyDocuments(60, { about: 'otter' }));
      // The import waits for the blocker, and the put for the import.
      await eventually(async () =>
        expect(
          await memory.rows(
            `select 1 from ${lockWaits} where locktype = 'advisory' and mode = 'ExclusiveLock'`,
          ),
        ).not.toEqual([]),
      );
      const put = memory.put(tenant, 'late', 'Late.');
      await blocker.query('commit');
      expect((await imported).status).toBe(200);
      expect((await put).status).toBe(201);
      expect((await memory.get(tenant, 'doc/00001')).body.text).toContain('otter');
      expect((await memory.get(tenant, 'late')).status).toBe(200);
    } finally {
      await blocker.end();
    }
  });
});

import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { newId } from '@gatehouse/kit/ids';
import { eventually } from '@gatehouse/test/eventually';
import { recordPlans, wastefulJoins, wholeTables, type ExecutedPlan } from '@gatehouse/test/plan-recorder';
import { GraphClient } from './graph-client.ts';
import { MemoryServiceUnderTest, type TestTenant } from './memory-service.ts';
import { manyDocuments, MovingClient } from './moving-client.ts';
import { addOtherTenants, addPassages } from './other-tenants.ts';

/** Requests of a tenant in a database with 3,000 others, whose small memories PostgreSQL expects everywhere. */

let memory: MemoryServiceUnderTest;
let recorded: { plans: ExecutedPlan[]; stop(): void };
beforeAll(async () => {
  memory = await MemoryServiceUnderTest.start({}, async (ground) => {
    await addOtherTenants(ground);
    recorded = await recordPlans(ground);
  });
  memory.chat.model = 'embed-small';
});
afterAll(async () => {
  recorded.stop();
  await memory.stop();
});
beforeEach(() => {
  recorded.plans.length = 0;
});

/** Every statement since the test began found its rows by an index. */
function expectIndexes(): void {
  expect(recorded.plans.length).toBeGreaterThan(0);
  expect(wastefulJoins(recorded.plans)).toEqual([]);
  expect(wholeTables(recorded.plans)).toEqual([]);
}

/** About 28 kB in 50 passages, with words of their own. */
function longText(about: string): string {
  const words = (n: number) => Array.from({ length: 80 }, (_, at) => `${about}${(n * 31 + at * 7) % 900}`);
  return Array.from({ length: 50 }, (_, n) => `## Part ${n} of ${about}\n\n${words(n).join(' ')}.\n`).join(
    '\n',
  );
}

async function untilEmbedded(tenant: TestTenant): Promise<void> {
  await eventually(
    async () => expect(await memory.stats(tenant)).toMatchObject({ pending_embeddings: 0 }),
    60_000,
  );
}

describe('in a database with 3,000 other memories', () => {
  it('a document beside hundreds of passages is replaced, embedded, deleted and forgotten by its keys', async () => {
    const tenant = memory.makeTenant();
    for (let n = 0; n < 9; n += 1) await memory.put(tenant, `long/${n}`, longText(`word${n}x`));
    expect((await memory.put(tenant, 'long/0', longText('otherx'))).status).toBe(200);
    await untilEmbedded(tenant);
    expect((await memory.stats(tenant)).chunks).toBeGreaterThan(400);
    expect(await memory.pathsFor(tenant, 'otherx7')).toContain('long/0');
    await memory.call('DELETE', `${tenant.base}/memory/documents/long/1`, { as: tenant.admin });
    const forget = { as: tenant.admin, body: { path_prefix: 'long/' } };
    const { body } = await memory.call('POST', `${tenant.base}/memory/forget`, forget);
    expect(body).toMatchObject({ documents: 8 });
    expectIndexes();
    expect(await memory.rows('select from memory.postings where tenant_id = $1', [tenant.id])).toEqual([]);
  });

  it('a search with a filter, by words and by meaning, reads what passes by its keys', async () => {
    const tenant = memory.makeTenant();
    for (let n = 0; n < 9; n += 1) await memory.put(tenant, `long/${n}`, longText(`dog word${n}x`));
    await untilEmbedded(tenant);
    recorded.plans.length = 0;
    for (const mode of ['lexical', 'semantic', 'hybrid'])
      for (const filter of [{ path_prefix: 'long/3' }, { since: '2000-01-01T00:00:00Z' }, {}]) {
        const { body } = await memory.search(tenant, { query: 'dog word3x7', mode, filter });
        expect([body.mode, body.results.length]).toEqual([mode, 10]);
      }
    expectIndexes();
  });

  it('a changed analyser rebuilds the index by its keys', async () => {
    const tenant = memory.makeTenant({ analyser: 'english' });
    for (let n = 0; n < 8; n += 1) await memory.put(tenant, `long/${n}`, longText(`word${n}x`));
    memory.agents.setAnalyser(tenant.agentId, 'simple');
    await eventually(async () => {
      await memory.search(tenant, { query: 'anything' });
      expect(
        await memory.rows(
          `select from memory.agents where tenant_id = $1 and analyser = 'simple' and not mixed`,
          [tenant.id],
        ),
      ).toHaveLength(1);
    });
    expectIndexes();
  });

  it('an import replaces what is there by its keys', async () => {
    const tenant = memory.makeTenant();
    const moving = new MovingClient(memory);
    const documents = manyDocuments(400);
    for (const about of ['First.', 'Second.'])
      expect((await moving.import(tenant, manyDocuments(400, { about }))).counts).toMatchObject({
        documents: 400,
      });
    expect(await moving.export(tenant)).toHaveLength(documents.length);
    await eventually(
      async () =>
        expect(await memory.rows('select from memory.imports where tenant_id = $1', [tenant.id])).toEqual([]),
      60_000,
    );
    expectIndexes();
  });

  it('a graph is stored, changed, traversed and deleted by its keys', async () => {
    const graph = new GraphClient(memory, memory.makeTenant());
    const names = Array.from({ length: 300 }, (_, n) => `e${n}`);
    for (const description of ['First.', 'Second.']) {
      const entities = names.map((name) => ({ external_id: name, name, type: 'thing', description }));
      expect((await graph.entities(...entities)).status).toBe(200);
    }
    for (const weight of [1, 2])
      await graph.link(
        ...names.flatMap((name, n) =>
          n === 0 ? [] : [`e0>${name}:${weight}`, `${name}>e${(n + 7) % 300}:${weight}`],
        ),
      );
    expect((await graph.traverse({ start: ['e0'], fan_out: 300, max_nodes: 300 })).body.nodes).toHaveLength(
      300,
    );
    const [hub] = (await graph.call('GET', 'entities?q=e0')).body.data;
    expect((await graph.call('DELETE', `entities/${hub?.id}`)).status).toBe(204);
    expectIndexes();
  });
});

it('everything of a user with 10,000 passages, 3,000 entities and 500 conversations is deleted in a minute', async () => {
  const tenant = memory.makeTenant();
  const ann = tenant.acting('ann');
  await memory.put(tenant, 'first', 'The first note.', ann);
  await addPassages(memory.ground, `s.tenant_id = '${tenant.id}' and s.user_id = 'ann'`, 2_000);
  const graph = new GraphClient(memory, tenant, ann);
  for (let from = 0; from < 3_000; from += 500) {
    const names = Array.from({ length: 500 }, (_, n) => `e${from + n}`);
    await graph.entities(...names.map((name) => ({ external_id: name, name, type: 'thing' })));
    await graph.link(...names.map((name) => `${name}>e0`));
  }
  expect((await memory.stats(tenant, ann)).chunks).toBe(10_001);
  recorded.plans.length = 0;
  const peer = await memory.participant('tenant');
  const request = {
    tenantId: tenant.id,
    userId: 'ann',
    deletionId: newId(),
    requestedAtMs: BigInt(Date.now()),
  };
  const startedAt = Date.now();
  // A call that fails is repeated, as by the tenant service: on a busy machine a connection may drop.
  await eventually(async () => {
    const { completed } = await peer.call('forgetUser', request, { deadlineMs: 100_000 });
    expect(completed).toBe(true);
  }, 60_000);
  expect(Date.now() - startedAt).toBeLessThan(60_000);
  for (const table of ['documents', 'chunks', 'postings', 'entities', 'relations'])
    expect(await memory.rows(`select from memory.${table} where tenant_id = $1`, [tenant.id])).toEqual([]);
  expectIndexes();
}, 300_000);

import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { eventually } from '@gatehouse/test/eventually';
import { MemoryServiceUnderTest, type TestTenant } from './memory-service.ts';

let memory: MemoryServiceUnderTest;
beforeAll(async () => {
  memory = await MemoryServiceUnderTest.start();
});
afterAll(() => memory.stop());

/** An agent stays in the cache for five seconds. */
const noticedMs = 50_000;

/** How many passages of a tenant were analysed by each analyser. */
async function analysed(tenant: TestTenant): Promise<Record<string, number>> {
  const rows = await memory.rows<{ analyser: string; chunks: number }>(
    'select analyser, count(*)::int as chunks from memory.chunks where tenant_id = $1 group by 1',
    [tenant.id],
  );
  return Object.fromEntries(rows.map(({ analyser, chunks }) => [analyser, chunks]));
}

async function changeAnalyser(tenant: TestTenant, analyser: string, passages: number): Promise<void> {
  memory.agents.setAnalyser(tenant.agentId, analyser);
  await eventually(async () => {
    await memory.search(tenant, { query: 'anything' });
    expect(await analysed(tenant)).toEqual({ [analyser]: passages });
  }, noticedMs);
  await eventually(async () =>
    expect(await memory.rows('select mixed from memory.agents where tenant_id = $1', [tenant.id])).toEqual([
      { mixed: false },
    ]),
  );
}

/** What the index has, without the numbers of passages, which differ. */
async function index(tenant: TestTenant): Promise<unknown[]> {
  return memory.rows(
    `select s.user_id, s.chunks, s.tokens, p.term, sum(octet_length(p.entries)) as bytes
     from memory.scopes as s join memory.postings as p on p.tenant_id = s.tenant_id and p.scope_id = s.id
     where s.tenant_id = $1 group by 1, 2, 3, 4 order by 1, 4`,
    [tenant.id],
  );
}

const texts = Array.from(
  { length: 20 },
  (_, n) => `# Part ${n}\n\nThe engines of getUserById were ${n} times tested.\n\n東京都の鉄道 ${n}\n`,
);

async function fill(tenant: TestTenant): Promise<void> {
  const long = texts.map((text) => text.repeat(140)).join('\n');
  await memory.put(tenant, 'long', long);
  for (const [n, text] of texts.entries()) await memory.put(tenant, `short/${n}`, text);
  await memory.put(tenant, 'hers', 'Ann tests 東京.', tenant.acting('ann'));
}

it('a changed analyser rebuilds the index in the background, as if all had been put anew', async () => {
  const tenant = memory.makeTenant({ analyser: 'english' });
  await fill(tenant);
  const before = await index(tenant);
  const { chunks } = await memory.stats(tenant, tenant.acting('ann'));
  expect(chunks).toBeGreaterThan(250);
  expect(await memory.pathsFor(tenant, '京都の')).toEqual([]);

  await changeAnalyser(tenant, 'simple', chunks);
  expect((await memory.pathsFor(tenant, '東京')).length).toBeGreaterThan(0);
  expect(await memory.pathsFor(tenant, 'testing')).not.toContain('hers');
  const anew = memory.makeTenant({ analyser: 'simple' });
  await fill(anew);
  expect(await index(tenant)).toEqual(await index(anew));

  await changeAnalyser(tenant, 'english', chunks);
  expect(await index(tenant)).toEqual(before);
}, 180_000);

it('while it is rebuilt, everything is found that either analyser finds', async () => {
  const tenant = memory.makeTenant({ analyser: 'simple' });
  await memory.put(tenant, 'simple', '東京都の鉄道');
  const setAnalyser = (analyser: string) =>
    memory.rows('update memory.agents set analyser = $2, mixed = true where tenant_id = $1', [
      tenant.id,
      analyser,
    ]);
  await setAnalyser('english');
  await memory.put(tenant, 'english', 'The engines were tested.');
  await setAnalyser('simple');
  expect(await analysed(tenant)).toEqual({ english: 1, simple: 1 });
  expect(await memory.pathsFor(tenant, 'engine testing')).toEqual(['english']);
  expect(await memory.pathsFor(tenant, '京都')).toEqual(['simple']);
});

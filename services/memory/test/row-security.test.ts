import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { newId } from '@gatehouse/kit/ids';
import { eventually } from '@gatehouse/test/eventually';
import { Client } from 'pg';
import { GraphClient } from './graph-client.ts';
import { MemoryServiceUnderTest, type TestTenant } from './memory-service.ts';

let memory: MemoryServiceUnderTest;
let mine: TestTenant;
let theirs: TestTenant;
/** Statements that lost their filter. */
let unfiltered = 0;
const query = Object.getOwnPropertyDescriptor(Client.prototype, 'query');

/** Both tenants have an agent with the same id and an acting user of the same name: only the tenant differs. */
beforeAll(async () => {
  memory = await MemoryServiceUnderTest.start();
  memory.chat.model = 'embed-small';
  const agent = newId();
  mine = memory.makeTenant({ agent });
  theirs = memory.makeTenant({ agent });
  for (const [tenant, owner] of [
    [mine, 'mine'],
    [theirs, 'theirs'],
  ] as const) {
    await memory.put(tenant, `${owner}/agent`, `The car of the agent: ${owner}.`);
    await memory.put(tenant, `${owner}/ann`, `The car of Ann: ${owner}.`, tenant.acting('ann'));
    const graph = new GraphClient(memory, tenant);
    await graph.things('start', `${owner}-end`);
    await graph.link(`start>${owner}-end`);
    await eventually(async () =>
      expect(await memory.stats(tenant, tenant.acting('ann'))).toMatchObject({
        documents: 2,
        pending_embeddings: 0,
      }),
    );
  }
  withoutTenantFilter();
});
afterAll(async () => {
  if (query !== undefined) Object.defineProperty(Client.prototype, 'query', query);
  await memory.stop();
});

/** Takes the condition for the tenant out of all statements that read. */
function withoutTenantFilter(): void {
  const original = query?.value as (this: Client, ...input: unknown[]) => unknown;
  const replaced = function (this: Client, text: unknown, ...rest: unknown[]): unknown {
    if (typeof text !== 'string' || !/^\s*(?:select|with)\b/.test(text))
      return original.call(this, text, ...rest);
    const open = text.replaceAll(/(?:\w+\.)?tenant_id = \$1\b/g, '$1::uuid is not null');
    if (open !== text) unfiltered += 1;
    return original.call(this, open, ...rest);
  };
  Object.defineProperty(Client.prototype, 'query', { ...query, value: replaced });
}

/** Everything that a caller gets by reading, as text. */
async function readAll(): Promise<string> {
  const as = mine.acting('ann');
  const graph = new GraphClient(memory, mine);
  const search = (mode: string) => memory.search(mine, { query: 'car', mode, limit: 50 }, as);
  const answers = [
    ...(await Promise.all(['lexical', 'semantic', 'hybrid'].map(search))),
    await memory.call('GET', `${mine.base}/memory/documents`, { as }),
    await memory.get(mine, 'mine/ann', as),
    await memory.get(mine, 'theirs/agent', as),
    await memory.call('GET', `${mine.base}/memory/stats`, { as }),
    await graph.call('GET', 'entities'),
    await graph.traverse({ start: ['start'], depth: 2 }),
  ];
  return answers.map(({ body }) => JSON.stringify(body)).join('\n');
}

it('row-level security alone keeps tenants apart, in every way to read', async () => {
  const text = await readAll();
  expect(unfiltered).toBeGreaterThan(10);
  expect(text).toContain('The car of Ann: mine.');
  expect(text).toContain('mine-end');
  expect(text).not.toContain('theirs');
});

it('without it, the same statements would mix them', async () => {
  const tables = [
    'agents',
    'scopes',
    'documents',
    'chunks',
    'postings',
    'embeddings',
    'graphs',
    'entities',
    'relations',
  ];
  for (const table of tables) await memory.rows(`alter table memory.${table} disable row level security`);
  const text = await readAll();
  expect(text).toContain('The car of the agent: theirs.');
  expect(text).toContain('theirs-end');
});

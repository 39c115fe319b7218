import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { lockWaits } from '@gatehouse/test/lock-waits';
import { eventually } from '@gatehouse/test/eventually';
import { Client } from 'pg';
import { MemoryServiceUnderTest, type TestTenant } from './memory-service.ts';
import { manyDocuments, MovingClient, type OpenImport } from './moving-client.ts';

/** A service that is killed while it imports, and another one that finds what it left. */

let memory: MemoryServiceUnderTest;
let moving: MovingClient;
let child: ChildProcess;
let port: number;
let tenant: TestTenant;
let blocker: Client;

beforeAll(async () => {
  memory = await MemoryServiceUnderTest.start();
  moving = new MovingClient(memory);
});
afterAll(() => memory.stop());

/** Starts a service in a process of its own, with a tenant whose memory has some documents. */
async function startVictim(): Promise<void> {
  tenant = memory.makeTenant();
  await moving.import(tenant, manyDocuments(20, { about: 'walrus' }));
  const main = fileURLToPath(new URL('../src/main.ts', import.meta.url));
  child = spawn(process.execPath, [main], {
    env: { ...memory.environment(), LOG_LEVEL: 'info' },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const { stdout } = child;
  if (stdout === null) throw new Error('no output');
  port = await new Promise<number>((resolve) => {
    createInterface({ input: stdout }).on('line', (line) => {
      const entry = JSON.parse(line) as { msg?: string; http_port?: number };
      if (entry.msg === 'listening') resolve(entry.http_port ?? 0);
    });
  });
  blocker = new Client({ connectionString: memory.database.adminUrl });
  await blocker.connect();
  await blocker.query('begin');
}

async function kill(): Promise<void> {
  child.kill('SIGKILL');
  await once(child, 'exit');
  await blocker.end();
}

const count = async (table: string, where = 'true'): Promise<number> =>
  (await memory.rows(`select 1 from memory.${table} where tenant_id = $1 and ${where}`, [tenant.id])).length;

/** Another service that starts now, and sweeps. */
async function sweep(): Promise<void> {
  const replica = await memory.startReplica();
  try {
    await eventually(async () => expect(await count('imports')).toBe(0));
  } finally {
    await replica.stop();
  }
}

/** Everything that is stored, as it must be for these documents of 2 passages at most. */
async function expectOnly(documents: number, about: string): Promise<void> {
  expect(await count('documents')).toBe(documents);
  expect(await count('chunks')).toBe(documents);
  expect(await count('scopes', 'generation > 0 and documents = 0')).toBe(0);
  expect(await count('agents', `cardinality(hidden) + cardinality(replacing) > 0`)).toBe(0);
  const orphans = await memory.rows(
    'select 1 from memory.postings as p where not exists (select 1 from memory.scopes as s where s.id = p.scope_id)',
  );
  expect(orphans).toEqual([]);
  expect(await memory.stats(tenant)).toMatchObject({ documents, chunks: documents });
  const exported = await moving.export(tenant);
  expect(exported).toHaveLength(documents);
  for (const { text } of exported) expect(text).toContain(about);
  const found = await memory.search(tenant, { query: about, limit: 50 });
  expect(found.body.results).toHaveLength(Math.min(50, documents));
  const [use] = await memory.rows('select documents::int from memory.tenants where tenant_id = $1', [
    tenant.id,
  ]);
  expect(use).toEqual({ documents });
}

/** Nothing of the killed import was published, and nothing is left of it after the sweep. */
async function expectNothing(): Promise<void> {
  expect(await memory.pathsFor(tenant, 'otter')).toEqual([]);
  expect(await memory.stats(tenant)).toMatchObject({ documents: 20 });
  await memory.rows(`update memory.imports set alive_at = now() - interval '61 s' where tenant_id = $1`, [
    tenant.id,
  ]);
  await sweep();
  await expectOnly(20, 'walrus');
}

async function open(documents: number): Promise<OpenImport> {
  const opened = await moving.open(tenant, { port });
  await opened.send(manyDocuments(documents, { about: 'otter' }));
  return opened;
}

describe('a service that is killed', () => {
  it('while it stores documents leaves nothing visible, and nothing after the sweep', async () => {
    await startVictim();
    await open(210);
    await eventually(async () => expect(await count('chunks')).toBeGreaterThanOrEqual(120));
    await kill();
    await expectNothing();
  });

  it('between documents and their passages leaves nothing', async () => {
    await startVictim();
    await blocker.query('lock table memory.chunks in share mode');
    await open(210);
    await eventually(async () => expect(await count('documents')).toBe(120));
    await kill();
    expect(await count('chunks')).toBe(20);
    await expectNothing();
  });

  it('before it publishes leaves nothing', async () => {
    await startVictim();
    const opened = await open(110);
    await eventually(async () => expect(await count('documents', 'replaced_by is not null')).toBe(20));
    await blocker.query('lock table memory.tenants in share mode');
    opened.end();
    await eventually(async () =>
      expect(
        await memory.rows(`select 1 from ${lockWaits} where relation = 'memory.tenants'::regclass`),
      ).toHaveLength(1),
    );
    await kill();
    await expectNothing();
  });

  it('before it has removed what an import replaced leaves the new documents alone', async () => {
    await startVictim();
    const opened = await open(110);
    await eventually(async () => expect(await count('documents', 'replaced_by is not null')).toBe(20));
    await blocker.query('select 1 from memory.scopes where tenant_id = $1 and generation = 0 for update', [
      tenant.id,
    ]);
    opened.end();
    expect((await opened.answer).counts).toMatchObject({ documents: 110 });
    await kill();
    expect(await count('documents')).toBe(130);
    expect(await memory.stats(tenant)).toMatchObject({ documents: 110, chunks: 110 });
    expect(await moving.export(tenant)).toHaveLength(110);
    await sweep();
    await expectOnly(110, 'otter');
  });

  it('does not take a living import of another with it', async () => {
    await startVictim();
    await kill();
    const opened = await moving.open(tenant);
    await opened.send(manyDocuments(110, { about: 'otter' }));
    await eventually(async () => expect(await count('documents')).toBe(120));
    const replica = await memory.startReplica();
    await new Promise((resolve) => setTimeout(resolve, 1_500));
    await replica.stop();
    opened.end();
    expect((await opened.answer).counts).toMatchObject({ documents: 110 });
  });
});

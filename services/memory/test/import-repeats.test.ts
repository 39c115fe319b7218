import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { eventually } from '@gatehouse/test/eventually';
import { MemoryServiceUnderTest, type TestTenant } from './memory-service.ts';
import { manyDocuments, MovingClient, type ImportLine, type ImportOptions } from './moving-client.ts';

/** Imports with an `Idempotency-Key`. Their bodies are hashed while they are stored. */

let memory: MemoryServiceUnderTest;
let moving: MovingClient;
beforeAll(async () => {
  memory = await MemoryServiceUnderTest.start();
  moving = new MovingClient(memory);
});
afterAll(() => memory.stop());

/** By one API key of the tenant: the answer is only repeated to that. */
const sent = (tenant: TestTenant, key: string): ImportOptions => ({
  as: { ...tenant.admin, keyId: tenant.agentId },
  headers: { 'idempotency-key': key },
});

async function keyed(
  tenant: TestTenant,
  key: string,
  lines: readonly ImportLine[],
  options: ImportOptions = {},
): Promise<unknown[]> {
  const answer = await moving.import(tenant, lines, { ...sent(tenant, key), ...options });
  return [
    answer.status,
    answer.error?.code ?? answer.counts?.documents,
    answer.headers['idempotency-replayed'],
  ];
}

describe('a repeated import', () => {
  it.each([
    ['small', 2],
    ['large', 120],
  ])('that is %s gets the first answer and takes no effect', async (_size, count) => {
    const tenant = memory.makeTenant();
    const key = randomUUID();
    const documents = manyDocuments(count);
    expect(await keyed(tenant, key, documents)).toEqual([200, count, undefined]);
    await memory.put(tenant, 'doc/00001', 'Put later.');
    expect(await keyed(tenant, key, documents)).toEqual([200, count, 'true']);
    expect((await memory.get(tenant, 'doc/00001')).body.text).toBe('Put later.');
    expect(await keyed(tenant, key, documents.slice(1))).toEqual([409, 'idempotency_key_reused', undefined]);
    expect(await keyed(tenant, randomUUID(), documents)).toEqual([200, count, undefined]);
    expect((await memory.get(tenant, 'doc/00001')).body.text).toBe(documents[1]?.text);
  });

  it('of another key of the tenant is refused', async () => {
    const tenant = memory.makeTenant();
    const key = randomUUID();
    const as = { ...tenant.admin, keyId: randomUUID() };
    expect(await keyed(tenant, key, manyDocuments(1), { as })).toEqual([200, 1, undefined]);
    const other = { ...as, keyId: randomUUID() };
    expect(await keyed(tenant, key, manyDocuments(1), { as: other })).toEqual([
      409,
      'idempotency_key_reused',
      undefined,
    ]);
  });

  it('may follow one with a bad line, or one whose client left', async () => {
    const tenant = memory.makeTenant();
    const key = randomUUID();
    expect(await keyed(tenant, key, [...manyDocuments(2), '{'])).toEqual([400, 'invalid_json', undefined]);
    const open = await moving.open(tenant, sent(tenant, key));
    await open.send(manyDocuments(120));
    await eventually(async () => expect(await memory.rows('select 1 from memory.imports')).toHaveLength(1));
    open.abort();
    await eventually(async () =>
      expect(await memory.rows('select 1 from memory.idempotency_records where key = $1', [key])).toEqual([]),
    );
    // The slot is given back last.
    await eventually(async () =>
      expect(await keyed(tenant, key, manyDocuments(3))).toEqual([200, 3, undefined]),
    );
    expect(await moving.export(tenant)).toHaveLength(3);
  });

  it('waits its turn on any replica while the first one runs', async () => {
    const tenant = memory.makeTenant();
    const key = randomUUID();
    const replica = await memory.startReplica();
    const open = await moving.open(tenant, sent(tenant, key));
    await open.send(manyDocuments(120));
    await eventually(async () =>
      expect(
        await memory.rows('select 1 from memory.idempotency_records where key = $1', [key]),
      ).toHaveLength(1),
    );
    const options = { port: replica.httpPort };
    expect(await keyed(tenant, key, manyDocuments(1), options)).toEqual([
      409,
      'idempotency_in_progress',
      undefined,
    ]);
    open.end();
    expect((await open.answer).status).toBe(200);
    expect(await keyed(tenant, key, manyDocuments(120), options)).toEqual([200, 120, 'true']);
    await replica.stop();
  });

  it('that took over the key of a dead one is the only one that takes effect', async () => {
    const tenant = memory.makeTenant();
    const key = randomUUID();
    const open = await moving.open(tenant, sent(tenant, key));
    await open.send(manyDocuments(120));
    await eventually(async () =>
      expect(await memory.rows('select 1 from memory.chunks where tenant_id = $1', [tenant.id])).toHaveLength(
        100,
      ),
    );
    await memory.rows('update memory.idempotency_records set expires_at = now() where key = $1', [key]);
    await memory.rows(`update memory.imports set alive_at = now() - interval '2 min' where tenant_id = $1`, [
      tenant.id,
    ]);
    const replica = await memory.startReplica();
    const options = { port: replica.httpPort };
    expect(await keyed(tenant, key, manyDocuments(2, { prefix: 'new' }), options)).toEqual([
      200,
      2,
      undefined,
    ]);
    await replica.stop();
    open.end();
    expect([409, 503]).toContain((await open.answer).status);
    expect((await moving.export(tenant)).map(({ path }) => path)).toEqual(['new/00000', 'new/00001']);
    expect(await keyed(tenant, key, manyDocuments(2, { prefix: 'new' }))).toEqual([200, 2, 'true']);
  });
});

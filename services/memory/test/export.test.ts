import { once } from 'node:events';
import { get, type IncomingMessage } from 'node:http';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { sleep } from '@gatehouse/kit/clock';
import { eventually } from '@gatehouse/test/eventually';
import { MemoryServiceUnderTest, type TestTenant } from './memory-service.ts';
import { MovingClient, recordsOf } from './moving-client.ts';

let memory: MemoryServiceUnderTest;
let moving: MovingClient;
let tenant: TestTenant;
/** Documents of a megabyte each: more than the buffers of a connection hold, 33 MB on some systems. */
const paths = Array.from({ length: 48 }, (_, n) => `large/${String(n).padStart(2, '0')}`);

beforeAll(async () => {
  memory = await MemoryServiceUnderTest.start();
  moving = new MovingClient(memory);
  tenant = memory.makeTenant();
  await memory.put(tenant, 'first', 'Makes the memory.');
  // Without passages, which take the longest to store.
  await memory.rows(
    `insert into memory.documents (id, tenant_id, scope_id, path, metadata, source_kind, text, bytes, chunks)
     select gen_random_uuid(), $1, s.id, path, '{}', 'api', repeat('x', 1000000), 1000000, 0
     from memory.scopes as s, unnest($2::text[]) as path where s.tenant_id = $1`,
    [tenant.id, paths],
  );
  await memory.rows(
    'update memory.scopes set documents = documents + 48, bytes = bytes + 48000000 where tenant_id = $1',
    [tenant.id],
  );
  await memory.rows(
    'update memory.tenants set documents = documents + 48, bytes = bytes + 48000000 where tenant_id = $1',
    [tenant.id],
  );
});
afterAll(() => memory.stop());

/** An export whose client reads nothing until it asks for the text. */
async function slowExport(): Promise<IncomingMessage> {
  const asked = get({
    host: '127.0.0.1',
    port: memory.service.httpPort,
    path: `${tenant.base}/memory/export`,
    headers: { 'x-gatehouse-assertion': await memory.identity.assertion(tenant.admin) },
  });
  const [response] = (await once(asked, 'response')) as [IncomingMessage];
  return response;
}

/** Connections that are held, or that were used a moment ago. */
const sessionsInUse = () =>
  memory.rows<{ state: string }>(
    `select state from pg_stat_activity where application_name like '%memory_app' and datname = current_database()
     and (state <> 'idle' or state_change > clock_timestamp() - interval '500 ms')`,
  );

/** The time for which the database takes no connection. */
const outageMs = 1_500;

describe('an export to a client that does not read', () => {
  it('holds no database connection, and changes meanwhile are seen page by page', async () => {
    const response = await slowExport();
    // The head follows the first page. Pages are read until the buffers of the connection are full.
    await eventually(async () => expect(await sessionsInUse()).toEqual([]));
    await memory.put(tenant, 'large/47', 'Changed.');
    await memory.call('DELETE', `${tenant.base}/memory/documents/large/46`, { as: tenant.admin });
    await memory.put(tenant, 'large/00', 'Changed.');
    const records = recordsOf(await text(response));
    expect(records.map(({ path }) => path)).toEqual([
      'first',
      ...paths.filter((path) => path !== 'large/46'),
    ]);
    expect(records[1]?.text).toHaveLength(1_000_000);
    expect(records.at(-1)?.text).toBe('Changed.');
  });

  it('goes on when the database was away for a moment', async () => {
    const response = await slowExport();
    const limit = (connections: number) =>
      memory.rows(
        `alter database "${new URL(memory.database.url).pathname.slice(1)}" connection limit ${connections}`,
      );
    await limit(0);
    await memory.rows(
      `select pg_terminate_backend(pid) from pg_stat_activity
       where application_name like 'gatehouse memory%' and datname = current_database()`,
    );
    const records = text(response);
    await sleep(outageMs);
    await limit(-1);
    expect(recordsOf(await records)).toHaveLength(48);
  });

  it('takes a slot of its tenant, of two, until it leaves', async () => {
    const responses = [await slowExport(), await slowExport()];
    const status = async () => {
      const response = await moving.openExport(tenant);
      await response.body?.cancel();
      return response.status;
    };
    await eventually(async () => expect(await status()).toBe(429));
    const other = memory.makeTenant();
    expect(await moving.export(other)).toEqual([]);
    for (const response of responses) response.destroy();
    await eventually(async () => expect(await status()).toBe(200));
  });
});

it('a HEAD request has no body', async () => {
  const response = await fetch(`http://127.0.0.1:${memory.service.httpPort}${tenant.base}/memory/export`, {
    method: 'HEAD',
    headers: { 'x-gatehouse-assertion': await memory.identity.assertion(tenant.admin) },
  });
  expect([response.status, await response.text()]).toEqual([200, '']);
});

import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { routes } from '@gatehouse/contract/routes';
import { Verifier } from '@gatehouse/identity/verifier';
import { AuditOutbox } from '@gatehouse/events/store/audit-outbox-store';
import { createApp, type Call, type Handler } from '@gatehouse/http/app';
import { HttpServer } from '@gatehouse/http/server';
import type { Principal } from '@gatehouse/identity/principal';
import { AppError, type ErrorCode } from '@gatehouse/kit/errors';
import { createLogger } from '@gatehouse/kit/log';
import { httpDuration, Registry } from '@gatehouse/kit/metrics';
import { deleteOldRows } from '@gatehouse/pg/clean-up-store';
import { createPool, type Pool } from '@gatehouse/pg/pool';
import { KeyRing } from '@gatehouse/secrets/key-ring';
import { createTestDatabase, type TestDatabase } from '@gatehouse/test/database';
import { DatabaseProxy } from '@gatehouse/test/database-proxy';
import { gate } from '@gatehouse/test/gate';
import { makePrincipal, testIdentity, type TestIdentity } from '@gatehouse/test/identity';
import { Changes } from './changes.ts';
import { oldRecords } from './store/idempotency-system-store.ts';

/** Two replicas of a service over one database, with one creating route that calls the functions of the test. */

const log = createLogger('test', 'silent');
const silent = { host: '127.0.0.1', port: 0, drainTimeoutMs: 1_000 };

let database: TestDatabase;
let proxy: DatabaseProxy;
let identity: TestIdentity;
let app: Pool;
let system: Pool;
let admin: Pool;
let replicas: HttpServer[];
/** Functions called in the handler before the effect, and inside its transaction. */
let before: () => Promise<void>;
let within: () => Promise<void>;
let principal: Principal;

function creating(changes: Changes): Handler {
  return async (call: Call<{ name: string }>) => {
    await before();
    return changes.change(call, async (db) => {
      const { rows } = await db.query<{ id: string }>(
        'insert into agent.effects (name) values ($1) returning id::text',
        [call.body.name],
      );
      await within();
      const id = rows[0]?.id ?? '';
      return {
        body: { id, secret: 'hush-hush' },
        headers: { location: `/v1/agents/${id}` },
        changes: [{ action: 'agent.created', id, before: null, after: { name: call.body.name } }],
      };
    });
  };
}

beforeAll(async () => {
  [database, identity] = await Promise.all([createTestDatabase('agent'), testIdentity()]);
  proxy = new DatabaseProxy(database.url);
  await proxy.open();
  app = createPool({ url: proxy.url, role: 'agent_app', max: 10, log });
  system = createPool({ url: proxy.url, role: 'agent_system', max: 2, log });
  admin = createPool({ url: database.adminUrl, role: 'none', max: 2, log });
  await admin.query(
    'create table agent.effects (id bigint generated always as identity, name text); grant select, insert on agent.effects to agent_app',
  );
  const verifier = await Verifier.create(identity.publicKeys);
  const nothing: Handler = () => Promise.resolve({ body: {} });
  const forgets: Handler = async ({ body }: Call) => ({ body });
  const outbox = new AuditOutbox('agent');
  replicas = [creating, creating, () => forgets].map((handlerOf) => {
    const changes = new Changes({
      service: 'agent',
      app,
      system,
      keyRing: KeyRing.parse(identity.keyRing),
      record: (db, entry) => outbox.add(db, entry),
      log,
    });
    const others = routes.filter(({ service }) => service === 'agent').map(({ id }) => [id, nothing]);
    const handlers = {
      ...(Object.fromEntries(others) as Record<string, typeof nothing>),
      'agents.create': handlerOf(changes),
    };
    const { idempotency } = changes;
    const duration = httpDuration(new Registry());
    return new HttpServer(
      createApp({ service: 'agent', handlers, verifier, log, duration, idempotency }),
      silent,
    );
  });
  for (const replica of replicas) await replica.start();
});

afterAll(async () => {
  for (const replica of replicas) await replica.stop();
  for (const pool of [app, system, admin]) await pool.end();
  await proxy.cut();
  await database.drop();
});

beforeEach(() => {
  principal = makePrincipal();
  before = within = () => Promise.resolve();
});

interface Sent {
  as?: Principal;
  name?: string;
  replica?: number;
  headers?: Record<string, string>;
  signal?: AbortSignal;
}

async function send(key: string, sent: Sent = {}) {
  const { as = principal, name = 'a', replica = 0, headers = {}, signal } = sent;
  const response = await fetch(`http://127.0.0.1:${replicas[replica]?.port ?? 0}/v1/agents`, {
    method: 'POST',
    headers: {
      'x-gatehouse-assertion': await identity.assertion(as),
      'content-type': 'application/json',
      'idempotency-key': key,
      ...headers,
    },
    body: JSON.stringify({ key: 'k', model: 'm', name }),
    signal: signal ?? null,
  });
  const text = await response.text();
  const { error } = JSON.parse(text) as { error?: { code: string; param: string | null } };
  return {
    status: response.status,
    text,
    code: error?.code,
    param: error?.param,
    location: response.headers.get('location'),
    replayed: response.headers.get('idempotency-replayed'),
    retryAfter: response.headers.get('retry-after'),
  };
}

/** The number of audit entries of changes with this name. */
async function recorded(name: string): Promise<number> {
  const { rows } = await admin.query<{ n: number }>(
    `select count(*)::int as n from agent.audit_outbox where entry::jsonb -> 'after' ->> 'name' = $1`,
    [name],
  );
  return rows[0]?.n ?? -1;
}

async function effects(name: string): Promise<number> {
  const { rows } = await admin.query<{ n: number }>(
    'select count(*)::int as n from agent.effects where name = $1',
    [name],
  );
  return rows[0]?.n ?? -1;
}

/** Moves the expiry of the record of a key into the past. */
async function expire(key: string): Promise<void> {
  const { rowCount } = await admin.query(
    `update agent.idempotency_records set expires_at = now() - interval '1 ms' where key = $1`,
    [key],
  );
  expect(rowCount).toBe(1);
}

describe('a request with an Idempotency-Key', () => {
  it('takes effect once, and a repeat gets the same answer from any replica', async () => {
    const key = randomUUID();
    const first = await send(key, { name: key });
    expect(first).toMatchObject({ status: 201, replayed: null });
    const repeat = await send(key, { name: key, replica: 1 });
    expect(repeat).toEqual({ ...first, replayed: 'true' });
    expect(repeat.location).toMatch(/^\/v1\/agents\/\d+$/);
    expect([await effects(key), await recorded(key)]).toEqual([1, 1]);
  });

  it('takes effect once when twenty arrive at once on two replicas', async () => {
    const key = randomUUID();
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, n) => send(key, { name: key, replica: n % 2 })),
    );
    const fresh = answers.filter(({ status, replayed }) => status === 201 && replayed === null);
    expect(fresh).toHaveLength(1);
    for (const { text, code, replayed } of answers) {
      if (replayed !== null) expect(text).toBe(fresh[0]?.text);
      else if (code !== undefined) expect(code).toBe('idempotency_in_progress');
    }
    expect(await effects(key)).toBe(1);
    expect((await send(key, { name: key })).text).toBe(fresh[0]?.text);
  });

  it('may be repeated under another key, by another tenant, and after a day', async () => {
    const name = randomUUID();
    expect(await send(`${name} 1`, { name })).toMatchObject({ status: 201, replayed: null });
    expect(await send(`${name} 2`, { name })).toMatchObject({ status: 201, replayed: null });
    const elsewhere = await send(`${name} 1`, { name, as: makePrincipal() });
    expect(elsewhere).toMatchObject({ status: 201, replayed: null });
    await expire(`${name} 2`);
    expect(await send(`${name} 2`, { name })).toMatchObject({ status: 201, replayed: null });
    expect(await effects(name)).toBe(4);
  });

  it('is kept sealed for its day', async () => {
    const key = randomUUID();
    await send(key);
    const { rows } = await admin.query<{ text: string; response: Buffer; hours: number }>(
      `select records::text as text, response, extract(epoch from expires_at - now())::int / 3600.0 as hours
       from agent.idempotency_records records where key = $1`,
      [key],
    );
    expect(Number(rows[0]?.hours)).toBeCloseTo(24, 1);
    expect(rows[0]?.text).not.toContain('hush-hush');
    expect(rows[0]?.response.toString('latin1')).not.toContain('hush-hush');
  });

  it.each([
    ['another body', () => ({ name: 'b' })],
    ['another API key', () => ({ as: makePrincipal({ ...principal, keyId: randomUUID() }) })],
    ['another acting user', () => ({ as: { ...principal, userId: 'ann' } })],
  ])('is refused with %s', async (_what, other) => {
    const key = randomUUID();
    await send(key, { name: 'a' });
    const answer = await send(key, other());
    expect(answer).toMatchObject({ status: 409, code: 'idempotency_key_reused', param: 'Idempotency-Key' });
    expect(answer.text).not.toContain('hush-hush');
  });

  it.each([
    ['empty', ''],
    ['of 256 characters', 'x'.repeat(256)],
    ['not ASCII', 'schlüssel'],
  ])('is refused when the key is %s', async (_what, key) => {
    expect(await send(key)).toMatchObject({ status: 400, code: 'invalid_value', param: 'Idempotency-Key' });
  });

  it('takes a key of 255 characters', async () => {
    const key = randomUUID().padEnd(255, ' x');
    expect(await send(key)).toMatchObject({ status: 201 });
    expect(await send(key)).toMatchObject({ status: 201, replayed: 'true' });
  });
});

describe('a change on a route for tenants', () => {
  it('is refused to a principal without a tenant, however it got there', async () => {
    const key = randomUUID();
    const owner = makePrincipal({ role: 'owner', scopes: ['agents.write'] });
    expect(await send(key, { name: key, as: owner })).toMatchObject({ status: 403, code: 'role_missing' });
    expect(await effects(key)).toBe(0);
  });
});

describe('while the first request runs', () => {
  it('a repeat gets a 409 at first, and the answer afterwards', async () => {
    const key = randomUUID();
    const { arrived, pass, open } = gate();
    before = pass;
    const first = send(key);
    await arrived;
    expect(await send(key, { replica: 1 })).toMatchObject({
      status: 409,
      code: 'idempotency_in_progress',
      retryAfter: '1',
    });
    open();
    const { text } = await first;
    expect(await send(key, { replica: 1 })).toMatchObject({ status: 201, text, replayed: 'true' });
  });

  it.each(['before its effect', 'inside its transaction'])(
    'a repeat takes over after a minute, and the first request, held %s, no longer takes effect',
    async (where) => {
      const key = randomUUID();
      const { arrived, pass, open } = gate();
      if (where === 'before its effect') before = pass;
      else within = pass;
      const first = send(key, { name: key });
      await arrived;
      await expire(key);
      before = within = () => Promise.resolve();
      const second = await send(key, { name: key, replica: 1 });
      expect(second).toMatchObject({ status: 201, replayed: null });
      open();
      expect(await first).toMatchObject({ status: 409, code: 'idempotency_in_progress' });
      expect([await effects(key), await recorded(key)]).toEqual([1, 1]);
      expect(await send(key, { name: key })).toEqual({ ...second, replayed: 'true' });
    },
  );

  it('a claim that has expired and been removed is lost to it', async () => {
    const key = randomUUID();
    const { arrived, pass, open } = gate();
    before = pass;
    const first = send(key, { name: key });
    await arrived;
    await expire(key);
    await deleteOldRows(system, oldRecords('agent'), 100);
    open();
    expect((await first).status).toBe(409);
    expect(await effects(key)).toBe(0);
  });

  it('a client that leaves gets the answer with a repeat', async () => {
    const key = randomUUID();
    const { arrived, pass, open } = gate();
    const leaving = new AbortController();
    before = pass;
    const first = send(key, { name: key, signal: leaving.signal }).catch(() => null);
    await arrived;
    leaving.abort();
    expect(await first).toBeNull();
    open();
    let repeat = await send(key, { name: key });
    for (let attempt = 0; attempt < 100 && repeat.status === 409; attempt += 1)
      repeat = await send(key, { name: key });
    expect(repeat).toMatchObject({ status: 201, replayed: 'true' });
    expect(await effects(key)).toBe(1);
  });
});

describe('a request that fails', () => {
  it.each<ErrorCode>(['agent_key_taken', 'not_found', 'unknown_model'])(
    'with %s is refused the same way again',
    async (code) => {
      const key = randomUUID();
      before = () => Promise.reject(new AppError(code, 'No.', { param: 'key' }));
      const first = await send(key);
      expect(first).toMatchObject({ code, replayed: null });
      before = () => Promise.resolve();
      expect(await send(key)).toEqual({ ...first, replayed: 'true' });
    },
  );

  it.each<ErrorCode>(['internal', 'service_unavailable', 'scope_missing', 'provider_rate_limited'])(
    'with %s may be tried again at once',
    async (code) => {
      const key = randomUUID();
      before = () => Promise.reject(new AppError(code, 'Not now.'));
      expect((await send(key, { name: key })).code).toBe(code);
      before = () => Promise.resolve();
      expect(await send(key, { name: key })).toMatchObject({ status: 201, replayed: null });
    },
  );

  it('inside the transaction leaves neither effect nor answer', async () => {
    const key = randomUUID();
    within = () => Promise.reject(new AppError('service_unavailable', 'Not now.'));
    expect((await send(key, { name: key })).status).toBe(503);
    expect(await effects(key)).toBe(0);
    within = () => Promise.resolve();
    expect(await send(key, { name: key })).toMatchObject({ status: 201, replayed: null });
    expect(await effects(key)).toBe(1);
  });

  it('is an error of ours when the handler keeps no answer', async () => {
    expect(await send(randomUUID(), { replica: 2 })).toMatchObject({ status: 500, code: 'internal' });
  });
});

describe('while the database is away', () => {
  it('answers 503 and does nothing; a claim from before ends by itself', async () => {
    const [early, late] = [randomUUID(), randomUUID()];
    const { arrived, pass, open } = gate();
    before = pass;
    const first = send(early, { name: early });
    await arrived;
    await proxy.cut();
    open();
    expect(await first).toMatchObject({ status: 503, code: 'database_unavailable' });
    before = () => Promise.resolve();
    expect(await send(late, { name: late })).toMatchObject({ status: 503, code: 'database_unavailable' });
    await proxy.open();
    expect(await effects(early)).toBe(0);
    expect(await send(late, { name: late })).toMatchObject({ status: 201, replayed: null });
    expect((await send(early, { name: early })).code).toBe('idempotency_in_progress');
    await expire(early);
    expect(await send(early, { name: early })).toMatchObject({ status: 201, replayed: null });
    expect(await effects(early)).toBe(1);
  });
});

describe('removing', () => {
  it('takes what has expired, in small batches, and nothing else', async () => {
    await admin.query(`delete from agent.idempotency_records`);
    const keys = Array.from({ length: 5 }, () => randomUUID());
    for (const key of keys) await send(key);
    for (const key of keys.slice(0, 4)) await expire(key);
    const removed: number[] = [];
    for (let round = 0; round < 3; round += 1)
      removed.push(await deleteOldRows(system, oldRecords('agent'), 3));
    expect(removed).toEqual([3, 1, 0]);
    const { rows } = await admin.query<{ key: string }>('select key from agent.idempotency_records');
    expect(rows).toEqual([{ key: keys[4] }]);
  });
});

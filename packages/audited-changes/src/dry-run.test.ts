import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { routes } from '@gatehouse/contract/routes';
import { AuditOutbox } from '@gatehouse/events/store/audit-outbox-store';
import { AppError } from '@gatehouse/kit/errors';
import { newId } from '@gatehouse/kit/ids';
import { createLogger } from '@gatehouse/kit/log';
import { afterCommit, createPool, type Pool } from '@gatehouse/pg/pool';
import { KeyRing } from '@gatehouse/secrets/key-ring';
import { createTestDatabase, type TestDatabase } from '@gatehouse/test/database';
import { makePrincipal, testIdentity } from '@gatehouse/test/identity';
import { Changes } from './changes.ts';

const log = createLogger('test', 'silent');
const principal = makePrincipal();

let database: TestDatabase;
let app: Pool;
let admin: Pool;
let changes: Changes;

beforeAll(async () => {
  const [made, { keyRing }] = await Promise.all([createTestDatabase('agent'), testIdentity()]);
  database = made;
  app = createPool({ url: database.url, role: 'agent_app', max: 2, log });
  admin = createPool({ url: database.adminUrl, role: 'none', max: 1, log });
  await admin.query(
    'create table agent.effects (name text primary key); grant select, insert on agent.effects to agent_app',
  );
  const outbox = new AuditOutbox('agent');
  changes = new Changes({
    ...{ service: 'agent', app, system: app, keyRing: KeyRing.parse(keyRing), log },
    record: (db, entry) => outbox.add(db, entry),
  });
});

afterAll(async () => {
  for (const pool of [app, admin]) await pool.end();
  await database.drop();
});

const route = routes.find(({ id }) => id === 'agents.create');

/** Effects outside the database. */
let committed = 0;

async function create(name: string, { dryRun }: { dryRun: boolean }) {
  if (route === undefined) throw new Error('there is no such route');
  const call = { route, principal, clientIp: null, requestId: 'r', claim: null, dryRun };
  return changes.change(call, async (db) => {
    await db.query('insert into agent.effects (name) select $1', [name]).catch((error: unknown) => {
      throw new AppError('agent_key_taken', 'taken', { cause: error });
    });
    afterCommit(db, () => (committed += 1));
    return { body: { name }, changes: [{ action: 'agent.created', id: newId(), before: null, after: {} }] };
  });
}

/** The rows of the effect and of the audit log, and the effects outside the database. */
async function effects(): Promise<unknown> {
  const { rows } = await admin.query<{ rows: string[] }>(
    `select array[(select count(*) from agent.effects), (select count(*) from agent.audit_outbox)]::int[] as rows`,
  );
  return [...(rows[0]?.rows ?? []), committed];
}

it('returns the reply of the change, and has no effect in the database or outside', async () => {
  expect(await create('a', { dryRun: true })).toEqual({ body: { name: 'a' } });
  expect(await effects()).toEqual([0, 0, 0]);
  expect(await create('a', { dryRun: false })).toEqual({ body: { name: 'a' } });
  expect(await effects()).toEqual([1, 1, 1]);
});

it('fails as the change would', async () => {
  await expect(create('a', { dryRun: true })).rejects.toMatchObject({ code: 'agent_key_taken' });
  expect(await effects()).toEqual([1, 1, 1]);
});

import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { newId } from '@gatehouse/kit/ids';
import { createLogger } from '@gatehouse/kit/log';
import { createPool, type Pool } from '@gatehouse/pg/pool';
import { createTestDatabase, type TestDatabase } from '@gatehouse/test/database';
import { query } from '@gatehouse/test/query';
import { IdempotencySystemStore } from './store/idempotency-system-store.ts';

const digest = Buffer.alloc(32);

let database: TestDatabase;
let app: Pool;
let system: Pool;
let store: IdempotencySystemStore;
beforeAll(async () => {
  database = await createTestDatabase('agent');
  const log = createLogger('test', 'silent');
  app = createPool({ url: database.url, role: 'agent_app', max: 1, log });
  system = createPool({ url: database.url, role: 'agent_system', max: 1, log });
  store = new IdempotencySystemStore({ service: 'agent', app, system });
});
afterAll(async () => {
  await Promise.all([app.end(), system.end()]);
  await database.drop();
});

describe.each(['a tenant', 'an owner'])('the claim of %s', (who) => {
  let tenantId: string | null;
  let id: string;
  const claim = (by: string) =>
    store.claim({ tenantId, key: 'once', requestId: newId(), target: digest, fingerprint: digest }, by);
  const expire = () =>
    query(database.adminUrl, 'update agent.idempotency_records set expires_at = now() where id = $1', [id]);

  beforeEach(async () => {
    await query(database.adminUrl, 'delete from agent.idempotency_records');
    tenantId = who === 'a tenant' ? newId() : null;
    id = newId();
    expect(await claim(id)).toBeNull();
  });

  it('is kept by a renewal', async () => {
    await expire();
    expect(await store.renew(tenantId, id)).toBe(true);
    expect(await claim(newId())).toMatchObject({ id, response: null });
  });

  it('is not renewed once a repeat has taken it over, or it has its response', async () => {
    await expire();
    const other = newId();
    expect(await claim(other)).toBeNull();
    expect(await store.renew(tenantId, id)).toBe(false);
    await store.completeAlone(tenantId, {
      id: other,
      fingerprint: digest,
      response: Buffer.from('r'),
    });
    expect(await store.renew(tenantId, other)).toBe(false);
  });
});

import { describe, expect, it } from '@jest/globals';
import { sealedColumns as ofAgent } from '@gatehouse/service-agent/sealed-columns';
import { sealedColumns as ofChat } from '@gatehouse/service-chat/sealed-columns';
import { sealedColumns as ofTenant } from '@gatehouse/service-tenant/sealed-columns';
import { sealedColumns as ofWebhook } from '@gatehouse/service-webhook/sealed-columns';
import { classesOf, schemaColumns, type ServiceWithData } from '@gatehouse/test/column-classes';
import { createTestDatabase } from '@gatehouse/test/database';
import { query } from '@gatehouse/test/query';

interface Place {
  table: string;
  column: string;
}

/** The columns that each service moves to a new key of the ring. */
const moved: Record<ServiceWithData, readonly Place[]> = {
  ...{ tenant: ofTenant, agent: ofAgent, chat: ofChat, webhook: ofWebhook },
  ...{ analytics: [], memory: [] },
};

/** Bytes that are not sealed: hashes, and texts of users in a form of their own. */
const unsealed = /(_sha256|digest|_hash)$|\.(target|fingerprint|source|place|payload|entries|vector)$/;

describe.each(Object.keys(moved) as ServiceWithData[])('the columns of %s', (service) => {
  const classes = classesOf(service);

  it('have a class each', async () => {
    const database = await createTestDatabase(service);
    const columns = await query<{ name: string; type: string }>(database.adminUrl, schemaColumns, [service]);
    await database.drop();
    expect([...classes.keys()].toSorted()).toEqual(columns.map(({ name }) => name).toSorted());
    const sealed = columns.filter(({ name }) => ['secret', 'brief'].includes(classes.get(name) ?? ''));
    const bytes = columns.filter(({ name, type }) => type === 'bytea' && !unsealed.test(name));
    expect(sealed.map(({ name }) => name).toSorted()).toEqual(bytes.map(({ name }) => name).toSorted());
  });

  it('leave no ids of users in statistics after a deletion', async () => {
    const database = await createTestDatabase(service);
    const columns = await query(
      database.adminUrl,
      `select attstattarget from pg_attribute
       where attrelid = ($1 || '.user_deletions')::regclass and attname = 'user_id'`,
      [service],
    );
    await database.drop();
    expect(columns).toEqual([{ attstattarget: 0 }]);
  });

  it('move to a new key of the ring if they are sealed for more than a day', () => {
    const secret = [...classes].flatMap(([name, kind]) => (kind === 'secret' ? [name] : []));
    expect(moved[service].map(({ table, column }) => `${table}.${column}`).toSorted()).toEqual(
      secret.toSorted(),
    );
  });
});

import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { newId } from '@gatehouse/kit/ids';
import { SchemaBefore } from '@gatehouse/test/schema-before';
import type { Client } from 'pg';

const expansion = '0005_budget_spend.sql';

let schema: SchemaBefore;
let client: Client;
beforeAll(async () => {
  schema = await SchemaBefore.create('tenant', expansion);
  client = schema.client;
});
afterAll(async () => schema.drop());

it('what budgets had used counts as spent when their window began, under a plain owner too', async () => {
  const [id, idle] = [newId(), newId()];
  for (const tenant of [id, idle])
    await client.query(
      `insert into tenant.tenants (id, slug, name, limits, timezone, retention_days, previews_enabled, previews_max_chars)
       values ($1::uuid, $1::text, 'A tenant', '{}', 'UTC', 90, true, 500)`,
      [tenant],
    );
  await client.query(
    `insert into tenant.quotas (tenant_id, subject_id, resource, window_start, used, told_percent) values
       ($1, $1, 'budget', date_trunc('day', now(), 'UTC'), 300, 50),
       ($1, $1, 'requests', date_trunc('minute', now()), 7, 0),
       ($2, $2, 'budget', '2020-01-01Z', 300, 0)`,
    [id, idle],
  );
  await schema.apply(expansion);
  const { rows } = await client.query(
    `select subject_id, bucket = date_trunc('day', now(), 'UTC') as "isStart", cost::integer, told_percent as published
     from tenant.budget_spend`,
  );
  expect(rows).toEqual([{ subject_id: id, isStart: true, cost: 300, published: 50 }]);
});

it('a tenant with the one known time zone that PostgreSQL lacks gets its other name', async () => {
  const id = newId();
  await client.query(
    `insert into tenant.tenants (id, slug, name, limits, timezone, retention_days, previews_enabled, previews_max_chars)
     values ($1::uuid, $1::text, 'A tenant', '{}', 'US/Pacific-New', 90, true, 500)`,
    [id],
  );
  await schema.apply('0007_us_pacific_new.sql');
  const { rows } = await client.query('select timezone from tenant.tenants where id = $1', [id]);
  expect(rows).toEqual([{ timezone: 'America/Los_Angeles' }]);
});

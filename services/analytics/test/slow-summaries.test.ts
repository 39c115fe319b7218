import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { newId } from '@gatehouse/kit/ids';
import { lockWaits } from '@gatehouse/test/lock-waits';
import { eventually } from '@gatehouse/test/eventually';
import { Client } from 'pg';
import { AnalyticsHarness } from './analytics-harness.ts';

let analytics: AnalyticsHarness;
/** Keeps the table of sums locked, so that summaries last. */
let blocker: Client;
beforeAll(async () => {
  analytics = await AnalyticsHarness.start();
  blocker = new Client({ connectionString: analytics.database.adminUrl });
  await blocker.connect();
});
afterAll(async () => {
  await blocker.end();
  await analytics.stop();
});

const statusOf = (path: string, tenantId: string): Promise<string> =>
  analytics.get(path, { tenantId }).then(
    () => '200',
    (error: unknown) => (error as Error).message,
  );

it('slow summaries of a tenant are one at a time, get an error of their own, and keep nothing else waiting', async () => {
  const [busy, other] = [newId(), newId()];
  await blocker.query('begin; lock table analytics.usage_totals in access exclusive mode');
  const waiting = async (): Promise<number> => {
    const rows = await analytics.rows(
      `select from ${lockWaits} where relation = 'analytics.usage_totals'::regclass`,
    );
    return rows.length;
  };
  const slow = [statusOf('/v1/usage/summary', busy)];
  await eventually(async () => expect(await waiting()).toBe(1));
  const second = statusOf('/v1/costs/summary', busy);
  // Another tenant's reaches the table at once, and the second of the busy one doesn't.
  slow.push(statusOf('/v1/usage/summary', other), statusOf('/v1/usage/summary', newId()));
  await eventually(async () => expect(await waiting()).toBe(3));
  expect(await statusOf('/v1/traces/follow', busy)).toBe('200');
  expect(await statusOf('/v1/traces/follow', other)).toBe('200');
  for (const status of await Promise.all(slow)) expect(status).toMatch(/^503: .*"query_timeout"/);
  await blocker.query('rollback');
  // It waited for its turn.
  expect(await second).toBe('200');
  for (const tenantId of [busy, other]) expect(await statusOf('/v1/usage/summary', tenantId)).toBe('200');
});

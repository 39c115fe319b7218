import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Dimension } from '@gatehouse/contract/usage';
import { newId } from '@gatehouse/kit/ids';
import { withTenantSnapshot } from '@gatehouse/pg/pool';
import { Client } from 'pg';
import { readFirstGroups } from '../src/usage/first-groups-pg-store.ts';
import type { SummaryRequest } from '../src/usage/summary.ts';
import { measures, totalsKey } from '../src/usage/measure-pg-store.ts';
import type { UsageStore } from '../src/usage/usage-store.ts';
import { noFilter, startIngest, type IngestFixture } from './ingest-fixture.ts';

let fixture: IngestFixture;
let usage: UsageStore;
let admin: Client;
const tenantId = newId();
const from = new Date(Math.floor(Date.now() / 86_400_000 - 6) * 86_400_000);
const period = { from, to: new Date(from.getTime() + 5 * 86_400_000) };
const timezone = 'Asia/Kathmandu';

/** So many runs in a few rows that only some values of the first key are read at a time. */
beforeAll(async () => {
  fixture = await startIngest();
  usage = fixture.stores.usage;
  admin = new Client({ connectionString: fixture.database.adminUrl });
  await admin.connect();
  const sums = measures.map((measure) => (measure === 'requests' ? '1000' : '0')).join(', ');
  await admin.query(
    `insert into analytics.usage (tenant_id, bucket, agent_id, model, provider, channel, user_id, api_key_id, ${measures.join(', ')})
     select $1, $2::timestamptz + (n + n / 5280 * 4) % 480 * interval '15 minutes',
            case when n % 40 < 39 then md5('agent' || n % 40)::uuid end, 'model-' || n % 5,
            case when n % 3 = 0 then 'acme' else '' end, 'api', case when n % 110 < 105 then 'user-' || n % 110 end,
            md5('key' || n % 30)::uuid, ${sums}
     from generate_series(1, 12000) as n`,
    [tenantId, from],
  );
  await admin.query(
    `insert into analytics.usage_totals (${totalsKey}, ${measures.join(', ')})
     select ${totalsKey}, ${measures.map((measure) => `sum(${measure})`).join(', ')}
     from analytics.usage where tenant_id = $1 group by ${totalsKey}`,
    [tenantId],
  );
});
afterAll(async () => {
  await admin.end();
  await fixture.stop();
});

const columns: Partial<Record<Dimension, string>> = {
  hour: `to_char(date_trunc('hour', bucket, 'UTC') at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`,
  day: `to_char(bucket at time zone '${timezone}', 'YYYY-MM-DD')`,
  agent: 'agent_id',
  model: 'model',
  provider: 'provider',
  user: 'user_id',
  api_key: 'api_key_id',
};

/** The first groups with their requests, in one statement. */
async function expected(groupBy: readonly Dimension[]): Promise<{ key: unknown; requests: number }[]> {
  const list = groupBy.map((dimension) => columns[dimension] ?? '').join(', ');
  const places = groupBy.map((_, index) => index + 1).join(', ');
  const { rows } = await admin.query<(string | null)[]>({
    text: `select ${list}, sum(requests) from analytics.usage where tenant_id = $1 group by ${places} order by ${places} limit 10000`,
    values: [tenantId],
    rowMode: 'array',
  });
  return rows.map((row) => ({
    key: Object.fromEntries(
      groupBy.map((dimension, index) => [dimension, row[index] === '' ? null : row[index]]),
    ),
    requests: Number(row.at(-1)),
  }));
}

describe('groups of very many runs', () => {
  it.each<{ groupBy: Dimension[]; truncated?: boolean }>([
    { groupBy: ['agent', 'user'] },
    { groupBy: ['user', 'agent'] },
    { groupBy: ['api_key', 'user'] },
    { groupBy: ['day', 'user'] },
    { groupBy: ['hour', 'agent'] },
    { groupBy: ['provider', 'user', 'agent'] },
    { groupBy: ['model', 'api_key', 'user'] },
    { groupBy: ['user', 'hour', 'agent'], truncated: true },
    { groupBy: ['hour', 'user', 'agent'], truncated: true },
  ])('by $groupBy are the first ones in the order of their keys', async ({ groupBy, truncated = false }) => {
    const request: SummaryRequest = { period, filter: noFilter, groupBy, timezone, figures: 'costs' };
    const summary = await usage.summarize(tenantId, request);
    expect(summary.groups.map(({ key, requests }) => ({ key, requests }))).toEqual(await expected(groupBy));
    expect(summary.truncated).toBe(truncated);
    expect(summary.totals.requests).toBe(12_000_000);
  });

  it('that take too long end in an error of their own', async () => {
    const request: SummaryRequest = {
      ...{ period, filter: noFilter, groupBy: ['agent', 'user'], timezone, figures: 'costs' },
    };
    const groups = withTenantSnapshot(fixture.reading, tenantId, (db) =>
      readFirstGroups(db, tenantId, request, { most: 10_001, requests: 12_000_000, mostMs: 0 }),
    );
    await expect(groups).rejects.toMatchObject({ code: 'query_timeout' });
  });
});

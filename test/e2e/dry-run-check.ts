import { expect } from '@jest/globals';
import { newId } from '@gatehouse/kit/ids';
import { query } from '@gatehouse/test/query';
import type { Operation } from '../conformance/openapi-document.ts';

/** Schemas of the services with administrative changes. */
const schemas = ['agent', 'tenant', 'webhook'];

/** Counters of limits, which each request changes. */
const ofLimits =
  /^tenant\.(limit_|budget_spend|provider_key_checks|settlements)|\.(minute_counts|delivery_rates)$/;

/** Whether an operation accepts `dry_run`. */
export function acceptsDryRun({ parameters }: Operation): boolean {
  return parameters.some((one) => '$ref' in one && one.$ref.endsWith('/dry_run'));
}

/** A request as a dry run, with an `Idempotency-Key`, which it doesn't use up. */
export function asDryRun<Sent extends { query?: object; headers?: object }>(sent: Sent) {
  return {
    ...sent,
    query: { ...sent.query, dry_run: 'true' },
    headers: { ...sent.headers, 'idempotency-key': newId() },
  };
}

/** The rows of all tables of these schemas, as their number and checksum by table. */
async function stateOf(databaseUrl: string): Promise<Record<string, string>> {
  const tables = await query<{ name: string }>(
    databaseUrl,
    `select format('%I.%I', nspname, relname) as name
     from pg_class join pg_namespace on pg_namespace.oid = relnamespace
     where relkind in ('r', 'p') and not relispartition and nspname = any($1) order by 1`,
    [schemas],
  );
  const parts = tables
    .filter(({ name }) => !ofLimits.test(name))
    .map(
      ({ name }) =>
        `select '${name}' as name, count(*) || ' ' || coalesce(md5(string_agg(t::text, '' order by t::text)), '') as rows from ${name} as t`,
    );
  const rows = await query<{ name: string; rows: string }>(databaseUrl, parts.join(' union all '));
  return Object.fromEntries(rows.map(({ name, rows: sum }) => [name, sum]));
}

/** The most times that work in the background may change a table while a dry run is compared. */
const attempts = 10;

/**
 * Sends a dry run, and expects that no table changes. Services also work in the background, so it is sent again where one
 * did: a dry run with an effect changes a table each time.
 */
export async function expectNothingChanged<Result>(
  databaseUrl: string,
  send: () => Promise<Result>,
): Promise<Result> {
  for (let left = attempts; ; left -= 1) {
    const before = await stateOf(databaseUrl);
    const result = await send();
    const after = await stateOf(databaseUrl);
    if (left > 1 && JSON.stringify(after) !== JSON.stringify(before)) continue;
    expect(after).toEqual(before);
    return result;
  }
}

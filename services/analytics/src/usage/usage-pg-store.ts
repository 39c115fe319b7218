import type { Dimension } from '@gatehouse/contract/usage';
import { refuseUnknownTimezone } from '@gatehouse/pg/errors';
import { withTenantSnapshot, type Queryable } from '@gatehouse/pg/pool';
import { Store } from '@gatehouse/pg/store';
import { readFirstGroups } from './first-groups-pg-store.ts';
import { readsOtherRows } from './row-pg-store.ts';
import type { Group, Summary, SummaryRequest, Totals } from './summary.ts';
import { readSums, type SumRow } from './sums-pg-store.ts';
import type { UsageStore } from './usage-store.ts';

/** The most groups of a summary. */
const maxGroups = 10_000;

/** `pool` acts as `analytics_app`. */
export class UsagePgStore extends Store implements UsageStore {
  async summarize(tenantId: string, request: SummaryRequest): Promise<Summary> {
    return withTenantSnapshot(this.pool, tenantId, (db) => readSummary(db, tenantId, request));
  }
}

/** The summary of one tenant, or of all with `allTenants`, as of the snapshot of `db`. */
export async function readSummary(
  db: Queryable,
  tenantId: string | null,
  request: SummaryRequest,
): Promise<Summary> {
  await prepareSums(db, request.timezone);
  const { groupBy } = request;
  const isApart = readsOtherRows(request);
  const most = groupBy.length === 0 ? 0 : maxGroups + 1;
  const { total, ...sums } = isApart
    ? await readSums(db, tenantId, { ...request, groupBy: [] }, { totals: true, groups: 0 })
    : await readSums(db, tenantId, request, { totals: true, groups: most });
  const { groups, isCut } = isApart
    ? await readFirstGroups(db, tenantId, request, { most, requests: Number(total?.requests ?? 0) })
    : sums;
  return {
    totals: toTotals(total),
    groups: groups
      .slice(0, maxGroups)
      .map((row) => ({ ...toTotals(row), key: keyOf(groupBy, row.labels ?? []) })),
    truncated: isCut || groups.length > maxGroups,
    asOf: total?.as_of ?? new Date(0),
  };
}

/** Prepares a transaction for sums. Checks the time zone, even when no group needs it: JavaScript has some the database does not know. */
export async function prepareSums(db: Queryable, timezone: string): Promise<void> {
  // The planner expects far more groups than exist: with less memory it would sort all rows on disk.
  const text = `select set_config('work_mem', '64MB', true), now() at time zone $1`;
  await db.query(text, [timezone]).catch(refuseUnknownTimezone);
}

function keyOf(groupBy: readonly Dimension[], values: readonly (string | null)[]): Group['key'] {
  return Object.fromEntries(groupBy.map((dimension, index) => [dimension, values[index] ?? null]));
}

function toTotals(row: SumRow | undefined): Totals {
  const timed = Number(row?.timed_requests ?? 0);
  return {
    requests: Number(row?.requests ?? 0),
    errors: Number(row?.errors ?? 0),
    cancelled: Number(row?.cancelled ?? 0),
    blocked: Number(row?.blocked ?? 0),
    inputTokens: Number(row?.input_tokens ?? 0),
    cachedInputTokens: Number(row?.cached_input_tokens ?? 0),
    outputTokens: Number(row?.output_tokens ?? 0),
    reasoningTokens: Number(row?.reasoning_tokens ?? 0),
    toolCalls: Number(row?.tool_calls ?? 0),
    refused: Number(row?.refused ?? 0),
    uniqueUsers: Number(row?.unique_users ?? 0),
    avgDurationMs: timed === 0 ? null : Math.round(Number(row?.duration_ms ?? 0) / timed),
    costPico: BigInt(row?.cost_pico ?? 0),
    unpricedRequests: Number(row?.unpriced_requests ?? 0),
    unpricedModels: row?.unpriced_models ?? [],
    estimatedRequests: Number(row?.estimated_requests ?? 0),
    estimatedCostPico: BigInt(row?.estimated_cost_pico ?? 0),
    ownKeyRequests: Number(row?.own_key_requests ?? 0),
    ownKeyCostPico: BigInt(row?.own_key_cost_pico ?? 0),
  };
}

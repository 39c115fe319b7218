import { writeRequestsRefused, type RefusedDetail, type RefusedEntry } from '@gatehouse/events/refused-event';
import type { UsageSummary } from '@gatehouse/contract/usage';
import { newId } from '@gatehouse/kit/ids';
import type { AnalyticsHarness } from './analytics-harness.ts';

/** The facts of one refused request. */
export const detail = (at: Date, model = 'small'): RefusedDetail => ({
  id: newId(),
  request_id: 'request-1',
  trace_id: '0af7651916cd43dd8448eb211c80319c',
  request_model: model,
  session_id: null,
  message: 'The limit of 10 requests per minute is reached.',
  refused_at: at.toISOString(),
});

/** Counts of requests of a tenant. */
export const entryOf = (tenantId: string, fields: Partial<RefusedEntry> = {}): RefusedEntry => ({
  tenant_id: tenantId,
  code: 'rate_limit_exceeded',
  operation: 'chat',
  model: 'small',
  agent_id: null,
  channel: 'api',
  dialect: 'chat',
  client: 'curl',
  user_id: null,
  api_key_id: null,
  refused_at: '',
  count: 1,
  details: [],
  ...fields,
});

/** An event with entries of this time, unless they have their own. */
export const eventOf = (entries: readonly RefusedEntry[], at = new Date()): string =>
  writeRequestsRefused(
    'gatehouse/chat',
    new Date(),
    entries.map((entry) => ({ ...entry, refused_at: entry.refused_at || at.toISOString() })),
  ).json;

/** Reads of counts and of stored requests; the harness exists when they are called. */
export function refusedReads(harness: () => AnalyticsHarness) {
  const usageOf = (tenantId: string, query = '', as: object = {}): Promise<UsageSummary> =>
    harness().get(`/v1/usage/summary?${query}`, { tenantId, ...as }) as Promise<UsageSummary>;
  return {
    usageOf,
    /** Groups with their runs and refused requests. */
    refusedBy: async (tenantId: string, group: string): Promise<unknown[]> => {
      const { groups } = await usageOf(tenantId, `group_by=${group}`);
      return groups.map(({ key, requests, refused }) => [key[group as 'model'], requests, refused]);
    },
    keptOf: async (tenantId: string): Promise<number> => {
      const rows = await harness().rows('select id from analytics.refused_requests where tenant_id = $1', [
        tenantId,
      ]);
      return rows.length;
    },
  };
}

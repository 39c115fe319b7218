import type { AnalyticsHarness } from './analytics-harness.ts';

/** Runs that ended in a quarter of an hour, as the roll-up has them. */
export interface UsageRow {
  bucket: string;
  model: string;
  provider: string;
  agent_id: string | null;
  user_id: string | null;
  api_key_id: string;
  cost_pico: string;
  unpriced_requests: number;
}

/** Adds runs to the roll-ups of a tenant, as their events would have if they had come in time. */
export async function addUsage(
  harness: AnalyticsHarness,
  tenantId: string,
  rows: readonly UsageRow[],
): Promise<void> {
  const figures = `requests, errors, cancelled, input_tokens, cached_input_tokens, output_tokens, reasoning_tokens,
    tool_calls, timed_requests, duration_ms, cost_pico, unpriced_requests, estimated_requests, estimated_cost_pico,
    own_key_requests, own_key_cost_pico`;
  await harness.rows(
    `with added as (
       insert into analytics.usage (tenant_id, bucket, agent_id, model, provider, channel, dialect, client, user_id,
         api_key_id, session_id, ${figures})
       select $1, bucket, agent_id, model, provider, 'api', 'chat', 'other', user_id, api_key_id, null,
         3, 0, 0, 7, 1, 5, 2, 0, 3, 30, cost_pico, unpriced_requests, 1, 1, 1, 2
       from json_to_recordset($2) as given (bucket timestamptz, agent_id uuid, model text, provider text, user_id text,
         api_key_id uuid, cost_pico numeric, unpriced_requests bigint)
       returning *
     )
     insert into analytics.usage_totals (tenant_id, bucket, agent_id, model, provider, channel, dialect, client, ${figures})
     select tenant_id, bucket, agent_id, model, provider, channel, dialect, client,
       ${figures
         .split(',')
         .map((name) => `sum(${name.trim()})`)
         .join(', ')}
     from added group by tenant_id, bucket, agent_id, model, provider, channel, dialect, client`,
    [tenantId, JSON.stringify(rows)],
  );
}

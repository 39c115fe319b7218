/** The columns by which every roll-up of quarters of an hour groups runs, besides the tenant and the bucket. */
export const dimensions = ['model', 'agent_id', 'provider', 'channel', 'dialect', 'client'] as const;

/** Further columns of the table `usage` to group by, all but the last also of `unpriced_models`. */
export const personalDimensions = ['user_id', 'api_key_id', 'session_id'] as const;

/** The keys of the roll-up tables: of those without users and API keys, of `unpriced_models`, and of `usage`. */
export const totalsKey = ['tenant_id', 'bucket', ...dimensions].join(', ');
export const unpricedKey = [totalsKey, 'user_id', 'api_key_id'].join(', ');
export const usageKey = [totalsKey, ...personalDimensions].join(', ');
/** The key of `grouped_usage`. */
export const groupedKey = `${usageKey}, groups_sha256`;
const nullable: ReadonlySet<string> = new Set(['agent_id', 'dialect', 'client', 'user_id', 'api_key_id']);

/** The condition for the same `unpricedKey`, as SQL. Joins by columns without nulls can use hashes and indexes. */
export const sameUnpricedKey = (one: string, other: string): string =>
  unpricedKey
    .split(', ')
    .map(
      (column) =>
        `${one}.${column} ${nullable.has(column) ? 'is not distinct from' : '='} ${other}.${column}`,
    )
    .join(' and ');

/** The digest of the groups of a run, as SQL. */
export const digestOfGroups = `sha256(convert_to(to_json(groups)::text, 'UTF8'))`;

/** The measures of the roll-up tables in column order, each with the SQL expression one ended run adds to it. */
const shares = {
  requests: '1',
  errors: "(status in ('error', 'interrupted'))::integer",
  cancelled: "(status = 'cancelled')::integer",
  blocked: "(status = 'blocked')::integer",
  input_tokens: 'input_tokens',
  cached_input_tokens: 'cached_input_tokens',
  output_tokens: 'output_tokens',
  reasoning_tokens: 'reasoning_tokens',
  tool_calls: 'tool_calls',
  timed_requests: '(duration_ms is not null)::integer',
  duration_ms: 'coalesce(duration_ms, 0)',
  cost_pico: 'case when own_key then 0 else coalesce(cost_pico, 0) end',
  unpriced_requests: '(not priced and not own_key)::integer',
  estimated_requests: '(usage_estimated and not own_key)::integer',
  estimated_cost_pico: 'case when usage_estimated and not own_key then coalesce(cost_pico, 0) else 0 end',
  own_key_requests: 'own_key::integer',
  own_key_cost_pico: 'case when own_key then coalesce(cost_pico, 0) else 0 end',
};

export type Measure = keyof typeof shares;
/** The measures of summaries: refused requests are no runs, and in no roll-up of them. */
export type Figure = Measure | 'refused';
/** The cast is safe: `shares` is a literal without other keys. */
export const measures = Object.keys(shares) as Measure[];

/** SQL condition for a row of a roll-up table with all measures 0. */
export const countsNothing = measures.map((column) => `${column} = 0`).join(' and ');

/** The SQL expressions over a row of `traces`, in the order of `measures`. */
export const measuresOfRun = Object.values(shares);

/** The columns of ended runs the roll-ups count, `bucket` among them. */
export const countedColumns = `tenant_id, bucket, status, agent_id, model, provider, channel, dialect, client, user_id,
  api_key_id, session_id, duration_ms, input_tokens, cached_input_tokens, output_tokens, reasoning_tokens, tool_calls,
  cost_pico, priced, usage_estimated, unpriced_models, own_key, groups`;

/** The condition for traces missing from the roll-ups, besides `called`. */
export const isUnfolded = `
  fold = any(array(select generate_series(folded_to + 1, current_fold) from analytics.folds))`;

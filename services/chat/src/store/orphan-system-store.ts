import type { Pool } from '@gatehouse/pg/pool';
import type { Operation } from '../domain/completion-request.ts';
import type { PriceSource } from '../domain/price.ts';
import type { AttemptEnd, AttemptStart, BudgetCharge, RunIdentity } from '../domain/run.ts';

export interface OpenAttempt extends AttemptStart {
  startedAt: Date;
}

/** A run that nobody works on any more, with those of its attempts that have no end. */
export interface Orphan {
  run: RunIdentity;
  /** Since its start, by the database clock. */
  ageMs: number;
  openAttempts: OpenAttempt[];
  /** What the attempts that did end came to, in their order. */
  endedAttempts: Pick<AttemptEnd, 'usage' | 'cost'>[];
}

interface OrphanRow {
  id: string;
  tenant_id: string;
  operation: Operation;
  channel: string;
  request_id: string;
  trace_id: string;
  span_id: string;
  api_key_id: string;
  user_id: string | null;
  session_id: string | null;
  agent_id: string | null;
  request_model: string;
  streamed: boolean;
  input_preview: string | null;
  charges: BudgetCharge[] | null;
  age_ms: number;
  open_attempts: {
    id: string;
    number: number;
    provider: string;
    model: string;
    upstream_model: string;
    input_tokens_guess: number;
    started_at: string;
  }[];
  ended_attempts: {
    input_tokens: number;
    cached_input_tokens: number;
    cache_write_tokens: number;
    output_tokens: number;
    reasoning_tokens: number;
    usage_estimated: boolean;
    cost_pico: string | null;
    price_source: PriceSource | null;
  }[];
}

/** A run may have lain for a month when nothing was there to find it, and its duration is an integer. */
const maxInteger = 2_147_483_647;

/**
 * Runs under way whose instance is dead or gone, or that `instanceId` itself lost track of: started over a minute ago
 * and not in `known`.
 */
export async function findOrphans(
  pool: Pool,
  instanceId: string,
  known: readonly string[],
  limit: number,
): Promise<Orphan[]> {
  const result = await pool.query<OrphanRow>(
    `select r.id, r.tenant_id, r.operation, r.channel, r.request_id, r.trace_id, r.span_id, r.api_key_id, r.user_id,
            r.session_id, r.agent_id, r.request_model, r.streamed, r.input_preview, r.charges,
            least(extract(epoch from now() - r.started_at) * 1000, ${maxInteger})::integer as age_ms,
            coalesce(json_agg(json_build_object(
              'id', a.id, 'number', a.number, 'provider', a.provider, 'model', a.model,
              'upstream_model', a.upstream_model, 'input_tokens_guess', a.input_tokens_guess,
              'started_at', a.started_at) order by a.number)
              filter (where a.status = 'started'), '[]') as open_attempts,
            coalesce(json_agg(json_build_object(
              'input_tokens', coalesce(a.input_tokens, 0), 'cached_input_tokens', coalesce(a.cached_input_tokens, 0),
              'cache_write_tokens', coalesce(a.cache_write_tokens, 0), 'output_tokens', coalesce(a.output_tokens, 0),
              'reasoning_tokens', coalesce(a.reasoning_tokens, 0),
              'usage_estimated', coalesce(a.usage_estimated, false), 'cost_pico', a.cost_pico::text,
              'price_source', a.price_source) order by a.number)
              filter (where a.status <> 'started'), '[]') as ended_attempts
     from chat.runs r left join chat.attempts a on a.run_id = r.id
     where r.status = 'started'
       and (not exists (select from chat.instances i where i.id = r.instance_id and i.dead_at is null)
            or (r.instance_id = $1 and r.started_at < now() - interval '1 minute' and r.id <> all ($2::uuid[])))
     group by r.id
     order by r.id
     limit $3`,
    [instanceId, known, limit],
  );
  return result.rows.map(toOrphan);
}

function toOrphan(row: OrphanRow): Orphan {
  return {
    run: {
      id: row.id,
      tenantId: row.tenant_id,
      operation: row.operation,
      channel: row.channel,
      requestId: row.request_id,
      traceId: row.trace_id,
      spanId: row.span_id,
      apiKeyId: row.api_key_id,
      userId: row.user_id,
      sessionId: row.session_id,
      agentId: row.agent_id,
      requestModel: row.request_model,
      streamed: row.streamed,
      inputPreview: row.input_preview,
      charges: row.charges,
    },
    ageMs: row.age_ms,
    openAttempts: row.open_attempts.map((attempt) => ({
      id: attempt.id,
      number: attempt.number,
      provider: attempt.provider,
      model: attempt.model,
      upstreamModel: attempt.upstream_model,
      inputTokensGuess: attempt.input_tokens_guess,
      startedAt: new Date(attempt.started_at),
    })),
    endedAttempts: row.ended_attempts.map((attempt) => ({
      usage: {
        inputTokens: attempt.input_tokens,
        cachedInputTokens: attempt.cached_input_tokens,
        cacheWriteTokens: attempt.cache_write_tokens,
        outputTokens: attempt.output_tokens,
        reasoningTokens: attempt.reasoning_tokens,
        estimated: attempt.usage_estimated,
      },
      cost:
        attempt.cost_pico === null
          ? null
          : { costPico: BigInt(attempt.cost_pico), source: attempt.price_source },
    })),
  };
}

import type { DialectName } from '@gatehouse/contract/dialects';
import type { GuardrailResult, Recall, Span, ToolSpan } from '@gatehouse/events/run-event';

/** A stored run. Bigints and exact amounts are text. */
export interface TraceRow {
  id: string;
  status: 'running' | 'ok' | 'error' | 'cancelled' | 'interrupted' | 'blocked' | 'refused';
  operation: string;
  channel: string;
  dialect: DialectName | null;
  client: string | null;
  trace_id: string;
  api_key_id: string | null;
  user_id: string | null;
  /** Null without a group. */
  groups: string[] | null;
  /** Null without any. */
  guardrails: GuardrailResult[] | null;
  session_id: string | null;
  agent_id: string | null;
  request_model: string;
  input_preview: string | null;
  started_at: Date;
  ended_at: Date | null;
  duration_ms: number | null;
  time_to_first_token_ms: number | null;
  provider: string | null;
  response_model: string | null;
  input_tokens: string | null;
  cached_input_tokens: string | null;
  output_tokens: string | null;
  reasoning_tokens: string | null;
  cost_pico: string | null;
  priced: boolean | null;
  usage_estimated: boolean | null;
  own_key: boolean;
  error_type: string | null;
  error_message: string | null;
  output_preview: string | null;
  spans: StoredSpan[] | null;
}

/** A provider call as in the event, or the search in memory. */
export type StoredSpan = Span | ({ kind: 'memory' } & Recall) | ({ kind: 'tool' } & ToolSpan);

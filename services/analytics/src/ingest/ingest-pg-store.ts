import type { RunEnded, RunStarted } from '@gatehouse/events/run-event';
import { arrayLiteral, plainArray, textArray } from '@gatehouse/pg/arrays';
import { lateAfterDays } from '../retention/trace-ages.ts';
import { timesOf } from './run-times.ts';
import type { StoredSpan } from '../traces/stored-run.ts';

/** The parts of the statements for storing runs. */

const sentColumns = `operation, channel, dialect, client, request_id, trace_id, span_id, api_key_id, user_id, session_id, agent_id,
  request_model, streamed, input_preview, started_at, ended_at, duration_ms, time_to_first_token_ms, provider, model,
  response_model, input_tokens, cached_input_tokens, cache_write_tokens, output_tokens, reasoning_tokens, tool_calls,
  cost_pico, priced, usage_estimated, error_type, error_message, output_preview, spans, called, unpriced_models, own_key, groups,
  guardrails`;
/** The columns of `traces` set by these statements, besides the id, the tenant and the status. */
export const columns = `${sentColumns}, fold`;

/** The columns set by the end of a run. */
const endColumns = [
  'status',
  'started_at',
  'ended_at',
  'duration_ms',
  'time_to_first_token_ms',
  'provider',
  'model',
  'response_model',
  'input_tokens',
  'cached_input_tokens',
  'cache_write_tokens',
  'output_tokens',
  'reasoning_tokens',
  'tool_calls',
  'cost_pico',
  'priced',
  'usage_estimated',
  'error_type',
  'error_message',
  'output_preview',
  'spans',
  'called',
  'unpriced_models',
  'guardrails',
  'fold',
];

/** The condition for the id of a run that comes too late to get a row. */
export const isLate = (id: string): string =>
  `${id} < (select analytics.first_id_at(now() - interval '${lateAfterDays} days'))`;

/** The columns of a run as the statements take it, and their types. */
const inputTypes = {
  run_id: 'uuid',
  tenant_id: 'uuid',
  status: 'text',
  operation: 'text',
  channel: 'text',
  dialect: 'text',
  client: 'text',
  request_id: 'text',
  trace_id: 'text',
  span_id: 'text',
  api_key_id: 'uuid',
  user_id: 'text',
  session_id: 'text',
  agent_id: 'uuid',
  request_model: 'text',
  streamed: 'boolean',
  input_preview: 'text',
  started_at: 'timestamptz',
  ended_at: 'timestamptz',
  duration_ms: 'integer',
  time_to_first_token_ms: 'integer',
  provider: 'text',
  model: 'text',
  response_model: 'text',
  input_tokens: 'bigint',
  cached_input_tokens: 'bigint',
  cache_write_tokens: 'bigint',
  output_tokens: 'bigint',
  reasoning_tokens: 'bigint',
  tool_calls: 'integer',
  cost_pico: 'numeric',
  priced: 'boolean',
  usage_estimated: 'boolean',
  error_type: 'text',
  error_message: 'text',
  output_preview: 'text',
  spans: 'json',
  called: 'boolean',
  unpriced_models: 'text[]',
  own_key: 'boolean',
  groups: 'text[]',
  guardrails: 'json',
} as const;
type InputColumn = keyof typeof inputTypes;
type InputValue = string | number | boolean | null;
const inputColumns = Object.keys(inputTypes) as InputColumn[];

/**
 * The clause `input` with the runs in the parameters from `$first` on, which are `inputValues`. Runs counted by the
 * roll-ups get the current fold. It is not closed before the transaction has ended: the lock conflicts with the table
 * lock of `closeFold`. The lock comes before the snapshot of the statement, so the fold is the current one. Arrays in a
 * list of columns are read a row at a time; `from unnest` would first copy each to a store of its own.
 */
export const input = (first: number): string => `
  open_fold as materialized (select current_fold from analytics.folds for key share),
  input as (
  select run_id as id, tenant_id, coalesce(status, 'running') as status, ${sentColumns},
         case when called then (select current_fold from open_fold) end as fold
  from (select ${inputColumns.map((column, index) => `unnest($${first + index}::${sentType(column)}[])::${inputTypes[column]} as ${column}`).join(', ')}) as sent)`;

function sentType(column: InputColumn): string {
  return isPlain(column) ? inputTypes[column] : 'text';
}

/** Whether no value of the column has a special character of arrays. */
function isPlain(column: InputColumn): boolean {
  return !['text', 'text[]', 'json'].includes(inputTypes[column]);
}

/** Updates the row of a run to its end, once. */
export const change = (end: string): string => `
  change_transaction = pg_current_xact_id(), change_number = nextval('analytics.changes'), changed_at = now(),
  ${endColumns.map((column) => `${column} = ${end}.${column}`).join(', ')}`;

/** The spans of a run in the order of their start. */
function spansOf({ recall, spans, tools = [] }: RunEnded): StoredSpan[] {
  const search = recall === undefined ? [] : [{ kind: 'memory' as const, ...recall }];
  if (tools.length === 0) return [...search, ...spans];
  const calls = [...spans, ...tools.map((tool) => ({ kind: 'tool' as const, ...tool }))];
  return [...search, ...calls.toSorted((a, b) => (a.offset_ms ?? 0) - (b.offset_ms ?? 0))];
}

/**
 * Runs as the statements take them: an array for each column. PostgreSQL reads these in less than half of the time it
 * takes for JSON.
 */
export function inputValues(runs: readonly (RunStarted | RunEnded)[]): (Buffer | string)[] {
  return inputColumns.map((column) => {
    const values = runs.map((run) => valueOf(run, column));
    return isPlain(column) ? plainArray(values) : textArray(values.map(textOf));
  });
}

/** Null in the columns of ended runs only. */
function valueOf(run: RunStarted | RunEnded, column: InputColumn): InputValue {
  const ended = 'spans' in run ? run : null;
  const isOwnKey = run.own_key ?? false;
  switch (column) {
    case 'own_key':
      return isOwnKey;
    case 'started_at':
      return (ended && timesOf(ended)?.startedAt) ?? run.started_at;
    case 'duration_ms':
      return ended && (timesOf(ended)?.durationMs ?? null);
    case 'spans':
      return ended && JSON.stringify(spansOf(ended));
    case 'called':
      // Runs of a tool alone count without a call of a model.
      return (
        ended && (run.operation === 'execute_tool' || ended.spans.some(({ status }) => status !== 'not_sent'))
      );
    case 'unpriced_models': {
      const models = ended === null || isOwnKey ? null : unpricedModelsOf(ended);
      return models && arrayLiteral(models);
    }
    case 'groups':
      return run.groups === undefined ? null : arrayLiteral(run.groups);
    case 'guardrails':
      return ended?.guardrails === undefined ? null : JSON.stringify(ended.guardrails);
    default: {
      const known: Partial<Omit<RunEnded, 'groups' | 'guardrails'>> = run;
      return known[column] ?? null;
    }
  }
}

function textOf(value: InputValue): string | null {
  return value === null ? null : String(value);
}

/**
 * The catalogue ids of the models of a run's attempts with tokens and without a price; null without one. When the end
 * event marks the run as unpriced but lists no attempt of this kind, the run's own model.
 */
function unpricedModelsOf(run: RunEnded): string[] | null {
  if (run.priced) return null;
  const calls = run.spans.filter(
    (call) => call.cost_pico === null && call.input_tokens + call.output_tokens > 0,
  );
  return calls.length === 0
    ? [run.model ?? run.request_model]
    : [...new Set(calls.map(({ model }) => model))];
}

import { ReceivedObject, type Received } from '@gatehouse/events/dead-letters';
import type { RunEnded, RunStarted, Span } from '@gatehouse/events/run-event';
import { newId } from '@gatehouse/kit/ids';
import { eventObjectOf, eventOf } from '@gatehouse/test/run-event';

/** The start of a run as chat publishes it. */
export function makeStart(fields: Partial<RunStarted> = {}): RunStarted {
  return {
    run_id: newId(),
    tenant_id: newId(),
    operation: 'chat',
    channel: 'api',
    dialect: 'chat',
    client: 'other',
    request_id: newId(),
    trace_id: '0af7651916cd43dd8448eb211c80319c',
    span_id: 'b7ad6b7169203331',
    api_key_id: newId(),
    user_id: null,
    session_id: null,
    agent_id: null,
    request_model: 'small',
    streamed: false,
    input_preview: null,
    started_at: new Date().toISOString(),
    ...fields,
  };
}

/** Usage of a run with one call, and of that call. */
const usage = {
  input_tokens: 10,
  cached_input_tokens: 0,
  cache_write_tokens: 0,
  output_tokens: 5,
  reasoning_tokens: 0,
  cost_pico: '1000',
  usage_estimated: false,
};

/** The end of a run, with one call. */
export function makeEnd(fields: Partial<RunEnded> = {}): RunEnded {
  return {
    ...makeStart(),
    status: 'ok',
    ended_at: new Date().toISOString(),
    duration_ms: 120,
    time_to_first_token_ms: 40,
    provider: 'simulator',
    model: 'small',
    response_model: 'small-1',
    error_type: null,
    error_message: null,
    output_preview: null,
    tool_calls: 0,
    priced: true,
    ...usage,
    spans: [makeCall()],
    ...fields,
  };
}

/** A provider call of a run. */
export function makeCall(fields: Partial<Span> = {}): Span {
  return {
    id: newId(),
    kind: 'llm',
    number: 1,
    provider: 'simulator',
    model: 'small',
    upstream_model: 'small',
    response_model: 'small-1',
    status: 'ok',
    offset_ms: 1,
    duration_ms: 119,
    time_to_first_token_ms: 39,
    http_status: 200,
    error_code: null,
    ...usage,
    ...fields,
  };
}

/** The event about a run, as analytics receives it. */
export function received(run: RunStarted | RunEnded, origin = 'test'): Received {
  return { origin, payload: Buffer.from(eventOf('gatehouse/chat', run)) };
}

/** The event about the end of a run, as analytics receives it from chat in the same process. */
export function receivedObject(run: RunEnded, origin = 'test'): Received {
  return new ReceivedObject(origin, eventObjectOf('gatehouse/chat', run));
}

/** The event about the exact end of a run whose end was estimated. */
export function correction(run: RunEnded): Received {
  return { origin: 'test', payload: Buffer.from(eventOf('gatehouse/chat', run, true)) };
}

/** The cost of runs, in pico-USD. */
export function costOf(runs: readonly RunEnded[]): bigint {
  return runs.reduce((sum, { cost_pico: cost }) => sum + BigInt(cost ?? 0), 0n);
}

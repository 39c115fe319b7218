import { expect, it } from '@jest/globals';
import { maxInteger } from '@gatehouse/events/run-event';
import { newId } from '@gatehouse/kit/ids';
import fc from 'fast-check';
import { makeCall } from '../../test/event-fixture.ts';
import { timesOf } from '../ingest/run-times.ts';
import type { TraceRow } from './stored-run.ts';
import { showTrace } from './trace-view.ts';

const names = { agents: new Map(), apiKeys: new Map() };
const viewer = { tenantId: newId(), user: null, previewsOf: { all: true, user: null } };
const empty = {
  ...{
    dialect: null,
    client: null,
    api_key_id: null,
    user_id: null,
    groups: null,
    guardrails: null,
    session_id: null,
    agent_id: null,
  },
  ...{
    input_preview: null,
    provider: null,
    response_model: null,
    input_tokens: null,
    cached_input_tokens: null,
  },
  ...{ output_tokens: null, reasoning_tokens: null, cost_pico: null, priced: null, usage_estimated: null },
  ...{ error_type: null, error_message: null, output_preview: null },
};

const time = fc.integer({ min: 0, max: 4e12 });
const measured = fc.integer({ min: 0, max: 1e7 });
const offset = fc.option(fc.integer({ min: -maxInteger, max: maxInteger }), { nil: null });
const length = fc.option(fc.integer({ min: 0, max: maxInteger }), { nil: null });
const span = fc.record({ offset_ms: offset, duration_ms: length, time_to_first_token_ms: length });

/** A run as analytics stores it: `delay` is between the times that the database took, in any order. */
function rowOf(startMs: number, delay: number, durationMs: number): TraceRow {
  const [start, end] = [new Date(startMs).toISOString(), new Date(startMs + delay).toISOString()];
  const times = timesOf({ started_at: start, ended_at: end, duration_ms: durationMs });
  return {
    ...empty,
    ...{
      id: newId(),
      status: 'ok',
      operation: 'chat',
      channel: 'api',
      trace_id: 'a',
      request_model: 'small',
    },
    ...{ own_key: false, time_to_first_token_ms: durationMs + 5, spans: null },
    started_at: new Date(times?.startedAt ?? start),
    ended_at: new Date(end),
    duration_ms: times?.durationMs ?? null,
  };
}

it('a duration is the time from start to end, and no span lies outside its run', () => {
  fc.assert(
    fc.property(
      time,
      fc.integer({ min: -10_000, max: 1e9 }),
      measured,
      fc.array(span, { maxLength: 4 }),
      (start, delay, duration, spans) => {
        const row = { ...rowOf(start, delay, duration), spans: spans.map((each) => makeCall(each)) };
        const trace = showTrace(row, { viewer, names, withSpans: true });
        const [from, to] = [Date.parse(trace.started_at), Date.parse(trace.ended_at ?? '')];
        expect(trace.duration_ms).toBe(to - from);
        expect(trace.duration_ms).toBe(row.duration_ms);
        expect(trace.duration_ms).toBeGreaterThanOrEqual(duration);
        expect(from).toBeLessThanOrEqual(start);
        expect(trace.time_to_first_token_ms).toBeLessThanOrEqual(to - from);
        for (const shown of trace.spans ?? []) {
          const begin = shown.started_at === null ? from : Date.parse(shown.started_at);
          expect(begin).toBeGreaterThanOrEqual(from);
          expect(begin + (shown.duration_ms ?? 0)).toBeLessThanOrEqual(to);
          expect(shown.time_to_first_token_ms ?? 0).toBeLessThanOrEqual(shown.duration_ms ?? to - from);
        }
      },
    ),
  );
});

it('spans within a run are shown as they are', () => {
  const row = {
    ...rowOf(1_000, 990, 1_000),
    spans: [makeCall({ offset_ms: 400, duration_ms: 600, time_to_first_token_ms: 50 })],
  };
  expect(showTrace(row, { viewer, names, withSpans: true })).toMatchObject({
    started_at: '1970-01-01T00:00:00.990Z',
    ended_at: '1970-01-01T00:00:01.990Z',
    duration_ms: 1_000,
    spans: [{ started_at: '1970-01-01T00:00:01.390Z', duration_ms: 600, time_to_first_token_ms: 50 }],
  });
});

it('a call has its cost by what it pays for, unless chat did not send it', () => {
  const spans = [
    makeCall({ cost_pico: '1500007', cost_parts: { input: '1000000', output: '500000', fees: '7' } }),
    makeCall({ cost_pico: '1500007' }),
  ];
  const trace = showTrace({ ...rowOf(0, 1_000, 1_000), spans }, { viewer, names, withSpans: true });
  expect(trace.spans?.map((each) => each.cost_details)).toEqual([
    {
      ...{ input_usd: '0.000001000000', cached_input_usd: '0.000000000000' },
      ...{ cache_write_usd: '0.000000000000', output_usd: '0.000000500000', other_usd: '0.000000000007' },
    },
    null,
  ]);
});

it('a run without a measured duration has none', () => {
  expect(
    timesOf({
      started_at: new Date(0).toISOString(),
      ended_at: new Date(9).toISOString(),
      duration_ms: null,
    }),
  ).toBeNull();
});

it('a duration of more than 24 days is stored as the largest that the column has', () => {
  const [start, end] = [new Date(0).toISOString(), new Date(maxInteger + 10).toISOString()];
  expect(timesOf({ started_at: start, ended_at: end, duration_ms: 5 })).toEqual({
    startedAt: start,
    durationMs: maxInteger,
  });
});

import { afterAll, beforeAll, expect, it } from '@jest/globals';
import type { RunEnded } from '@gatehouse/events/run-event';
import { newId } from '@gatehouse/kit/ids';
import { AnalyticsHarness } from './analytics-harness.ts';
import { makeEnd } from './event-fixture.ts';

/** Runs of a single tool, without a call of a model. */

let analytics: AnalyticsHarness;
beforeAll(async () => {
  analytics = await AnalyticsHarness.start();
});
afterAll(() => analytics.stop());

const noTokens = {
  ...{ input_tokens: 0, cached_input_tokens: 0, cache_write_tokens: 0, output_tokens: 0 },
  ...{ reasoning_tokens: 0, cost_pico: '0' },
};

function toolRun(tenantId: string, fields: Partial<RunEnded> = {}): RunEnded {
  return makeEnd({
    ...{ tenant_id: tenantId, operation: 'execute_tool', channel: 'mcp', dialect: null },
    ...{ request_model: 'tickets__search', provider: null, model: null, response_model: null },
    ...{ time_to_first_token_ms: null, tool_calls: 1, spans: [], ...noTokens },
    tools: [
      {
        ...{ id: newId(), name: 'tickets__search', server: 'tickets', tool: 'search', outcome: 'ok' },
        ...{ offset_ms: 1, duration_ms: 100 },
      },
    ],
    ...fields,
  });
}

it('are traces with the tool as their only step, and cost nothing', async () => {
  const tenantId = newId();
  const run = toolRun(tenantId);
  await analytics.ingest(run);
  expect(await analytics.get(`/v1/traces/${run.run_id}`, { tenantId })).toMatchObject({
    ...{ id: run.run_id, name: 'execute_tool tickets__search', status: 'ok', channel: 'mcp' },
    ...{ provider: null, request_model: 'tickets__search', priced: true, cost_usd: '0.000000000000' },
    spans: [{ kind: 'tool', tool: { server: 'tickets', name: 'search' } }],
  });
  expect(await analytics.get('/v1/usage/summary', { tenantId })).toMatchObject({
    totals: { requests: 1, tool_calls: 1, total_tokens: 0 },
  });
});

it('are counted beside other runs, interrupted ones too', async () => {
  const tenantId = newId();
  await analytics.ingest(
    toolRun(tenantId),
    toolRun(tenantId, { status: 'interrupted', tool_calls: 0, tools: [] }),
    makeEnd({ tenant_id: tenantId }),
  );
  expect(await analytics.traceIds(tenantId)).toHaveLength(3);
  expect(await analytics.get('/v1/usage/summary', { tenantId })).toMatchObject({
    totals: { requests: 3, errors: 1, input_tokens: 10, tool_calls: 1 },
  });
});

import { describe, expect, it } from '@jest/globals';
import { monotonicMs } from '@gatehouse/kit/clock';
import { createRegistry } from '@gatehouse/kit/metrics';
import { continueTrace } from '@gatehouse/kit/trace-context';
import type { SpanRecord } from '@gatehouse/kit/tracing';
import { RunTelemetry, type EndedRecall } from './run-telemetry.ts';

function spanOf(fields: Partial<EndedRecall>): SpanRecord | undefined {
  const spans: SpanRecord[] = [];
  const tracer = { record: (span: SpanRecord) => void spans.push(span), stop: () => Promise.resolve() };
  const telemetry = new RunTelemetry(createRegistry('test'), tracer, undefined);
  const endedAt = monotonicMs();
  telemetry.recalled({
    ...{ trace: telemetry.within(continueTrace(undefined)), startedAt: endedAt - 12, endedAt },
    ...{ tenantId: 't', agentId: 'a', sessionId: 's', outcome: 'ok', mode: 'hybrid', passages: 3 },
    ...fields,
  });
  return spans[0];
}

describe('the span of a search in memory', () => {
  it('names the operation as OpenTelemetry does, with passages, mode and outcome', () => {
    expect(spanOf({})).toMatchObject({
      name: 'search_memory',
      kind: 'internal',
      failed: false,
      attributes: {
        'gen_ai.operation.name': 'search_memory',
        'gen_ai.agent.id': 'a',
        'gen_ai.conversation.id': 's',
        'gatehouse.memory.outcome': 'ok',
        'gatehouse.memory.mode': 'hybrid',
        'gatehouse.memory.passages': 3,
      },
    });
  });

  it.each(['timeout', 'unavailable'] as const)('says that it failed: %s', (outcome) => {
    expect(spanOf({ outcome, mode: null, passages: 0 })).toMatchObject({
      failed: true,
      attributes: { 'error.type': outcome, 'gatehouse.memory.passages': 0 },
    });
  });
});

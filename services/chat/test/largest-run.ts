import {
  maxGroups,
  maxGuardrailResults,
  maxMatchTypes,
  maxSpans,
  maxToolSpans,
} from '@gatehouse/events/run-event';
import { newId } from '@gatehouse/kit/ids';
import type { Attempt, RunEnd, RunIdentity } from '../src/runs/run.ts';

const usage = {
  inputTokens: Number.MAX_SAFE_INTEGER,
  cachedInputTokens: Number.MAX_SAFE_INTEGER,
  cacheWriteTokens: Number.MAX_SAFE_INTEGER,
  outputTokens: Number.MAX_SAFE_INTEGER,
  reasoningTokens: Number.MAX_SAFE_INTEGER,
  estimated: false,
};
const price = { costPico: 2n ** 63n - 1n, source: 'genai-prices' } as const;
/** Each nearly a fifth of the cost. */
const part = price.costPico / 5n;
const parts = {
  ...{ input: part, cached_input: part, cache_write: part, output: part },
  fees: price.costPico - 4n * part,
};
const ms = Number.MAX_SAFE_INTEGER;
/** A name by the gateway's own rules, which has no character that JSON escapes. */
const name = (character: string): string => character.repeat(64);

/** A run of more calls than there can be, every text from outside is `text` and every number the largest. */
export function largestRun(text: string): { identity: RunIdentity; end: RunEnd; attempts: Attempt[] } {
  const cost = { ...price, version: text };
  const attempts = Array.from({ length: maxSpans + 1 }, (_, index): Attempt => ({
    id: newId(),
    number: index + 1,
    provider: text,
    model: text,
    upstreamModel: text,
    inputTokensGuess: Number.MAX_SAFE_INTEGER,
    status: 'interrupted',
    offsetMs: ms,
    durationMs: ms,
    timeToFirstTokenMs: ms,
    httpStatus: 599,
    errorCode: text,
    responseModel: text,
    usage,
    cost: { ...cost, parts },
  }));
  return {
    attempts,
    identity: {
      id: newId(),
      tenantId: newId(),
      operation: 'embeddings',
      groups: Array.from({ length: maxGroups + 1 }, () => text),
      channel: text,
      requestId: text,
      traceId: text,
      spanId: text,
      apiKeyId: newId(),
      userId: text,
      dialect: 'responses' as const,
      client: 'google-genai-sdk' as const,
      sessionId: text,
      agentId: newId(),
      requestModel: text,
      ownKey: true,
      streamed: false,
      inputPreview: text,
      recall: {
        ...{ id: newId(), outcome: 'unavailable', mode: text, passages: 1_000 },
        ...{ offset_ms: ms, duration_ms: ms },
      },
      charges: null,
    },
    end: {
      status: 'interrupted',
      durationMs: ms,
      timeToFirstTokenMs: ms,
      provider: text,
      model: text,
      responseModel: text,
      usage,
      cost: { ...cost, priced: true },
      errorType: text,
      errorMessage: text,
      outputPreview: text,
      tools: Array.from({ length: maxToolSpans + 1 }, () => ({
        ...{ id: newId(), name: name('n'), server: name('s'), tool: text, outcome: name('o') },
        ...{ offsetMs: ms, durationMs: ms },
      })),
      guardrails: Array.from({ length: maxGuardrailResults + 1 }, () => ({
        ...{ name: text, on: 'tool_result' as const, outcome: 'substituted' as const, durationMs: ms },
        types: Object.fromEntries(
          Array.from({ length: maxMatchTypes + 1 }, (_, index) => [`${index}${text}`, ms] as const),
        ),
        costPico: price.costPico,
      })),
    },
  };
}

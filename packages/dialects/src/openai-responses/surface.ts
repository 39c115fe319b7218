import type { StreamPlace } from '@gatehouse/contract/dialects';
import { isAtOrUnder } from '@gatehouse/contract/operator-surface';
import type { AppError } from '@gatehouse/kit/errors';
import type { ClientSurface } from '../client-surface.ts';
import { openAiChatSurface } from '../openai-chat/surface.ts';

/** OpenAI's Responses API, also at the paths of Azure's SDKs. */
export const openAiResponsesSurface = {
  ...openAiChatSurface,
  recognises: ({ path }) =>
    isAtOrUnder(path, '/v1/responses') || /^\/openai\/(?:v1\/)?responses(?:\/|$)/.test(path),
  errorEvent,
} satisfies ClientSurface;

/**
 * OpenAI's SDKs throw at `error`, and other clients read `response.failed`
 * (https://platform.openai.com/docs/api-reference/responses-streaming).
 */
function errorEvent(error: AppError, requestId: string, place: StreamPlace | null): string {
  const { publicCode: code, message, param } = error;
  const { id, createdAt, model, next } = place ?? {
    id: `resp_${requestId}`,
    createdAt: 0,
    model: '',
    next: 0,
  };
  const response = {
    ...{ id, object: 'response', created_at: createdAt, status: 'failed', error: { code, message } },
    ...{ incomplete_details: null, instructions: null, metadata: {}, model, output: [], tools: [] },
    ...{ parallel_tool_calls: true, tool_choice: 'auto', temperature: null, top_p: null, usage: null },
  };
  return [
    { type: 'error', code, message, param, request_id: requestId },
    { type: 'response.failed', response },
  ]
    .map((event, index) => ({ ...event, sequence_number: next + index }))
    .map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`)
    .join('');
}

import type { AnthropicModel, anthropicModelList, ModelQuery } from '@gatehouse/contract/chat';
import { isAtOrUnder } from '@gatehouse/contract/operator-surface';
import { AppError } from '@gatehouse/kit/errors';
import type { z } from 'zod';
import { messageWithParam, retryAfterOf, type ClientSurface, type WrittenError } from '../client-surface.ts';
import { indexOf, mostInPage, wholeNumber, type UsableModel, type UsableModels } from '../model-list.ts';

/** Anthropic's messages. Lists of models have the path of OpenAI's, and its own header. */
export const anthropicMessagesSurface = {
  recognises: ({ path, headers }) =>
    isAtOrUnder(path, '/v1/messages') ||
    (isAtOrUnder(path, '/v1/models') && headers['anthropic-version'] !== undefined),
  headers: (requestId) => ({ 'request-id': requestId }),
  error: writeError,
  errorEvent: (error, requestId) =>
    `event: error\ndata: ${JSON.stringify(writeError(error, requestId).body)}\n\n`,
  model,
  models,
} satisfies ClientSurface;

/** Anthropic's types by status (https://docs.claude.com/en/api/errors). */
const errorTypes: Readonly<Record<number, string>> = {
  401: 'authentication_error',
  403: 'permission_error',
  404: 'not_found_error',
  408: 'timeout_error',
  413: 'request_too_large',
  429: 'rate_limit_error',
  504: 'timeout_error',
  529: 'overloaded_error',
};

/** Anthropic's own status for it, which its clients know. */
const overloaded = 529;

function writeError(error: AppError, requestId: string): WrittenError {
  const isSpent = error.code === 'insufficient_quota';
  const status = error.code === 'provider_overloaded' ? overloaded : error.status;
  const type = isSpent
    ? 'billing_error'
    : (errorTypes[status] ?? (status >= 500 ? 'api_error' : 'invalid_request_error'));
  const { publicCode: error_code, param } = error;
  return {
    status,
    body: {
      type: 'error',
      error: { type, message: messageWithParam(error), details: { error_code, param } },
      request_id: requestId,
    },
    headers: {
      // Its clients would try again for minutes.
      ...((isSpent || error.status === 401) && { 'x-should-retry': 'false' }),
      ...(isSpent && { 'anthropic-ratelimit-unified-status': 'rejected', ...resetOf(error) }),
    },
  };
}

/** The Unix time, in seconds, at which a spent budget begins again. */
function resetOf(error: AppError): Record<string, string> {
  const seconds = retryAfterOf(error);
  if (seconds === null) return {};
  return { 'anthropic-ratelimit-unified-reset': String(Math.ceil(Date.now() / 1_000) + seconds) };
}

function model({ id, created }: UsableModel): AnthropicModel {
  return { type: 'model', id, display_name: id, created_at: new Date(created * 1_000).toISOString() };
}

/** A page, which ends where the list does: its shape has no place to report missing agents. */
function models(
  { models: all }: UsableModels,
  { limit, before_id: before, after_id: after }: ModelQuery,
): z.output<typeof anthropicModelList> {
  const size = limit === undefined ? 20 : wholeNumber('limit', limit);
  if (size < 1 || size > mostInPage)
    throw new AppError('invalid_value', `limit must be 1 to ${mostInPage}.`, { param: 'limit' });
  if (before !== undefined && after !== undefined)
    throw new AppError('invalid_value', 'before_id and after_id exclude each other.', { param: 'before_id' });
  const start = after === undefined ? 0 : indexOf(all, after, 'after_id') + 1;
  const end = before === undefined ? all.length : indexOf(all, before, 'before_id');
  const page = before === undefined ? all.slice(start, start + size) : all.slice(0, end).slice(-size);
  return {
    data: page.map(model),
    has_more: page.length < end - start,
    first_id: page[0]?.id ?? null,
    last_id: page.at(-1)?.id ?? null,
  };
}

import type { DialectName, StreamPlace } from '@gatehouse/contract/dialects';
import { errorBody, type AppError } from '@gatehouse/kit/errors';

/** An error as a client of a dialect reads it. */
export interface WrittenError {
  status: number;
  /** A buffer is JSON text. */
  body: unknown;
  /** Beside those of the error. */
  headers: Record<string, string>;
}

/** Writes an error in the shape of a dialect. */
export function writeError(dialect: DialectName, error: AppError, requestId: string): WrittenError {
  const { status, body } = error;
  if (body !== null) return { status, body, headers: {} };
  switch (dialect) {
    case 'messages':
      return anthropicError(error, requestId);
    case 'gemini':
      return { status, body: googleError(error, requestId), headers: {} };
    case 'chat':
    case 'responses':
      return { status, body: errorBody(error, requestId), headers: {} };
  }
}

/** The last event of a stream that ends with an error, or the last ones. `place`: where it is known. */
export function errorEvent(
  dialect: DialectName,
  error: AppError,
  requestId: string,
  place: StreamPlace | null = null,
): string {
  switch (dialect) {
    case 'messages':
      return `event: error\ndata: ${JSON.stringify(anthropicError(error, requestId).body)}\n\n`;
    case 'gemini':
      return `data: ${JSON.stringify({ error: googleHead(error) })}\n\n`;
    case 'responses':
      return failedResponse(error, requestId, place);
    case 'chat':
      return `data: ${JSON.stringify(errorBody(error, requestId))}\n\n`;
  }
}

/**
 * OpenAI's SDKs throw at `error`, and other clients read `response.failed`
 * (https://platform.openai.com/docs/api-reference/responses-streaming).
 */
function failedResponse(error: AppError, requestId: string, place: StreamPlace | null): string {
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

/** Anthropic's types by status (https://docs.claude.com/en/api/errors). */
const anthropicTypes: Readonly<Record<number, string>> = {
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

function anthropicError(error: AppError, requestId: string): WrittenError {
  const isSpent = error.code === 'insufficient_quota';
  const status = error.code === 'provider_overloaded' ? overloaded : error.status;
  const type = isSpent
    ? 'billing_error'
    : (anthropicTypes[status] ?? (status >= 500 ? 'api_error' : 'invalid_request_error'));
  const { publicCode: error_code, param } = error;
  return {
    status,
    body: {
      type: 'error',
      error: { type, message: messageOf(error), details: { error_code, param } },
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

/** Google's statuses (https://cloud.google.com/apis/design/errors). */
const googleStatuses: Readonly<Record<number, string>> = {
  401: 'UNAUTHENTICATED',
  403: 'PERMISSION_DENIED',
  404: 'NOT_FOUND',
  408: 'DEADLINE_EXCEEDED',
  409: 'ABORTED',
  429: 'RESOURCE_EXHAUSTED',
  499: 'CANCELLED',
  502: 'UNAVAILABLE',
  503: 'UNAVAILABLE',
  504: 'DEADLINE_EXCEEDED',
};

function googleError(error: AppError, requestId: string): unknown {
  const typed = (type: string, fields: object): object => ({
    '@type': `type.googleapis.com/google.rpc.${type}`,
    ...fields,
  });
  const { publicCode, param, status } = error;
  const metadata = param === null ? {} : { param };
  const details = [
    typed('ErrorInfo', { reason: publicCode.toUpperCase(), metadata }),
    typed('RequestInfo', { requestId }),
    ...(status === 429 || status === 503
      ? [typed('RetryInfo', { retryDelay: `${retryAfterOf(error) ?? 1}s` })]
      : []),
  ];
  return { error: { ...googleHead(error), details } };
}

function googleHead(error: AppError): { code: number; message: string; status: string } {
  const { status: code } = error;
  const status = googleStatuses[code] ?? (code >= 500 ? 'INTERNAL' : 'INVALID_ARGUMENT');
  return { code, message: messageOf(error), status };
}

/** The message with the name of the parameter: clients of other APIs than OpenAI's show nothing else to their users. */
function messageOf({ message, param }: AppError): string {
  const words = message.split(/[^\w.[\]-]+/).map((word) => word.replace(/\.$/, ''));
  return param === null || words.includes(param) ? message : `${message} (${param})`;
}

function retryAfterOf({ headers }: AppError): number | null {
  const seconds = Number(headers['retry-after'] ?? Number.NaN);
  return Number.isFinite(seconds) ? seconds : null;
}

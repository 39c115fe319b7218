import type { AnswerFormat } from '../answer-format.ts';
import { RefusedRequest } from '../errors.ts';
import type { WireError } from '../errors.ts';

/** Google's statuses and default texts, by the HTTP status. */
const errorsByStatus: Record<number, { type: string; message: string }> = {
  400: { type: 'INVALID_ARGUMENT', message: 'The simulator is set to answer 400.' },
  401: { type: 'UNAUTHENTICATED', message: 'API key not valid. Please pass a valid API key.' },
  403: { type: 'PERMISSION_DENIED', message: 'The caller does not have permission.' },
  404: { type: 'NOT_FOUND', message: 'The requested entity was not found.' },
  429: { type: 'RESOURCE_EXHAUSTED', message: 'Resource has been exhausted. Please try again later.' },
  503: { type: 'UNAVAILABLE', message: 'The model is overloaded. Please try again later.' },
  504: { type: 'DEADLINE_EXCEEDED', message: 'The deadline expired before the operation could complete.' },
};

/** The shapes of Google's Gemini API: https://ai.google.dev/api. */
export const geminiFormat: AnswerFormat = {
  keyHeaders: ['x-goog-api-key', 'authorization'],
  headers: {},
  wrongKey: () => new RefusedRequest(errorOf(401).message, { status: 401 }),
  defaultError: (status) => ({ ...errorOf(status), param: null, code: status }),
  refusal: ({ status, message }) => ({ ...errorOf(status), message, param: null, code: status }),
  errorBody,
  errorEvents: (error) => [{ data: errorBody(error) }],
};

function errorBody(error: WireError): string {
  return JSON.stringify({ error: errorObject(error) });
}

function errorOf(status: number): { type: string; message: string } {
  const known = errorsByStatus[status];
  if (known !== undefined) return known;
  if (status >= 500) return { type: 'INTERNAL', message: 'An internal error has occurred.' };
  return { type: 'FAILED_PRECONDITION', message: `The simulator is set to answer ${status}.` };
}

function errorObject({ code, message, type }: WireError): object {
  return { code: code ?? 500, message, status: type };
}

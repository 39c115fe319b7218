import type { GoogleModel, googleModelList, ModelQuery } from '@gatehouse/contract/chat';
import { clientDialects } from '@gatehouse/contract/dialects';
import { isAtOrUnder } from '@gatehouse/contract/operator-surface';
import type { AppError } from '@gatehouse/kit/errors';
import type { z } from 'zod';
import { messageWithParam, retryAfterOf, type ClientSurface, type SeenRequest } from '../client-surface.ts';
import { indexOf, mostInPage, wholeNumber, type UsableModel, type UsableModels } from '../model-list.ts';

/** Google's Gemini API, under `/v1beta` and `/v1`. */
export const geminiSurface = {
  recognises: (request) =>
    isAtOrUnder(request.path, '/v1beta') ||
    (isAtOrUnder(request.path, '/v1/models') && (callsMethod(request) || isOfGoogle(request))),
  // Its clients ask for resources without a route.
  recognisesUnknown: (request) => isAtOrUnder(request.path, '/v1') && isOfGoogle(request),
  hidesMethods: callsMethod,
  error: (error, requestId) => ({ status: error.status, body: errorBody(error, requestId), headers: {} }),
  errorEvent: (error) => `data: ${JSON.stringify({ error: errorHead(error) })}\n\n`,
  model,
  models,
} satisfies ClientSurface;

/** Whether a client of Google's API sent a request, as far as headers and query show. */
function isOfGoogle({ headers, url }: SeenRequest): boolean {
  const { 'x-goog-api-key': key, 'x-goog-api-client': client } = headers;
  if (key !== undefined || client !== undefined) return true;
  const start = url.indexOf('?');
  return start >= 0 && new URLSearchParams(url.slice(start + 1)).has(clientDialects.gemini.keyInQuery);
}

/** Whether a request calls a method of a resource: `…/models/some-model:generateContent`. */
function callsMethod({ method, path }: SeenRequest): boolean {
  return method === 'POST' && /(:|%3a)[a-z]+$/i.test(path);
}

/** Google's statuses (https://cloud.google.com/apis/design/errors). */
const statuses: Readonly<Record<number, string>> = {
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

function errorBody(error: AppError, requestId: string): object {
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
  return { error: { ...errorHead(error), details } };
}

function errorHead(error: AppError): { code: number; message: string; status: string } {
  const { status: code } = error;
  const status = statuses[code] ?? (code >= 500 ? 'INTERNAL' : 'INVALID_ARGUMENT');
  return { code, message: messageWithParam(error), status };
}

function model({ id, maxOutputTokens }: UsableModel): GoogleModel {
  const limit = maxOutputTokens === undefined ? {} : { outputTokenLimit: maxOutputTokens };
  return { name: `models/${id}`, version: '1', displayName: id, ...limit };
}

/** A page, which ends where the list does: its shape has no place to report missing agents. */
function models(
  { models: all }: UsableModels,
  { pageSize = '', pageToken = '' }: ModelQuery,
): z.output<typeof googleModelList> {
  // As Google's API has it: 0 is the default, and more than the most is the most.
  const size = Math.min(wholeNumber('pageSize', pageSize === '' ? '0' : pageSize) || 50, mostInPage);
  const start = pageToken === '' ? 0 : indexOf(all, idOf(pageToken), 'pageToken') + 1;
  const page = all.slice(start, start + size);
  const end = page.at(-1);
  const next = end === undefined || start + page.length >= all.length ? {} : { nextPageToken: tokenOf(end) };
  return { models: page.map(model), ...next };
}

function tokenOf({ id }: UsableModel): string {
  return Buffer.from(id).toString('base64url');
}

function idOf(token: string): string {
  return Buffer.from(token, 'base64url').toString();
}

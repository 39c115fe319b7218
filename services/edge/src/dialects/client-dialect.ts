import type { IncomingHttpHeaders } from 'node:http';
import type { DialectName } from '@gatehouse/contract/dialects';
import { isAtOrUnder } from '@gatehouse/contract/operator-surface';
import { pathOf } from '../shared/target.ts';
import { keysInQuery } from './carried-key.ts';

/** A request as far as it shows which dialect its client speaks. */
export interface Asked {
  method: string;
  /** Path and query. */
  url: string;
  headers: IncomingHttpHeaders;
}

/**
 * The dialect that a client speaks, by the path, also where no route has it. Lists of models have one path for several
 * dialects: there the client's own headers and query decide.
 */
export function clientDialect(request: Asked): DialectName {
  const path = pathOf(request.url);
  if (isAtOrUnder(path, '/v1beta')) return 'gemini';
  if (isAtOrUnder(path, '/v1/messages')) return 'messages';
  if (isAtOrUnder(path, '/v1/responses') || /^\/openai\/(?:v1\/)?responses(?:\/|$)/.test(path))
    return 'responses';
  if (!isAtOrUnder(path, '/v1/models')) return 'chat';
  if (callsGoogleMethod(request) || isOfGoogle(request)) return 'gemini';
  return request.headers['anthropic-version'] === undefined ? 'chat' : 'messages';
}

/** The dialect of a request for a path under `/v1` that no route has: there Google's clients ask for more resources. */
export function dialectOfUnknown(request: Asked): DialectName {
  return isAtOrUnder(pathOf(request.url), '/v1') && isOfGoogle(request) ? 'gemini' : clientDialect(request);
}

/** Whether a client of Google's API sent a request, as far as headers and query show. */
function isOfGoogle({ headers, url }: Pick<Asked, 'headers' | 'url'>): boolean {
  const { 'x-goog-api-key': key, 'x-goog-api-client': client } = headers;
  return key !== undefined || client !== undefined || keysInQuery(url).keys.length > 0;
}

/** Whether a request calls a method of a resource as Google's API does: `…/models/some-model:generateContent`. */
export function callsGoogleMethod({ method, url }: Pick<Asked, 'method' | 'url'>): boolean {
  return method === 'POST' && /(:|%3a)[a-z]+$/i.test(pathOf(url));
}

import { RefusedRequest } from '../errors.ts';
import { isObject } from '../values.ts';
import type { JsonObject } from '../values.ts';

/** The versions of the API: https://platform.claude.com/docs/en/api/versioning. */
const versions = ['2023-01-01', '2023-06-01', '2026-10-21'];

/** @throws RefusedRequest (400) without `anthropic-version`, or with an unknown one. */
export function checkVersion(version: string | string[] | undefined): void {
  if (version === undefined) throw new RefusedRequest('anthropic-version: header is required');
  if (typeof version === 'string' && versions.includes(version)) return;
  throw new RefusedRequest(`anthropic-version: "${String(version)}" is not a valid version`);
}

/** @throws RefusedRequest (400) if the body is no object, or has no model or messages. */
export function readBody(body: unknown): JsonObject {
  if (!isObject(body)) throw new RefusedRequest('The request body is not valid JSON');
  if (typeof body['model'] !== 'string') throw new RefusedRequest('model: Field required');
  if (!Array.isArray(body['messages'])) throw new RefusedRequest('messages: Field required');
  if (body['messages'].length === 0) throw new RefusedRequest('messages: at least one message is required');
  return body;
}

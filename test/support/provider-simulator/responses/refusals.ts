import { RefusedRequest } from '../errors.ts';

/** OpenAI's words for requests that its Responses API refuses, with their codes. All are 400. */

export function missing(param: string): RefusedRequest {
  return new RefusedRequest(`Missing required parameter: '${param}'.`, {
    param,
    code: 'missing_required_parameter',
  });
}

export function wrongType(param: string, expected: string, value: unknown): RefusedRequest {
  return new RefusedRequest(
    `Invalid type for '${param}': expected ${expected}, but got ${typeName(value)} instead.`,
    { param, code: 'invalid_type' },
  );
}

export function wrongValue(param: string, value: unknown, supported: readonly string[]): RefusedRequest {
  const words = supported.map((word) => `'${word}'`);
  const listed = words.length > 1 ? `${words.slice(0, -1).join(', ')}, and ${words.at(-1) ?? ''}` : words[0];
  return new RefusedRequest(`Invalid value: '${String(value)}'. Supported values are: ${listed ?? 'none'}.`, {
    param,
    code: 'invalid_value',
  });
}

export function invalid(param: string, reason: string, code = 'invalid_value'): RefusedRequest {
  return new RefusedRequest(`Invalid '${param}': ${reason}`, { param, code });
}

function typeName(value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'an array';
  if (Number.isInteger(value)) return 'an integer';
  if (typeof value === 'number') return 'a decimal';
  return typeof value === 'object' ? 'an object' : `a ${typeof value}`;
}

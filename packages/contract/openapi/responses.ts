import type { z } from 'zod';
import { modelDialects } from '../src/chat.ts';
import { clientDialects, defaultDialect, type DialectName } from '../src/dialects.ts';
import { errorBody, providerErrorBody } from '../src/error-body.ts';
import { oauthErrorBody } from '../src/oauth.ts';
import { dryRunShape } from '../src/dry-run.ts';
import { csv, jsonLines, type Example, type Examples, type Route } from '../src/route.ts';
import { apiRoutes } from '../src/routes.ts';
import { tableOf } from '../src/table.ts';
import { csvContent } from './csv-content.ts';
import { errorsOf } from './error-codes.ts';
import { linesContent } from './json-lines.ts';
import type { JsonObject, Schemas } from './schemas.ts';

const header = (description: string, schema: JsonObject = { type: 'string' }): JsonObject => ({
  description,
  schema,
});
/** A header always present in the responses listing it. */
const always = (description: string, schema?: JsonObject): JsonObject => ({
  ...header(description, schema),
  required: true,
});
const count: JsonObject = { type: 'integer', minimum: 0 };

/** Response headers, by their name among the components. */
export const sharedHeaders: Readonly<Record<string, JsonObject>> = {
  'x-request-id': always('Id of the request in logs and errors; a valid id of the client is used.', {
    type: 'string',
    pattern: '^[A-Za-z0-9_.-]{1,128}$',
  }),
  Location: header('Path of the created resource; absent in a dry run.'),
  'Idempotency-Replayed': header(
    '`true` if this is the stored response to an earlier request with the same key.',
    {
      type: 'string',
      enum: ['true'],
    },
  ),
  'x-run-id': always('Id of the run in traces.', { type: 'string', format: 'uuid' }),
  'x-trace-id': always('Id of the W3C trace that contains the run.', {
    type: 'string',
    pattern: '^[0-9a-f]{32}$',
  }),
  'x-gateway-provider': always('The provider that answered.'),
  'x-gateway-model': always('The catalogue id of the model that answered.'),
  'x-gateway-max-tokens': header(
    'Maximum tokens of each choice, where what is left of a budget is too little for the requested limit.',
    count,
  ),
  'x-gateway-ignored': header(
    'Hints of the request that the API of the model has no place for, by their names, with commas between them.',
  ),
  'x-gateway-estimated': header('`true` if no provider counted the tokens.', {
    type: 'string',
    enum: ['true'],
  }),
  'x-ratelimit-limit-requests': header('Limit of requests per minute.', count),
  'x-ratelimit-limit-tokens': header('Limit of tokens per minute.', count),
  'x-ratelimit-remaining-requests': header('Requests left in the current minute.', count),
  'x-ratelimit-remaining-tokens': header('Tokens left in the current minute.', count),
  'x-ratelimit-reset-requests': header('Time until the limit of requests resets, such as `12.345s`.'),
  'x-ratelimit-reset-tokens': header('Time until the limit of tokens resets, such as `12.345s`.'),
  'retry-after': header('Seconds to wait before a retry.', count),
  'retry-after-ms': header('Milliseconds to wait before a retry.', count),
  'x-should-retry': header('`false` if a retry soon would fail again, such as when a budget is spent.', {
    type: 'string',
    enum: ['false'],
  }),
  'WWW-Authenticate': always('`Bearer`'),
  Allow: always('The methods that the path supports.'),
  'x-gateway-rows': always('Rows of the export, without the line of names.', count),
  'Content-Disposition': always('A name for the file.'),
  Link: header(
    'With CSV, where there are more: `<path>; rel="next"` (RFC 8288), the path and query of the next page.',
  ),
  Vary: always('`Accept` chooses between JSON and CSV.'),
  ETag: always('Changes when the content changes.'),
  'Cache-Control': always('How long the response may be cached.'),
};

/** Headers of a list, which only CSV has. */
const csvHeaders: JsonObject = {
  'x-gateway-rows': header('With CSV, rows of the page without the line of names.', count),
  'Content-Disposition': header('With CSV, a name for the file.'),
};

const rateLimitHeaders = Object.keys(sharedHeaders).filter((name) => name.startsWith('x-ratelimit-'));
const runHeaders = [
  'x-run-id',
  'x-trace-id',
  'x-gateway-provider',
  'x-gateway-model',
  'x-gateway-ignored',
  'x-gateway-max-tokens',
];

const alsoMeans = {
  200: 'Done; it existed before',
  202: 'Accepted; the result comes later',
  503: 'Not available; the body has the same shape',
};

/** Every response of a route, by status. */
export function responsesOf(route: Route, examples: Examples, schemas: Schemas): JsonObject {
  const responses = new Map<number, JsonObject>([[route.response.status, success(route, examples, schemas)]]);
  if (route.response.revalidated === true) {
    responses.set(304, { description: 'Not modified', headers: headerRefs(['ETag', 'Cache-Control']) });
  }
  for (const [status, codes] of errorsOf(route))
    responses.set(status, failure(route, { status, codes }, schemas));
  const { also, shape } = route.response;
  if (also !== undefined && shape !== null) {
    const content = { 'application/json': { schema: responseSchema(route, shape, schemas) } };
    responses.set(also, {
      description: alsoMeans[also],
      headers: headerRefs([]),
      content,
    });
  }
  return Object.fromEntries([...responses].map(([status, response]) => [String(status), response]));
}

function success(route: Route, examples: Examples, schemas: Schemas): JsonObject {
  const { status, shape, events, lines, csv: isCsv, revalidated } = route.response;
  const table = tableOf(route);
  const refs = headerRefs([
    ...(hasLocation(route) ? ['Location'] : []),
    ...(route.idempotencyKey ? ['Idempotency-Replayed'] : []),
    ...(route.passThrough && route.counts !== true ? [...runHeaders, ...rateLimitHeaders] : []),
    ...(route.counts === true ? ['x-gateway-model', 'x-gateway-estimated'] : []),
    ...(isCsv === true ? ['x-gateway-rows', 'Content-Disposition'] : []),
    ...(revalidated === true ? ['ETag', 'Cache-Control'] : []),
    ...(table === null ? [] : ['Link', 'Vary']),
  ]);
  const headers = table === null ? refs : { ...refs, ...csvHeaders };
  const description = {
    200: 'Done',
    201: 'Created',
    202: 'Accepted',
    204: 'Done; no content',
    303: 'Elsewhere',
  }[status];
  if (shape === null) return { description, headers };
  if (lines === true) {
    const schema = responseSchema(route, shape, schemas);
    return {
      description,
      headers,
      content: { [jsonLines]: linesContent({ schema, examples, which: 'response' }) },
    };
  }
  const all = Object.entries(examples);
  const content: JsonObject = {
    [isCsv === true ? csv : 'application/json']: {
      schema: responseSchema(route, shape, schemas),
      examples: showExamples(all.filter(([, example]) => example.events === undefined)),
    },
    ...(table !== null && csvContent(table, examples)),
  };
  if (events === true) {
    content['text/event-stream'] = {
      // Without a schema, because OpenAPI 3.1 does not define whether it would describe one event or the whole stream.
      examples: showExamples(all.filter(([, example]) => example.events !== undefined)),
    };
  }
  return { description, headers, content };
}

function responseSchema(route: Route, shape: z.ZodType, schemas: Schemas): JsonObject {
  const schema = schemas.named(shape, 'output', `the response of ${route.id}`);
  const dryRunOutput = route.response.shape === shape ? dryRunShape(route) : null;
  if (dryRunOutput === null) return schema;
  return { anyOf: [schema, schemas.component(dryRunOutput, dryRunName(route))] };
}

/** `api-keys.create` → `DryRunOfApiKeysCreate`. */
function dryRunName({ id }: Route): string {
  const words = id.split(/[.-]/).map((word) => word.charAt(0).toUpperCase() + word.slice(1));
  return `DryRunOf${words.join('')}`;
}

function showExamples(examples: readonly [string, Example][]): JsonObject {
  return Object.fromEntries(
    examples.map(([name, { summary, response, events }]) => [name, { summary, value: events ?? response }]),
  );
}

/** A created resource has a location only if it can be fetched. */
function hasLocation({ response, path }: Route): boolean {
  return (
    response.status === 201 &&
    apiRoutes.some(
      ({ method, path: other }) =>
        method === 'GET' && /^\/\{\w+\}$/.test(other.slice(path.length)) && other.startsWith(path),
    )
  );
}

const meanings: Readonly<Record<number, string>> = {
  400: 'The request is invalid; `param` is the invalid field',
  401: 'The key is missing, malformed, unknown, expired or revoked',
  403: 'The key does not allow this',
  404: 'The resource does not exist or belongs to another tenant or user',
  405: 'The path does not support this method',
  408: 'The headers or the body arrived too slowly',
  409: 'The request conflicts with the current state',
  413: 'The body is too large',
  415: 'The content type of the body is not supported, or it is encoded (`Content-Encoding`)',
  422: "The provider can't process the request",
  429: 'A limit or budget is exceeded',
  431: 'The headers, with the path and query, are larger than 16 KiB',
  500: 'Internal error of the gateway; the request id identifies it in logs',
  502: 'A service or the provider returned an error or an invalid response',
  503: "The gateway can't serve the request now; retry",
  504: 'A service or the provider timed out',
};

const errorHeaders: Readonly<Record<number, readonly string[]>> = {
  401: ['WWW-Authenticate'],
  405: ['Allow'],
  503: ['retry-after', 'retry-after-ms'],
};

function failure(
  route: Route,
  { status, codes }: { status: number; codes: readonly string[] },
  schemas: Schemas,
): JsonObject {
  const limited =
    status === 429 ? ['retry-after', 'retry-after-ms', 'x-should-retry', ...rateLimitHeaders] : [];
  return {
    description: `${meanings[status] ?? 'An error'}: ${codes.map((code) => `\`${code}\``).join(', ')}`,
    headers: headerRefs([...(errorHeaders[status] ?? []), ...limited]),
    content: { 'application/json': { schema: errorSchema(route, { status, codes }, schemas) } },
  };
}

/**
 * The HTTP server writes errors before it knows the path, so those have OpenAI's shape on every route. Some errors of
 * providers keep their own body, for clients of the provider's API.
 */
function errorSchema(
  route: Route,
  { status, codes }: { status: number; codes: readonly string[] },
  schemas: Schemas,
): JsonObject {
  const { passThrough } = route;
  const dialects = dialectsOf(route, status);
  const isKept = passThrough && [400, 413, 422].includes(status);
  const early = codes.some((code) => code === 'invalid_http' || code === 'request_timeout');
  const shapes = new Set([
    ...(early ? [errorBody] : []),
    ...dialects.map((name) => clientDialects[name].errorBody),
    ...(isKept ? [providerErrorBody] : []),
    ...(route.oauthErrors === undefined ? [] : [oauthErrorBody]),
  ]);
  const [first, ...others] = [...shapes].map((shape) => schemas.named(shape, 'output', 'an error'));
  return first !== undefined && others.length === 0 ? first : { anyOf: [first, ...others] };
}

/** Under `/v1/models` only a POST shows by its path a call of Google's API; the others are by the client's headers. */
function dialectsOf({ path, dialects = [defaultDialect] }: Route, status: number): readonly DialectName[] {
  const isByHeaders = status === 405 && path.startsWith('/v1/models/');
  return isByHeaders ? modelDialects : dialects;
}

/** Every response has the request id. */
function headerRefs(names: readonly string[]): JsonObject {
  return Object.fromEntries(
    ['x-request-id', ...names].map((name) => [name, { $ref: `#/components/headers/${name}` }]),
  );
}

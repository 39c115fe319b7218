import type { z } from 'zod';
import { errorBody } from '../src/error-body.ts';
import type { Example, Examples, Route } from '../src/route.ts';
import { apiRoutes } from '../src/routes.ts';
import { errorsOf } from './error-codes.ts';
import type { JsonObject, Schemas } from './schemas.ts';

const header = (description: string, schema: JsonObject = { type: 'string' }): JsonObject => ({
  description,
  schema,
});
/** One that comes with every response it is listed at. */
const always = (description: string, schema?: JsonObject): JsonObject => ({
  ...header(description, schema),
  required: true,
});
const count: JsonObject = { type: 'integer', minimum: 0 };

/** Response headers by their name among the components. */
export const sharedHeaders: Readonly<Record<string, JsonObject>> = {
  'x-request-id': always('The request as logs and errors name it; a valid one of the client is kept.', {
    type: 'string',
    pattern: '^[A-Za-z0-9_.-]{1,128}$',
  }),
  Location: always('Path of what was created.'),
  'Idempotency-Replayed': header('`true` if this is the response to an earlier request with the same key.', {
    type: 'string',
    enum: ['true'],
  }),
  'x-run-id': always('The run in traces.', { type: 'string', format: 'uuid' }),
  'x-trace-id': always('The W3C trace that the run is part of.', {
    type: 'string',
    pattern: '^[0-9a-f]{32}$',
  }),
  'x-gateway-provider': always('The provider that answered.'),
  'x-gateway-model': always('The model of the catalogue that answered.'),
  'x-ratelimit-limit-requests': header('Requests a minute.', count),
  'x-ratelimit-limit-tokens': header('Tokens a minute.', count),
  'x-ratelimit-remaining-requests': header('Requests left in this minute.', count),
  'x-ratelimit-remaining-tokens': header('Tokens left in this minute.', count),
  'x-ratelimit-reset-requests': header('Time until the minute of requests is over, such as `12.345s`.'),
  'x-ratelimit-reset-tokens': header('Time until the minute of tokens is over, such as `12.345s`.'),
  'retry-after': header('Seconds to wait.', count),
  'retry-after-ms': header('Milliseconds to wait.', count),
  'x-should-retry': header('`false` if waiting a little will not help, as when a budget is spent.', {
    type: 'string',
    enum: ['false'],
  }),
  'WWW-Authenticate': always('`Bearer`'),
  Allow: always('The methods of this path.'),
  ETag: always('Changes whenever the content does.'),
  'Cache-Control': always('How long it may be kept.'),
};

const rateLimitHeaders = Object.keys(sharedHeaders).filter((name) => name.startsWith('x-ratelimit-'));
const runHeaders = ['x-run-id', 'x-trace-id', 'x-gateway-provider', 'x-gateway-model'];

/** Every response of a route, by status. */
export function responsesOf(route: Route, examples: Examples, schemas: Schemas): JsonObject {
  const responses = new Map<number, JsonObject>([[route.response.status, success(route, examples, schemas)]]);
  if (route.response.revalidated === true) {
    responses.set(304, { description: 'Still the same', headers: headerRefs(['ETag', 'Cache-Control']) });
  }
  for (const [status, codes] of errorsOf(route)) responses.set(status, failure(status, codes, schemas));
  const { also, shape } = route.response;
  if (also !== undefined && shape !== null) {
    const content = { 'application/json': { schema: responseSchema(route, shape, schemas) } };
    responses.set(also, { description: 'The same, when it can not', headers: headerRefs([]), content });
  }
  return Object.fromEntries([...responses].map(([status, response]) => [String(status), response]));
}

function success(route: Route, examples: Examples, schemas: Schemas): JsonObject {
  const { status, shape, events, revalidated } = route.response;
  const headers = headerRefs([
    ...(hasLocation(route) ? ['Location'] : []),
    ...(route.idempotencyKey ? ['Idempotency-Replayed'] : []),
    ...(route.passThrough ? [...runHeaders, ...rateLimitHeaders] : []),
    ...(revalidated === true ? ['ETag', 'Cache-Control'] : []),
  ]);
  const description = { 200: 'Done', 201: 'Created', 204: 'Done; there is nothing to say' }[status];
  if (shape === null) return { description, headers };
  const all = Object.entries(examples);
  const content: JsonObject = {
    'application/json': {
      schema: responseSchema(route, shape, schemas),
      examples: shown(all.filter(([, example]) => example.events === undefined)),
    },
  };
  if (events === true) {
    content['text/event-stream'] = {
      // Without a schema: OpenAPI 3.1 leaves open whether it would be of one event or of them all.
      examples: shown(all.filter(([, example]) => example.events !== undefined)),
    };
  }
  return { description, headers, content };
}

function responseSchema({ id }: Route, shape: z.ZodType, schemas: Schemas): JsonObject {
  return schemas.named(shape, 'output', `the response of ${id}`);
}

function shown(examples: readonly [string, Example][]): JsonObject {
  return Object.fromEntries(
    examples.map(([name, { summary, response, events }]) => [name, { summary, value: events ?? response }]),
  );
}

/** What is created has a place of its own only if it can be fetched. */
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
  400: 'The request is not valid; `param` names what is wrong',
  401: 'The key is missing, malformed, unknown, expired or revoked',
  403: 'The key may not do this',
  404: 'There is no such thing, or it belongs to somebody else',
  405: 'The path does not support this method',
  408: 'The headers or the body arrived too slowly',
  409: 'It conflicts with what is there',
  413: 'The body is too large',
  415: 'The body is not JSON, or is encoded (`Content-Encoding`)',
  422: 'The provider can not process the request',
  429: 'Too much, for now',
  431: 'The headers, with the path and query, are larger than 16 KiB',
  500: 'An error of the gateway; the request id leads to its log line',
  502: 'A service or the provider did not answer as it should',
  503: "The gateway can't serve the request now; try again",
  504: 'A service or the provider took too long',
};

const errorHeaders: Readonly<Record<number, readonly string[]>> = {
  401: ['WWW-Authenticate'],
  405: ['Allow'],
  503: ['retry-after', 'retry-after-ms'],
};

function failure(status: number, codes: readonly string[], schemas: Schemas): JsonObject {
  const limited =
    status === 429 ? ['retry-after', 'retry-after-ms', 'x-should-retry', ...rateLimitHeaders] : [];
  return {
    description: `${meanings[status] ?? 'An error'}: ${codes.map((code) => `\`${code}\``).join(', ')}`,
    headers: headerRefs([...(errorHeaders[status] ?? []), ...limited]),
    content: { 'application/json': { schema: schemas.named(errorBody, 'output', 'an error') } },
  };
}

/** The request's id is in every response. */
function headerRefs(names: readonly string[]): JsonObject {
  return Object.fromEntries(
    ['x-request-id', ...names].map((name) => [name, { $ref: `#/components/headers/${name}` }]),
  );
}

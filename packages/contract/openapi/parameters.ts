import type { z } from 'zod';
import { documentPathPattern } from '../src/memory.ts';
import type { Example, Route } from '../src/route.ts';
import { tableOf } from '../src/table.ts';
import type { JsonObject, Schemas } from './schemas.ts';

const printable = '^[\\x20-\\x7e]{1,255}$';
const usd = { type: 'string', pattern: '^\\d{1,12}(\\.\\d{1,12})?$', examples: ['2.00'] };

/** Schemas of path parameters, by name. */
const pathSchemas: Readonly<Record<string, JsonObject>> = {
  agentID: { type: 'string', minLength: 1, maxLength: 64, description: 'Id or key of the agent' },
  id: { type: 'string', format: 'uuid', description: 'Id of the resource' },
  guardrail: { type: 'string', minLength: 1, maxLength: 80, description: 'Id or name of the guardrail' },
  toolset: { type: 'string', minLength: 1, maxLength: 80, description: 'Id or name of the toolset' },
  policy: { type: 'string', minLength: 1, maxLength: 80, description: 'Id or name of the policy' },
  value: { type: 'string', minLength: 1, maxLength: 512, description: 'A value of `per`, or `group:<name>`' },
  call_id: { type: 'string', format: 'uuid', description: 'Id of the call' },
  model: {
    type: 'string',
    minLength: 1,
    maxLength: 256,
    description: 'Id of the model, or `agent:` followed by the key of an agent, percent-encoded',
  },
  file_id: { type: 'string', minLength: 1, maxLength: 64, description: 'Id of the file' },
  batch_id: { type: 'string', minLength: 1, maxLength: 64, description: 'Id of the batch' },
  message_batch_id: { type: 'string', minLength: 1, maxLength: 64, description: 'Id of the batch' },
  response_id: { type: 'string', maxLength: 64, description: 'Id of the response' },
  conversation_id: { type: 'string', format: 'uuid', description: 'Id of the conversation' },
  server_id: { type: 'string', format: 'uuid', description: 'Id of the MCP server' },
  name: { type: 'string', minLength: 1, maxLength: 256, description: 'Name of the tool, percent-encoded' },
  user_id: { type: 'string', pattern: printable, description: 'Id of the end user, percent-encoded' },
  'id+': {
    type: 'string',
    minLength: 1,
    maxLength: 256,
    description: 'Id of the model, or `agent:` followed by the key of an agent',
  },
  'path+': {
    type: 'string',
    minLength: 1,
    maxLength: 512,
    pattern: documentPathPattern.source,
    description: 'Segments separated by `/`, none of them empty, `.` or `..`',
  },
};

/** Shared parameters, by their name among the components. */
export const sharedParameters: Readonly<Record<string, JsonObject>> = {
  'X-Service-User-Id': {
    name: 'X-Service-User-Id',
    in: 'header',
    description:
      'The acting user: the end user of your application that the request is for. A key that is bound to a user ' +
      'allows only that user. The API console and its relay remove this header.',
    schema: { type: 'string', pattern: printable },
  },
  'Required-X-Service-User-Id': {
    name: 'X-Service-User-Id',
    in: 'header',
    required: true,
    description:
      'The acting user: the end user of your application that the request is for. Only a key that is bound to a user ' +
      'may omit it, and allows only that user. The API console and its relay remove this header.',
    schema: { type: 'string', pattern: printable },
  },
  'Idempotency-Key': {
    name: 'Idempotency-Key',
    in: 'header',
    description:
      'Makes it safe to retry the request: for 24 hours, the same key with the same body returns the first response ' +
      'again, with `Idempotency-Replayed: true`.',
    schema: { type: 'string', pattern: printable },
  },
  'X-Session-Id': {
    name: 'X-Session-Id',
    in: 'header',
    description:
      'Groups runs into a conversation in traces. The API console and its relay remove this header.',
    schema: { type: 'string', pattern: printable },
  },
  'X-Session-Budget-Usd': {
    name: 'X-Session-Budget-Usd',
    in: 'header',
    description:
      'A budget in USD of the session of the request, from this request until 24 hours after the last run of the ' +
      'session. Later requests of the session, with or without this header, count in it, and may only lower it. ' +
      'Needs a session, such as that of `X-Session-Id`. The API console and its relay remove this header.',
    schema: usd,
  },
  'X-Stream-Events': {
    name: 'X-Stream-Events',
    in: 'header',
    description:
      '`tools` adds events named `gatehouse.tool` to the stream when the gateway calls a tool of the agent and when ' +
      'the call has ended. OpenAI clients do not expect such events. The API console and its relay remove this header.',
    schema: { type: 'string', enum: ['tools'] },
  },
  dry_run: {
    name: 'dry_run',
    in: 'query',
    description:
      '`true` makes the same checks and returns the same response, and changes nothing: ids of new resources and ' +
      'secrets are null, there is no `Location`, and `Idempotency-Key` is ignored.',
    schema: { type: 'string', enum: ['true', 'false'], default: 'false' },
  },
  bom: {
    name: 'bom',
    in: 'query',
    description:
      'With `Accept: text/csv`, `false` leaves out the byte order mark by which Excel knows UTF-8.',
    schema: { type: 'string', enum: ['true', 'false'], default: 'true' },
  },
  'If-None-Match': {
    name: 'If-None-Match',
    in: 'header',
    description: 'The `ETag` of an earlier response. Returns 304 if the content has not changed.',
    // All headers together are limited to 16 KiB.
    schema: { type: 'string', maxLength: 16_384 },
  },
};

/** The path in OpenAPI form, which has no parameters of several segments. */
export const openApiPath = (path: string): string => path.replaceAll('+}', '}');

export function parametersOf(route: Route, examples: readonly Example[], schemas: Schemas): JsonObject[] {
  const shared = [
    tableOf(route) === null ? null : 'bom',
    route.administrative ? 'dry_run' : null,
    actingUserOf(route),
    route.idempotencyKey ? 'Idempotency-Key' : null,
    ...(route.passThrough && route.counts !== true ? ['X-Session-Id', 'X-Session-Budget-Usd'] : []),
    route.id === 'chat.completions' ? 'X-Stream-Events' : null,
    route.response.revalidated === true ? 'If-None-Match' : null,
  ].filter((name) => name !== null);
  return [
    ...pathParameters(route, examples),
    ...queryParameters(route, examples, schemas),
    ...shared.map((name) => ({ $ref: `#/components/parameters/${name}` })),
  ];
}

function actingUserOf({ actingUser, needsActingUser }: Route): string | null {
  if (!actingUser) return null;
  return needsActingUser === true ? 'Required-X-Service-User-Id' : 'X-Service-User-Id';
}

function pathParameters(route: Route, examples: readonly Example[]): JsonObject[] {
  return [...route.path.matchAll(/\{(\w+)(\+?)\}/g)].map(([, name = '', rest = '']) => {
    const schema = pathSchemas[name + rest];
    if (schema === undefined) {
      throw new Error(`openapi/parameters.ts has no schema for {${name}${rest}} of ${route.id}`);
    }
    const { description, ...type } = schema;
    const example = examples.find(({ params }) => params?.[name] !== undefined)?.params?.[name];
    return { name, in: 'path', required: true, description, schema: type, ...(example && { example }) };
  });
}

function queryParameters(route: Route, examples: readonly Example[], schemas: Schemas): JsonObject[] {
  return Object.entries(route.query?.shape ?? {}).map(([name, shape]) => {
    const { description, ...schema } = schemas.schemaOf(shape as z.ZodType, 'input');
    const example = examples.find(({ query }) => query?.[name] !== undefined)?.query?.[name];
    return {
      name,
      in: 'query',
      required: !(shape as z.ZodType).safeParse(undefined).success,
      ...(description !== undefined && { description }),
      schema,
      ...(example !== undefined && { example }),
    };
  });
}

import { version } from '@gatehouse/kit/version';
import { examplesOf } from './examples.ts';
import { MiB } from '../src/route.ts';
import { apiRoutes, type Access, type Route } from '../src/routes.ts';
import { openApiPath, parametersOf, sharedParameters } from './parameters.ts';
import { responsesOf, sharedHeaders } from './responses.ts';
import { Schemas, type JsonObject } from './schemas.ts';
import { tagOf, tagsOf } from './tags.ts';

const about = [
  'One interface to the models of many providers, for many tenants. Every OpenAI client works with this base URL and',
  'a key of the gateway.',
  '',
  'Errors have one shape everywhere. Ids are UUIDs, times RFC 3339 in UTC with milliseconds, money decimal text in USD.',
  'Lists come in pages: `limit`, and `cursor` with the `next_cursor` of the page before. Unknown fields and query',
  'parameters are refused, but what goes on to a provider is passed on whole. Every response has an `x-request-id`.',
  '',
  'Request bodies are not encoded (`Content-Encoding`). Pages of other origins may call the endpoints that take a',
  "tenant's key where the operator names their origin (CORS), never with credentials.",
].join('\n');

/** The OpenAPI 3.1 document of the route table. */
export function openApiDocument(table: readonly Route[] = apiRoutes): JsonObject {
  const schemas = new Schemas();
  const paths: Record<string, JsonObject> = {};
  for (const route of table) {
    const path = openApiPath(route.path);
    paths[path] = { ...paths[path], [route.method.toLowerCase()]: operation(route, schemas) };
  }
  return {
    openapi: '3.1.1',
    info: {
      title: 'Gatehouse',
      version,
      description: about,
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: '/' }],
    security: [{ bearer: [] }],
    tags: tagsOf(table.map(({ id }) => id)),
    paths,
    components: {
      securitySchemes: {
        bearer: { type: 'http', scheme: 'bearer', description: 'A key of the gateway: `gwk_…`' },
      },
      parameters: sharedParameters,
      headers: sharedHeaders,
      schemas: schemas.components,
    },
  };
}

function operation(route: Route, schemas: Schemas): JsonObject {
  const examples = examplesOf(route);
  const body = requestBody(route, schemas);
  return {
    operationId: route.id,
    tags: [tagOf(route.id).name],
    summary: route.summary,
    description: describe(route),
    ...(route.access.kind === 'public' && { security: [] }),
    ...(route.access.kind === 'scope' && { 'x-required-scope': route.access.scope }),
    ...(route.access.kind === 'owner' && { 'x-required-role': 'owner' }),
    'x-acting-user': route.actingUser,
    'x-operator-surface': route.operatorSurface,
    parameters: parametersOf(route, Object.values(examples), schemas),
    ...(body !== null && { requestBody: body }),
    responses: responsesOf(route, examples, schemas),
  };
}

function describe(route: Route): string {
  const user = '`X-Service-User-Id` may name the acting user.';
  const operator = 'Part of the operator surface: the browser relay does not lead here.';
  const sentences = [accessText(route.access), route.actingUser && user, route.operatorSurface && operator];
  const text = sentences.filter((sentence) => sentence !== false).join(' ');
  return route.description === undefined ? text : `${route.description}\n\n${text}`;
}

function accessText(access: Access): string {
  switch (access.kind) {
    case 'public':
      return 'Takes no key.';
    case 'key':
      return 'Takes any key.';
    case 'owner':
      return 'Takes a key of the role `owner`.';
    case 'scope':
      return `Takes a key with the scope \`${access.scope}\`.`;
  }
}

function requestBody(route: Route, schemas: Schemas): JsonObject | null {
  const shape = route.body ?? route.passedBody;
  if (shape === undefined) return null;
  const bodies = Object.entries(examplesOf(route)).map(
    ([name, { summary, body }]) => [name, { summary, value: body }] as const,
  );
  return {
    description: `At most ${route.bodyLimit / MiB} MiB`,
    // A body that may be `{}` may be left out.
    required: !shape.safeParse({}).success,
    content: {
      'application/json': { schema: schemas.of(shape, 'input'), examples: Object.fromEntries(bodies) },
    },
  };
}

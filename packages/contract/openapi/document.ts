import { z } from 'zod';
import { version } from '@gatehouse/kit/version';
import { examplesOf } from './examples.ts';
import { clientDialects, defaultDialect, keyHeadersAt } from '../src/dialects.ts';
import { formData, jsonLines, MiB, urlEncoded } from '../src/route.ts';
import { apiRoutes, type Access, type Route } from '../src/routes.ts';
import { openApiPath, parametersOf, sharedParameters } from './parameters.ts';
import { linesContent } from './json-lines.ts';
import { responsesOf, sharedHeaders } from './responses.ts';
import { Schemas, type JsonObject } from './schemas.ts';
import { tagOf, tagsOf } from './tags.ts';

const about = [
  'One API for the models of many providers, for many tenants. Use any OpenAI client with this base URL and a key of',
  'the gateway.',
  '',
  "All errors have the same shape, except for clients of Anthropic's and Google's APIs, which get errors in theirs, and",
  'for logins of programs, which have those of OAuth. Ids are UUIDs, times are RFC 3339 in UTC with milliseconds, money',
  'is decimal text in USD. To read a list page by page, set `limit`, and set `cursor` to the `next_cursor` of the',
  'previous page. With `Accept: text/csv` the page is CSV, and the next one a `Link`. Unknown fields and query parameters',
  'are rejected, except in requests that are passed to a provider, in lists of models and in logins of programs. Every',
  'response has an `x-request-id`. A request for a WebSocket returns 426 on every path.',
  '',
  'Request bodies must not be encoded (`Content-Encoding`). Web pages of other origins can call endpoints that take a',
  'tenant key if the operator allows their origin (CORS), but never with credentials.',
].join('\n');

const bearer = { bearer: [] };

const securitySchemes = {
  bearer: { type: 'http', scheme: 'bearer', description: 'An API key of the gateway: `gwk_…`' },
  'x-api-key': { type: 'apiKey', in: 'header', name: 'x-api-key', description: "For Anthropic's clients" },
  'x-goog-api-key': {
    type: 'apiKey',
    in: 'header',
    name: 'x-goog-api-key',
    description: "For Google's clients",
  },
  'api-key': { type: 'apiKey', in: 'header', name: 'api-key', description: "For Azure OpenAI's clients" },
  key: { type: 'apiKey', in: 'query', name: 'key', description: "For Google's clients" },
  session: {
    type: 'apiKey',
    in: 'cookie',
    name: '__Host-gatehouse',
    description: 'For pages of the gateway itself, with the header `X-Gatehouse-Page: 1`',
  },
};

/** Generates the OpenAPI 3.1 document of a route table. */
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
    security: [bearer],
    tags: tagsOf(table.map(({ id }) => id)),
    paths,
    components: {
      securitySchemes,
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
    ...securityOf(route),
    ...((route.access.kind === 'scope' || route.access.kind === 'ticket') && {
      'x-required-scope': route.access.scope,
    }),
    ...(route.access.kind === 'scope' &&
      route.access.also !== undefined && { 'x-also-required-scope': route.access.also }),
    ...((route.access.kind === 'admin' || route.access.kind === 'owner') && {
      'x-required-role': route.access.kind,
    }),
    'x-acting-user': route.actingUser,
    'x-operator-surface': route.operatorSurface,
    parameters: parametersOf(route, Object.values(examples), schemas),
    ...(body !== null && { requestBody: body }),
    responses: responsesOf(route, examples, schemas),
  };
}

/** The places of a key, where they are not those of the whole document. */
function securityOf({ access, path, dialects = [defaultDialect] }: Route): JsonObject {
  const needsNone = access.kind === 'ticket' && access.scope === undefined;
  if (access.kind === 'public' || access.kind === 'signed' || needsNone) return { security: [] };
  if (access.kind === 'session') return { security: [{ session: [] }] };
  const headers = dialects.flatMap((name) => keyHeadersAt(path, name));
  if (headers.length === 0) return {};
  const query = dialects.flatMap((name) => clientDialects[name].keyInQuery ?? []);
  return { security: [bearer, ...[...headers, ...query].map((name) => ({ [name]: [] }))] };
}

function describe(route: Route): string {
  const user = '`X-Service-User-Id` sets the acting user.';
  const operator = 'Part of the operator surface: the browser relay rejects it.';
  const sentences = [accessText(route.access), route.actingUser && user, route.operatorSurface && operator];
  const text = sentences.filter((sentence) => sentence !== false).join(' ');
  return route.description === undefined ? text : `${route.description}\n\n${text}`;
}

function accessText(access: Access): string {
  switch (access.kind) {
    case 'public':
      return 'Needs no key.';
    case 'signed':
      return 'Needs no key: the request is signed.';
    case 'ticket':
      return access.scope === undefined
        ? 'Needs no key in a header.'
        : `Needs a key with the scope \`${access.scope}\`, or a ticket.`;
    case 'session':
      return 'Needs a session, and no key.';
    case 'key':
      return [
        access.ofTenant === true ? 'Needs a key of a tenant' : 'Needs any valid key',
        access.notConfirmed === true ? ' that no person has made for themselves or given to a program.' : '.',
      ].join('');
    case 'owner':
      return 'Needs a key with the role `owner`.';
    case 'admin': {
      const { orSelf } = access;
      const scopes = orSelf?.map((scope) => `\`${scope}\``).join(' and ');
      const others = scopes === undefined ? '' : `, or the session of the user with the scopes ${scopes}`;
      return `Needs a key with the role \`admin\`${others}.`;
    }
    case 'scope':
      return access.also === undefined
        ? `Needs a key with the scope \`${access.scope}\`${access.owners === true ? ', of a tenant or an owner' : ''}.`
        : `Needs a key with the scopes \`${access.scope}\` and \`${access.also}\`.`;
  }
}

function requestBody(route: Route, schemas: Schemas): JsonObject | null {
  const { bodyLimit, bodyLines } = route;
  if (bodyLines !== undefined)
    return {
      description: `At most ${bodyLimit / MiB} MiB`,
      required: false,
      content: {
        [jsonLines]: linesContent({
          schema: schemas.schemaOf(bodyLines, 'input'),
          examples: examplesOf(route),
          which: 'body',
          maxLength: bodyLimit,
        }),
      },
    };
  const shape = route.bodyForm ?? route.body ?? route.passedBody;
  if (shape === undefined) return null;
  const bodies = Object.entries(examplesOf(route)).map(
    ([name, { summary, body }]) => [name, { summary, value: body }] as const,
  );
  const content = {
    schema: schemas.schemaOf(shape, 'input'),
    examples: Object.fromEntries(bodies),
  };
  return {
    description: `At most ${bodyLimit < MiB ? `${bodyLimit / 1024} KiB` : `${bodyLimit / MiB} MiB`}`,
    // A body may be omitted if `{}` is valid for it.
    required: !shape.safeParse({}).success || z.globalRegistry.get(shape)?.['minProperties'] === 1,
    content: {
      [shape === route.bodyForm ? formData : 'application/json']: content,
      ...(route.takesForm === true && { [urlEncoded]: content }),
    },
  };
}

import { z } from 'zod';
import { ok, created, noContent, routesWith, scope, type Route } from './route.ts';

/**
 * SCIM 2.0 (RFC 7643, RFC 7644) for identity providers: `/scim/v2`. Bodies, errors and media types are SCIM's, and
 * `/scim/v2/Schemas` describes them, so these routes are not part of the OpenAPI document.
 */

const base = '/scim/v2';

/** The media type of SCIM's bodies (RFC 7644, section 8.1). */
export const scimMediaType = 'application/scim+json';

/** Whether a request target belongs to SCIM, also where no route has it. */
export function isScimTarget(target: string): boolean {
  const [path] = target.split('?', 1);
  return path === base || target.startsWith(`${base}/`);
}

/** Unknown attributes and parameters are ignored. */
const resource = z.looseObject({});
const response = z.looseObject({ schemas: z.array(z.string()) });

export const scimQuery = z.looseObject({
  filter: z.string().max(2_000).optional(),
  attributes: z.string().max(2_000).optional(),
  excludedAttributes: z.string().max(2_000).optional(),
});
/** A value below 1 means 1, and a negative count 0 (RFC 7644, section 3.4.2.4). */
export const scimListQuery = scimQuery.extend({
  startIndex: z.coerce.number().int().default(1),
  count: z.coerce.number().int().default(100),
});
export type ScimQuery = z.output<typeof scimQuery>;
export type ScimListQuery = z.output<typeof scimListQuery>;

const route = routesWith({ service: 'tenant', access: scope('scim.write'), response: ok(response) });

/** The routes of a kind of resources. */
function resourceRoutes(name: 'Users' | 'Groups'): Route[] {
  const id = `scim.${name.toLowerCase()}`;
  const path = `${base}/${name}` as const;
  return [
    route(`${id}.search`, `GET ${path}`, { query: scimListQuery, summary: `List ${name}` }),
    route(`${id}.create`, `POST ${path}`, {
      ...{ query: scimQuery, body: resource, response: created(response), idempotencyKey: true },
      summary: `Create one of ${name}`,
    }),
    route(`${id}.get`, `GET ${path}/{id}`, { query: scimQuery, summary: `Get one of ${name}` }),
    route(`${id}.put`, `PUT ${path}/{id}`, {
      ...{ query: scimQuery, body: resource, summary: `Replace one of ${name}` },
    }),
    route(`${id}.patch`, `PATCH ${path}/{id}`, {
      ...{ query: scimQuery, body: resource, summary: `Change one of ${name}` },
      // Without a body for groups, as Entra ID expects it.
      ...(name === 'Groups' && { response: noContent }),
    }),
    route(`${id}.delete`, `DELETE ${path}/{id}`, {
      ...{ query: scimQuery, response: noContent, summary: `Delete one of ${name}` },
    }),
  ];
}

export const scimRoutes: readonly Route[] = [
  route('scim.config', `GET ${base}/ServiceProviderConfig`, {
    query: scimQuery,
    summary: 'Get the features',
  }),
  route('scim.types', `GET ${base}/ResourceTypes`, { query: scimQuery, summary: 'List the types' }),
  route('scim.type', `GET ${base}/ResourceTypes/{id}`, { query: scimQuery, summary: 'Get a type' }),
  route('scim.schemas', `GET ${base}/Schemas`, { query: scimQuery, summary: 'List the schemas' }),
  route('scim.schema', `GET ${base}/Schemas/{id}`, { query: scimQuery, summary: 'Get a schema' }),
  ...resourceRoutes('Users'),
  ...resourceRoutes('Groups'),
];

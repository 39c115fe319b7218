import { namedAttribute } from './scim-filter.ts';
import type { ScimGroup } from './scim-group.ts';
import { scimUserOf } from './scim-user.ts';
import type { User } from '../users/user.ts';

/** Resources as SCIM has them. */

export const userSchema = 'urn:ietf:params:scim:schemas:core:2.0:User';
export const groupSchema = 'urn:ietf:params:scim:schemas:core:2.0:Group';
const listSchema = 'urn:ietf:params:scim:api:messages:2.0:ListResponse';

export type Resource = Readonly<Record<string, unknown>>;

/** A reference to a user or group. */
export interface ScimReference {
  value: string;
  display: string;
}

/** The path of a resource. */
export function locationOf(kind: 'Users' | 'Groups', id: string): string {
  return `/scim/v2/${kind}/${id}`;
}

function meta(
  resourceType: 'User' | 'Group',
  { id, createdAt, updatedAt }: Pick<ScimGroup, 'id' | 'createdAt' | 'updatedAt'>,
): object {
  return {
    resourceType,
    created: createdAt.toISOString(),
    lastModified: updatedAt.toISOString(),
    location: locationOf(`${resourceType}s`, id),
  };
}

const references = (kind: 'Users' | 'Groups', members: readonly ScimReference[]): object[] =>
  members.map(({ value, display }) => ({ value, $ref: locationOf(kind, value), display }));

/** `groups`: those from SCIM. */
export function showScimUser(user: User, groups: readonly ScimReference[]): Resource {
  const attributes = scimUserOf(user);
  if (attributes === null) throw new Error('SCIM does not know this user');
  const { userName, externalId, displayName, name, emails, active } = attributes;
  return {
    schemas: [userSchema],
    id: user.id,
    ...(externalId !== null && { externalId }),
    userName,
    ...(displayName !== null && { displayName }),
    ...(name !== null && { name }),
    active,
    emails,
    groups: references('Groups', groups),
    meta: meta('User', user),
  };
}

/** `members`: those from SCIM. */
export function showScimGroup(group: ScimGroup, members: readonly ScimReference[]): Resource {
  const { id, name, externalId } = group;
  return {
    schemas: [groupSchema],
    id,
    ...(externalId !== null && { externalId }),
    displayName: name,
    members: references('Users', members),
    meta: meta('Group', group),
  };
}

/** A page of resources from `startIndex`, which begins with 1. */
export function scimList(
  resources: readonly Resource[],
  { total, startIndex }: { total: number; startIndex: number },
): Resource {
  return {
    ...{ schemas: [listSchema], totalResults: total, startIndex, itemsPerPage: resources.length },
    Resources: resources,
  };
}

/** The parameters by which clients choose attributes. */
export interface Chosen {
  attributes?: string | undefined;
  excludedAttributes?: string | undefined;
}

/** Whether a resource has an attribute in the answer, so that others need not be looked up. */
export function isChosen(attribute: string, { attributes, excludedAttributes }: Chosen): boolean {
  const wanted = namesIn(attributes);
  if (wanted.length > 0) return wanted.some((name) => name.attribute === attribute);
  return !namesIn(excludedAttributes).some((name) => name.attribute === attribute && name.sub === null);
}

/** A resource with the chosen attributes (RFC 7644, section 3.9); `schemas` and `id` are always there. */
export function chosenOf(resource: Resource, chosen: Chosen): Resource {
  const wanted = namesIn(chosen.attributes);
  const isWanted = wanted.length > 0;
  const names = isWanted ? wanted : namesIn(chosen.excludedAttributes);
  if (names.length === 0) return resource;
  const members: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(resource)) {
    const named = names.filter(({ attribute }) => attribute === name.toLowerCase());
    const isWhole = named.some(({ sub }) => sub === null);
    const subs = new Set(named.map(({ sub }) => sub));
    if (name === 'schemas' || name === 'id' || (isWanted ? isWhole : named.length === 0))
      members[name] = value;
    else if (isWanted ? named.length > 0 : !isWhole)
      members[name] = withMembers(value, (sub) => subs.has(sub) === isWanted);
  }
  return members;
}

/** A complex value, or each of a list, with some members. */
function withMembers(value: unknown, has: (sub: string) => boolean): unknown {
  if (Array.isArray(value)) return value.map((each: unknown) => withMembers(each, has));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).filter(([name]) => has(name.toLowerCase())));
}

function namesIn(list: string | undefined): { attribute: string; sub: string | null }[] {
  return (list ?? '').split(',').flatMap((name) => {
    const named = name.trim() === '' ? null : namedAttribute(name.trim());
    return named === null ? [] : [named];
  });
}

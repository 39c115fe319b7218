import { nameParts } from './scim-user.ts';
import { groupSchema, userSchema, type Resource } from './scim-view.ts';

/** The documents by which clients learn what the gateway takes (RFC 7643, sections 5 to 7). */

const schemaSchema = 'urn:ietf:params:scim:schemas:core:2.0:Schema';
const typeSchema = 'urn:ietf:params:scim:schemas:core:2.0:ResourceType';
const configSchema = 'urn:ietf:params:scim:schemas:core:2.0:ServiceProviderConfig';

/** The most resources of a page. */
export const maxPage = 200;

/** `ServiceProviderConfig`. */
export const serviceProviderConfig: Resource = {
  schemas: [configSchema],
  patch: { supported: true },
  bulk: { supported: false, maxOperations: 0, maxPayloadSize: 0 },
  filter: { supported: true, maxResults: maxPage },
  changePassword: { supported: false },
  sort: { supported: false },
  etag: { supported: false },
  authenticationSchemes: [
    {
      type: 'oauthbearertoken',
      name: 'API key',
      description: 'An API key with the scope scim.write, as bearer token',
      primary: true,
    },
  ],
  meta: { resourceType: 'ServiceProviderConfig', location: '/scim/v2/ServiceProviderConfig' },
};

/** `ResourceTypes`. */
export const resourceTypes: readonly Resource[] = [
  { id: 'User', endpoint: '/Users', schema: userSchema },
  { id: 'Group', endpoint: '/Groups', schema: groupSchema },
].map(({ id, ...type }) => ({
  ...{ schemas: [typeSchema], id, name: id, ...type },
  meta: { resourceType: 'ResourceType', location: `/scim/v2/ResourceTypes/${id}` },
}));

const plain = {
  ...{ type: 'string', multiValued: false, required: false, caseExact: false },
  ...{ mutability: 'readWrite', returned: 'default', uniqueness: 'none' },
};
const texts = (...names: string[]): object[] => names.map((name) => ({ name, description: name, ...plain }));

const readOnly = { mutability: 'readOnly' };

/** `mutability`: that of the list. An element never changes. */
const references = (name: string, type: 'User' | 'Group', mutability: 'readOnly' | 'readWrite'): object => {
  const ofElement = { mutability: mutability === 'readOnly' ? mutability : 'immutable' };
  const reference = { type: 'reference', referenceTypes: [type], ...ofElement };
  return {
    ...{ name, description: name, ...plain, type: 'complex', multiValued: true, mutability },
    subAttributes: [
      { ...plain, name: 'value', description: 'value', ...ofElement },
      { ...plain, name: 'display', description: 'display', ...readOnly },
      { ...plain, name: '$ref', description: '$ref', ...reference },
    ],
  };
};

/** `Schemas`, with the attributes that are stored. */
export const schemas: readonly Resource[] = [
  {
    id: userSchema,
    name: 'User',
    attributes: [
      { ...plain, name: 'userName', description: 'A name of the user', required: true, uniqueness: 'server' },
      { ...plain, name: 'externalId', description: 'The id at the identity provider', uniqueness: 'server' },
      ...texts('displayName'),
      {
        ...{ ...plain, name: 'name', description: 'The parts of the name', type: 'complex' },
        subAttributes: texts(...nameParts),
      },
      { ...plain, name: 'active', description: 'Whether the user is not blocked', type: 'boolean' },
      {
        ...{ ...plain, name: 'emails', description: 'Addresses', type: 'complex', multiValued: true },
        subAttributes: [
          ...texts('value', 'type', 'display'),
          { ...plain, name: 'primary', description: 'Whether it is the first one', type: 'boolean' },
        ],
      },
      references('groups', 'Group', 'readOnly'),
    ],
  },
  {
    id: groupSchema,
    name: 'Group',
    attributes: [
      { ...plain, name: 'displayName', description: 'The name', required: true, uniqueness: 'server' },
      { ...plain, name: 'externalId', description: 'The id at the identity provider', uniqueness: 'server' },
      references('members', 'User', 'readWrite'),
    ],
  },
].map(({ id, name, attributes }) => ({
  ...{ schemas: [schemaSchema], id, name, description: name, attributes },
  meta: { resourceType: 'Schema', location: `/scim/v2/Schemas/${id}` },
}));

import type { BaseDependencies } from '../shared/base-dependencies.ts';
import { scimDiscoveryHandlers } from './scim-discovery-handlers.ts';
import { scimGroupHandlers } from './scim-group-handlers.ts';
import { scimUserHandlers } from './scim-user-handlers.ts';

/** SCIM 2.0, by which an identity provider writes users and groups of a tenant. */
export function createScim({ app, keyRing, changes }: BaseDependencies) {
  const dependencies = { app, keyRing, changes };
  return {
    handlers: {
      ...scimDiscoveryHandlers(),
      ...scimUserHandlers(dependencies),
      ...scimGroupHandlers(dependencies),
    },
  };
}

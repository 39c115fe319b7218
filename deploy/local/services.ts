import type { ServiceName } from '@gatehouse/contract/routes';

/** What the supervisor must know of a service. */
export interface ServiceDefinition {
  name: ServiceName;
  /** Has a schema with migrations, and logs in as `<name>_login`. */
  database: boolean;
  /** Serves gRPC. */
  grpc: boolean;
  /** Gets `SECRETS_KEYRING`: seals secrets of tenants. */
  keyRing?: boolean;
  /** Gets the catalogue and, because that may name any variable, the caller's whole environment. */
  models?: boolean;
}

/** Every service, in the order in which they start; they stop in reverse, so the front door is last. */
export const services: readonly ServiceDefinition[] = [
  { name: 'tenant', database: true, grpc: true, keyRing: true },
  { name: 'agent', database: true, grpc: true, keyRing: true },
  { name: 'analytics', database: true, grpc: true },
  { name: 'chat', database: true, grpc: true, models: true },
  { name: 'edge', database: false, grpc: false },
];

/** The service that listens on `PORT`. */
export const frontDoor: ServiceName = 'edge';

import type { TestIdentity } from './identity.ts';

/** The settings that every service with a database has in a test, on ports of its own. */
export function serviceEnvironment(
  service: string,
  { databaseUrl, identity }: { databaseUrl: string; identity: TestIdentity },
): Record<string, string> {
  return {
    HOST: '127.0.0.1',
    HTTP_PORT: '0',
    GRPC_PORT: '0',
    ADMIN_PORT: '0',
    LOG_LEVEL: 'silent',
    DRAIN_TIMEOUT_MS: '1000',
    DATABASE_URL: databaseUrl,
    // A connection costs a process of PostgreSQL; calls of a test at once need a few.
    DATABASE_POOL: '4',
    ASSERTION_PRIVATE_KEY: identity.privateKey(service),
    ASSERTION_PUBLIC_KEYS: identity.publicKeys,
    SECRETS_KEYRING: identity.keyRing,
  };
}

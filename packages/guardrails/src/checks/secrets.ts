import { apiKey } from './api-key.ts';
import { assignment } from './assignment.ts';
import { connectionMember, connectionString } from './connection-string.ts';
import { jwt } from './jwt.ts';
import { privateKey } from './private-key.ts';
import type { Shape } from './shape.ts';

/** The types of secrets, in the order of the API's documents. */
export const secretTypes = ['api_key', 'private_key', 'jwt', 'connection_string', 'assignment'] as const;

export type SecretType = (typeof secretTypes)[number];

/** The default types: those with a proof other than randomness. */
export const defaultSecretTypes = [
  'api_key',
  'private_key',
  'jwt',
  'connection_string',
] as const satisfies readonly SecretType[];

const shapes: Record<SecretType, readonly Shape[]> = {
  api_key: [apiKey],
  private_key: [privateKey],
  jwt: [jwt],
  connection_string: [connectionString, connectionMember],
  assignment: [assignment],
};

/** The shapes of secrets. */
export function secretShapes(types: readonly SecretType[] = defaultSecretTypes): Shape[] {
  return types.flatMap((type) => shapes[type]);
}

import { scopesOf } from '@gatehouse/contract/scopes';
import { generateServiceKeys } from '@gatehouse/identity/keys';
import type { Principal } from '@gatehouse/identity/principal';
import { Signer } from '@gatehouse/identity/signer';
import { newId, randomBase62 } from '@gatehouse/kit/ids';
import { newKeyRing } from '@gatehouse/secrets/key-ring';

export interface TestIdentity {
  /** `ASSERTION_PUBLIC_KEYS` of every service. */
  publicKeys: string;
  /** `ASSERTION_PRIVATE_KEY` of one service. */
  privateKey(service: string): string;
  /** `SECRETS_KEYRING` of every service. */
  keyRing: string;
  signer(service: string): Promise<Signer>;
  /** An assertion as the edge sends it; by default for an admin of a random tenant with all scopes of the role. */
  assertion(principal?: Partial<Principal>): Promise<string>;
}

const services = ['edge', 'tenant', 'agent', 'chat', 'memory', 'webhook', 'analytics'];

/** Creates keys for every service, with which the services authenticate each other. */
export async function testIdentity(): Promise<TestIdentity> {
  const keys = await generateServiceKeys(services);
  const privateKey = (service: string): string => {
    const key = keys.privateKeys[service];
    if (key === undefined) throw new Error(`unknown service: ${service}`);
    return key;
  };
  // A signer keeps room for many tokens, and a test asks for one with each request.
  const signers = new Map<string, Promise<Signer>>();
  const signer = (service: string): Promise<Signer> => {
    const known = signers.get(service) ?? Signer.create(privateKey(service));
    signers.set(service, known);
    return known;
  };
  const edge = await signer('edge');
  return {
    publicKeys: keys.publicKeys,
    privateKey,
    keyRing: newKeyRing('test'),
    signer,
    assertion: (principal = {}) => edge.assertion(makePrincipal(principal)),
  };
}

/** A principal with consistent defaults: an owner has no tenant, and a role has its scopes. */
export function makePrincipal(given: Partial<Principal> = {}): Principal {
  const role = given.role ?? 'admin';
  const tenant =
    role === 'owner'
      ? { tenantId: null, tenantSlug: null }
      : { tenantId: newId(), tenantSlug: `tenant-${randomBase62(8).toLowerCase()}` };
  return {
    keyId: newId(),
    ...tenant,
    role,
    scopes: scopesOf(role),
    boundUser: null,
    userId: given.boundUser ?? null,
    ...given,
  };
}

import type { Principal } from '@gatehouse/identity/principal';

/** A key whose secret was right, also of a refused request. */
export type NamedKey = Pick<Principal, 'keyId' | 'tenantId'>;

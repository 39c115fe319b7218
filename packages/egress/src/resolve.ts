import { lookup, Resolver } from 'node:dns/promises';
import type { LookupAddress } from 'node:dns';
import { EgressError } from './errors.ts';
import { maxAddresses, patienceMs, resolveMs } from './bounds.ts';

/** Resolves a host; `trusted`: the operator has named it. Returns an empty list for a host without addresses. */
export type Resolve = (host: string, options: { trusted: boolean }) => Promise<LookupAddress[]>;

/**
 * Hosts of tenants are resolved by DNS alone, and by sockets: the system's resolver occupies one of few threads for as
 * long as a name server takes. Hosts named by the operator may be in the machine's own tables.
 */
export const resolveHost: Resolve = async (host, { trusted }) => {
  if (trusted) return lookup(host, { all: true }).catch(() => []);
  const resolver = new Resolver({ timeout: patienceMs, tries: 2 });
  const timer = setTimeout(() => resolver.cancel(), resolveMs);
  const [v4, v6] = await Promise.all([
    resolver.resolve4(host).catch(() => []),
    resolver.resolve6(host).catch(() => []),
  ]);
  clearTimeout(timer);
  if (v4.length + v6.length > maxAddresses) throw new EgressError('not_allowed');
  return [...v4.map((address) => ({ address, family: 4 })), ...v6.map((address) => ({ address, family: 6 }))];
};

import type { AppError } from '@gatehouse/kit/errors';
import type { Shell } from '@gatehouse/shell/shell';
import type { Peers } from '../shared/peers.ts';
import { LeaseClient } from './lease-peer.ts';
import { Limiter } from './limiter.ts';

export interface LimitsOptions {
  peers: Peers;
  /** The id of this replica. */
  holderId: () => string;
  onRefused: (tenantId: string, error: AppError) => void;
}

/** Limits and budgets, as this replica leases them from tenant. */
export function createLimits({ registry }: Shell, { peers, ...options }: LimitsOptions) {
  const leases = new LeaseClient(peers.tenant);
  return { leases, limiter: new Limiter({ leases, registry, ...options }) };
}

import type { AppError } from '@gatehouse/kit/errors';
import type { Shell } from '@gatehouse/shell/shell';
import type { Peers } from '../shared/peers.ts';
import { CountedPrompts } from './counted-prompts.ts';
import { LeaseClient } from './lease-client.ts';
import { Limiter } from './limiter.ts';

export interface LimitsOptions {
  peers: Peers;
  /** This replica. */
  instance: { readonly id: string };
  onRefused: (tenantId: string, error: AppError) => void;
}

/** Limits and budgets, as this replica leases them from tenant. */
export function createLimits({ registry }: Shell, { peers, instance, onRefused }: LimitsOptions) {
  const leases = new LeaseClient(peers.tenant);
  const holderId = (): string => instance.id;
  const limiter = new Limiter({ leases, registry, changes: peers.changes, holderId, onRefused });
  return { leases, limiter, prompts: new CountedPrompts() };
}

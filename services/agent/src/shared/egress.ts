import { Egress } from '@gatehouse/egress/egress';
import { Guard } from '@gatehouse/egress/guard';
import { observeEgress } from '@gatehouse/egress/metrics';
import type { Shell } from '@gatehouse/shell/shell';
import type { AgentConfig } from '../config.ts';

/** Calls to MCP servers, whose sessions each hold one more; many tenants may use the same host. */
const maxCalls = { all: 1_024, tenant: 128, origin: 512, tenantAtOrigin: 128 };

/** The way out to addresses that tenants give, and the guard that decides which they may be. */
export function createEgress({ registry }: Shell, config: AgentConfig): { egress: Egress; guard: Guard } {
  const guard = new Guard(config.EGRESS_ALLOW);
  const egress = new Egress({ guard, maxCalls });
  observeEgress(registry, { tenants: egress });
  return { egress, guard };
}

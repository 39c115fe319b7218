import type { Changes } from '@gatehouse/audited-changes/changes';
import type { Egress } from '@gatehouse/egress/egress';
import type { Guard } from '@gatehouse/egress/guard';
import type { Pool } from '@gatehouse/pg/pool';
import type { RaiseAlert } from '@gatehouse/shell/published-alerts';
import type { AgentConfig } from '../config.ts';

/** Things that features share; each uses some of them. */
export interface Ground {
  config: AgentConfig;
  app: Pool;
  system: Pool;
  /** For RPCs: completions wait for them, and they must not wait for a slow list. */
  rpc: Pool;
  changes: Changes;
  raise: RaiseAlert;
  egress: Egress;
  guard: Guard;
}

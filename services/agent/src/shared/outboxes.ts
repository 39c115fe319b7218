import type { Changes } from '@gatehouse/audited-changes/changes';
import type { Pool } from '@gatehouse/pg/pool';
import { publishedAlerts, type RaiseAlert } from '@gatehouse/shell/published-alerts';
import { publishedChanges } from '@gatehouse/shell/published-changes';
import type { Shell } from '@gatehouse/shell/shell';
import type { AgentConfig } from '../config.ts';

/** Administrative changes, whose audit entries go to tenant, and alerts, which go to webhook. */
export function createOutboxes(
  shell: Shell,
  { config, app, system }: { config: AgentConfig; app: Pool; system: Pool },
): { changes: Changes; raise: RaiseAlert } {
  const changes = publishedChanges(shell, { config, app, system });
  const { raise } = publishedAlerts(shell, config);
  return { changes, raise };
}

import type { Changes } from '@gatehouse/changes/changes';
import type { Pool } from '@gatehouse/pg/pool';
import { publishedAlerts, type RaiseAlert } from '@gatehouse/service/published-alerts';
import { publishedChanges } from '@gatehouse/service/published-changes';
import type { Shell } from '@gatehouse/service/shell';
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

import type { Pool } from '@gatehouse/pg/pool';
import { publishedAlerts } from '@gatehouse/shell/published-alerts';
import type { Shell } from '@gatehouse/shell/shell';
import type { ChatConfig } from '../config.ts';
import { Alerts } from './alerts-job.ts';

export interface AlertsOptions {
  config: ChatConfig;
  system: Pool;
}

/** Events about runs, limits and providers, published to webhook. */
export function createAlerts(shell: Shell, { config, system: pool }: AlertsOptions) {
  const { raise, committed } = publishedAlerts(shell, config);
  const alerts = new Alerts({ pool, raise, log: shell.log });
  return { alerts, committed, parts: [alerts] };
}

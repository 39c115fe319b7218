import type { Pool } from '@gatehouse/pg/pool';
import type { Shell } from '@gatehouse/shell/shell';
import { readSystemState } from '@gatehouse/shell/system-state';
import type { Systems } from '../shared/clients.ts';
import { systemHandlers } from './system-handlers.ts';

/** A service that takes longer is shown as down. */
const deadlineMs = 2_000;

/** The state of all services, for the owner. */
export function createSystem({ log }: Shell, { systems, pool }: { systems: Systems; pool: Pool }) {
  const tenantState = ['tenant', () => readSystemState('tenant', { pool })] as const;
  const others = Object.entries(systems).map(
    ([name, peer]) => [name, () => peer.call('getSystemState', {}, { deadlineMs })] as const,
  );
  return { handlers: systemHandlers(new Map([tenantState, ...others]), log) };
}

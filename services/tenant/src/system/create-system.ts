import type { Pool } from '@gatehouse/pg/pool';
import type { Shell } from '@gatehouse/shell/shell';
import { readSystemState } from '@gatehouse/shell/system-state';
import { lookupDeadlineMs } from '@gatehouse/kit/bounds';
import type { Systems } from '../shared/clients.ts';
import { systemHandlers } from './system-handlers.ts';

/** The state of all services, for the owner. */
export function createSystem({ log }: Shell, { systems, pool }: { systems: Systems; pool: Pool }) {
  const tenantState = ['tenant', () => readSystemState('tenant', { pool })] as const;
  // A slower service is shown as down.
  const others = Object.entries(systems).map(
    ([name, peer]) =>
      [name, () => peer.call('getSystemState', {}, { deadlineMs: lookupDeadlineMs })] as const,
  );
  return { handlers: systemHandlers(new Map([tenantState, ...others]), log) };
}

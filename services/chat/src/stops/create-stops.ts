import { cleanUp } from '@gatehouse/pg/clean-up-store';
import { createPool } from '@gatehouse/pg/pool';
import { publishedChanges, type PublishedChangesOptions } from '@gatehouse/shell/published-changes';
import type { Shell } from '@gatehouse/shell/shell';
import type { ChatConfig } from '../config.ts';
import type { Peers } from '../shared/peers.ts';
import { blockedUsersJob } from './blocked-users-job.ts';
import { RunStops } from './run-stops.ts';
import { stopHandlers, type StopDependencies } from './stop-handlers.ts';
import { endedStops } from './stop-system-store.ts';
import { StopWatch } from './stop-watch-job.ts';

export interface StopsOptions
  extends Pick<PublishedChangesOptions, 'app' | 'system'>, Pick<StopDependencies, 'findOpenRun'> {
  config: ChatConfig;
  peers: Pick<Peers, 'findUser' | 'userIdOf' | 'settings'>;
}

/**
 * Ends runs under way in all replicas, and refuses the next ones. A session of its own listens to stops. Also ends the
 * runs of blocked users.
 */
export function createStops(shell: Shell, { config, app, system, findOpenRun, peers }: StopsOptions) {
  const { connections, log } = shell;
  const { DATABASE_URL: url } = config;
  // Events of runs have the source `gatehouse/chat`.
  const changes = publishedChanges(shell, { config, app, system, source: 'gatehouse/chat/audit' });
  const { idempotency } = changes;
  connections.add(url, 1);
  const pool = createPool({ url, role: 'chat_system', max: 1, log });
  const stops = new RunStops();
  const { findUser, settings } = peers;
  const userIdOf: StopDependencies['userIdOf'] = async (tenantId, name, caller) =>
    (await settings.getForTenant(tenantId, caller)).hasUsers ? peers.userIdOf(tenantId, name, caller) : name;
  return {
    stops,
    idempotency,
    handlers: stopHandlers({ changes, stops, findOpenRun, userIdOf }),
    parts: [
      new StopWatch({ pool, stops, log }),
      blockedUsersJob({ stops, settings, findUser, log }),
      ...cleanUp(log, system, [endedStops]),
      ...idempotency.parts,
    ],
  };
}

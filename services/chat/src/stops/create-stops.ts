import { cleanUp } from '@gatehouse/pg/clean-up-store';
import { createPool, type Pool } from '@gatehouse/pg/pool';
import type { Shell } from '@gatehouse/shell/shell';
import { RunStops } from './run-stops.ts';
import { stopHandlers, type StopDependencies } from './stop-handlers.ts';
import { endedStops } from './stop-system-store.ts';
import { StopWatch } from './stop-watch-job.ts';

export interface StopsOptions extends Omit<StopDependencies, 'stops'> {
  config: { DATABASE_URL: string };
  system: Pool;
}

/** Ends runs under way in all replicas, and refuses the next ones. A session of its own listens to stops. */
export function createStops({ connections, log }: Shell, { config, system, ...dependencies }: StopsOptions) {
  const { DATABASE_URL: url } = config;
  connections.add(url, 1);
  const pool = createPool({ url, role: 'chat_system', max: 1, log });
  const stops = new RunStops();
  return {
    stops,
    handlers: stopHandlers({ ...dependencies, stops }),
    parts: [new StopWatch({ pool, stops, log }), ...cleanUp(log, system, [endedStops])],
  };
}

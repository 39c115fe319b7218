import { batchedFinder } from '@gatehouse/kit/batched';
import type { Shell } from '@gatehouse/shell/shell';
import type { Ground } from '../ground.ts';
import { removal } from '../shared/removal-system-store.ts';
import { Templates } from '../templates/templates.ts';
import type { SealedEndpoint } from './endpoint.ts';
import { EndpointGate } from './endpoint-gate.ts';
import { endpointHandlers } from './endpoint-handlers.ts';
import { EndpointStore } from './endpoint-store.ts';
import { findSealedEndpoints, removableEndpoints } from './endpoint-system-store.ts';

export interface EndpointsOptions extends Ground {
  /** Whether the tenant has a channel. */
  hasChannel: (tenantId: string, id: string) => Promise<boolean>;
}

/** Endpoints, and which requests to them are genuine. */
export function createEndpoints({ log }: Shell, options: EndpointsOptions) {
  const { app, system, unauthenticatedPool } = options;
  const { WEBHOOK_ALLOW_TOKEN: allowToken, PUBLIC_URL: publicUrl } = options.config;
  const templates = new Templates();
  return {
    handlers: endpointHandlers({
      ...options,
      ...{ endpoints: new EndpointStore(app), templates, allowToken, publicUrl },
    }),
    parts: [{ stop: () => templates.stop() }, removal(log, system, removableEndpoints)],
    endpointGate: new EndpointGate({
      ...options,
      ...{ allowToken, log },
      find: batchedFinder(
        (ids) => findSealedEndpoints(unauthenticatedPool, ids),
        ({ id }: SealedEndpoint) => id,
      ),
    }),
    templates,
  };
}

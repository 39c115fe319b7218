import type { Changes } from '@gatehouse/audited-changes/changes';
import { batchedFinder } from '@gatehouse/kit/batched';
import type { Pool } from '@gatehouse/pg/pool';
import type { Shell } from '@gatehouse/shell/shell';
import type { AgentClient } from '../clients/agent-client.ts';
import type { WebhookSecrets } from '../secrets/webhook-secrets.ts';
import type { Guards } from '../shared/guards.ts';
import { removeDeleted } from '../shared/removal-system-store.ts';
import { cleaning } from '../shared/upkeep.ts';
import { Templates } from '../templates/templates.ts';
import type { SealedEndpoint } from './endpoint.ts';
import { EndpointGate } from './endpoint-gate.ts';
import { endpointHandlers } from './endpoint-handlers.ts';
import { EndpointStore } from './endpoint-store.ts';
import { findSealedEndpoints, removableEndpoints } from './endpoint-system-store.ts';

export interface EndpointsOptions {
  app: Pool;
  system: Pool;
  /** For requests that need no key. */
  unauthenticatedPool: Pool;
  /** Whether the operator allows the scheme `token`. */
  allowToken: boolean;
  agents: AgentClient;
  secrets: WebhookSecrets;
  guards: Guards;
  changes: Changes;
}

/** Endpoints, and which requests to them are genuine. */
export function createEndpoints({ log }: Shell, options: EndpointsOptions) {
  const { app, system, unauthenticatedPool, allowToken, agents, secrets, changes } = options;
  const { guard, refusals } = options.guards;
  const templates = new Templates();
  return {
    handlers: endpointHandlers({
      endpoints: new EndpointStore(app),
      agents,
      guard,
      secrets,
      templates,
      changes,
      allowToken,
    }),
    parts: [
      { stop: () => templates.stop() },
      cleaning(log, 'remove deleted endpoints', (limit) => removeDeleted(system, removableEndpoints, limit)),
    ],
    endpointGate: new EndpointGate({
      find: batchedFinder(
        (ids) => findSealedEndpoints(unauthenticatedPool, ids),
        ({ id }: SealedEndpoint) => id,
      ),
      ...{ secrets, refusals, allowToken, log },
    }),
    templates,
  };
}

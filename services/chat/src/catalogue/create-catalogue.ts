import type { TenantSettingsClient } from '../shared/tenant-settings-peer.ts';
import type { Peers } from '../shared/peers.ts';
import { AgentClient } from './agent-peer.ts';
import type { Catalogue } from './catalogue.ts';
import { checkModels } from './check-models-rpc.ts';
import { modelHandlers } from './model-handlers.ts';
import { Pricing } from './pricing.ts';

export interface CatalogueOptions {
  catalogue: Catalogue;
  peers: Peers;
  settings: TenantSettingsClient;
}

/** Models, agents by name, and prices. */
export async function createCatalogue({ catalogue, peers, settings }: CatalogueOptions) {
  const agents = new AgentClient(peers.agent);
  return {
    agents,
    pricing: await Pricing.create(catalogue),
    handlers: modelHandlers({ catalogue, agents, settings }),
    rpcs: { checkModels: checkModels(catalogue, settings) },
  };
}

import type { Shell } from '@gatehouse/shell/shell';
import type { ChatConfig } from '../config.ts';
import type { TenantSettingsClient } from '../shared/tenant-settings-peer.ts';
import type { Peers } from '../shared/peers.ts';
import { AgentClient } from './agent-peer.ts';
import type { ReadCatalogue } from './catalogue-file.ts';
import { CatalogueWatch, type InvalidCatalogue } from './catalogue-watch-job.ts';
import { checkModels } from './check-models-rpc.ts';
import { modelHandlers } from './model-handlers.ts';
import { Pricing } from './pricing.ts';

export interface CatalogueOptions {
  config: Pick<ChatConfig, 'catalogue' | 'catalogueFile'>;
  peers: Peers;
  settings: TenantSettingsClient;
  /** Takes over the providers of another catalogue, before its models are found. */
  onRead: (read: ReadCatalogue) => void;
  onInvalid: (invalid: InvalidCatalogue) => void;
  /** Between two readings of the file. */
  everyMs?: number | undefined;
}

/** Models, agents by name, and prices. */
export async function createCatalogue(
  { log, registry }: Shell,
  { config, peers, settings, onRead, onInvalid, everyMs }: CatalogueOptions,
) {
  const { catalogue, catalogueFile: file } = config;
  const agents = new AgentClient(peers.agent);
  const pricing = await Pricing.create(catalogue);
  const takeOver = async (read: ReadCatalogue): Promise<void> => {
    await pricing.prepare(read.catalogue);
    onRead(read);
    catalogue.replaceBy(read.catalogue);
  };
  return {
    agents,
    pricing,
    handlers: modelHandlers({ catalogue, agents, settings }),
    rpcs: { checkModels: checkModels(catalogue, settings) },
    parts: [new CatalogueWatch({ file, onRead: takeOver, onInvalid, log, registry, everyMs })],
  };
}

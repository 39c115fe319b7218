import { isDeepStrictEqual } from 'node:util';
import type { Shell } from '@gatehouse/shell/shell';
import type { ChatConfig } from '../config.ts';
import type { TenantSettingsClient } from '../shared/tenant-settings-peer.ts';
import type { Peers } from '../shared/peers.ts';
import { AgentClient } from './agent-peer.ts';
import type { ReadCatalogue } from './catalogue-file.ts';
import { CatalogueWatch, type InvalidCatalogue, type WatchedFile } from './catalogue-watch-job.ts';
import { checkModels } from './check-models-rpc.ts';
import { modelHandlers } from './model-handlers.ts';
import { PriceFile } from './price-file.ts';
import { Pricing } from './pricing.ts';

/** For the list of prices, which a process that starts needs before it serves. */
const firstMs = 60_000;

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
  const priceFile = new PriceFile(catalogue, pricing);
  const takeOver = async (text: string, signal: AbortSignal): Promise<void> => {
    const read = await file.parse(text, signal);
    await pricing.prepare(read.catalogue);
    // A list that was read before is not read again: it may be wrong by now, which is no mistake of the catalogue.
    const isSame = isDeepStrictEqual(read.catalogue.prices, catalogue.prices);
    const charge = isSame ? null : await priceFile.prepared(read.catalogue, signal);
    onRead(read);
    catalogue.replaceBy(read.catalogue);
    charge?.();
  };
  const files: WatchedFile[] = [
    {
      messages: {
        read: 'read the model catalogue again',
        failed: 'failed to read the model catalogue again, the one before stays in use',
      },
      used: () => file.loaded,
      text: () => file.text(),
      use: takeOver,
    },
    {
      messages: {
        read: 'read the list of prices again',
        failed: 'failed to read the list of prices again, the one before stays in use',
      },
      used: () => priceFile.used,
      text: () => priceFile.text(),
      use: (text, signal) => priceFile.use(text, signal),
    },
  ];
  const watch = new CatalogueWatch({ files, onInvalid, log, registry, everyMs });
  const chargeFirst = async (): Promise<void> => {
    const charge = await priceFile.prepared(catalogue, AbortSignal.timeout(firstMs));
    charge();
  };
  return {
    agents,
    pricing,
    handlers: modelHandlers({ catalogue, agents, settings }),
    rpcs: { checkModels: checkModels(catalogue, settings) },
    parts: [{ start: chargeFirst }, watch],
  };
}

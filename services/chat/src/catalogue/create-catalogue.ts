import { minuteMs } from '@gatehouse/kit/bounds';
import { isDeepStrictEqual } from 'node:util';
import { Egress } from '@gatehouse/egress/egress';
import { Guard } from '@gatehouse/egress/guard';
import type { Pool } from '@gatehouse/pg/pool';
import type { Shell } from '@gatehouse/shell/shell';
import type { ChatConfig } from '../config.ts';
import type { TenantSettingsClient } from '../shared/tenant-settings-client.ts';
import type { Peers } from '../shared/peers.ts';
import { AgentClient } from './agent-client.ts';
import type { ReadCatalogue } from './catalogue-file.ts';
import { CatalogueWatch, type InvalidCatalogue } from './catalogue-watch-job.ts';
import { checkModels } from './check-models-rpc.ts';
import { modelHandlers } from './model-handlers.ts';
import { OperatorList } from './operator-list.ts';
import { PriceListSystemStore } from './price-list-system-store.ts';
import { Pricing } from './pricing.ts';

const listRead = 'read the list of prices again';
const listFailed = 'failed to read the list of prices again, the one before stays in use';

export interface CatalogueOptions {
  config: Pick<ChatConfig, 'catalogue' | 'catalogueFile' | 'EGRESS_ALLOW'>;
  system: Pool;
  peers: Peers;
  settings: TenantSettingsClient;
  onInvalid: (invalid: InvalidCatalogue) => void;
  /** Between two readings of the file. */
  everyMs?: number | undefined;
}

/** Takes over another catalogue before its models are found. Only the first listener may throw: nothing has changed then. */
type ReplaceListener = (read: ReadCatalogue) => void;

/** Models, agents by name, and prices. Features follow changes of the catalogue through `onReplace`. */
export async function createCatalogue(
  { log, registry }: Shell,
  { config, system: pool, peers, settings, onInvalid, everyMs }: CatalogueOptions,
) {
  const { catalogue, catalogueFile: file } = config;
  if (file.unset.length > 0)
    log.warn({ variables: file.unset }, 'the model catalogue names environment variables that are not set');
  const agents = new AgentClient(peers.agent);
  const pricing = await Pricing.create(catalogue);
  const egress = new Egress({ guard: new Guard(config.EGRESS_ALLOW) });
  const watch = new CatalogueWatch({ onInvalid, log, registry, everyMs });
  const list = new OperatorList({
    ...{ pricing, egress, store: new PriceListSystemStore(pool) },
    onUpdated: () => log.info(listRead),
    onFailure: (error) => watch.failed(listFailed, error, error.message),
    onUnkept: (error) => log.warn({ err: error }, 'failed to keep the list of prices for other replicas'),
  });
  const listeners: ReplaceListener[] = [];
  const takeOver = async (text: string, signal: AbortSignal): Promise<void> => {
    const read = file.parse(text);
    await pricing.prepare(read.catalogue);
    // A list read before is not read again: it may be wrong by now, and the catalogue is not at fault for this.
    const isSame = isDeepStrictEqual(read.catalogue.prices, catalogue.prices);
    const charge = isSame ? null : await list.prepared(read.catalogue, signal);
    for (const replace of listeners) replace(read);
    catalogue.replaceBy(read.catalogue);
    charge?.();
  };
  watch.follow([
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
        read: listRead,
        failed: listFailed,
      },
      used: () => list.used,
      text: () => list.text(),
      use: (text) => list.use(text),
    },
  ]);
  const chargeFirst = async (): Promise<void> => {
    const charge = await list.prepared(catalogue, AbortSignal.timeout(minuteMs));
    charge();
  };
  return {
    agents,
    pricing,
    onReplace: (listener: ReplaceListener): void => void listeners.push(listener),
    handlers: modelHandlers({ catalogue, agents, settings }),
    rpcs: { checkModels: checkModels(catalogue, settings) },
    parts: [egress, { start: chargeFirst, stop: () => list.stop() }, watch],
  };
}

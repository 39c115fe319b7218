import type { OwnerModel } from '@gatehouse/contract/owner-models';
import type { ProviderDeployment } from '@gatehouse/contract/owner-providers';
import type { Handler } from '@gatehouse/http/app';
import { BoundedItems } from '@gatehouse/http/pagination';
import { runCooperatively } from '@gatehouse/kit/cooperative';
import { usdOf } from '@gatehouse/kit/money';
import { runSteps, type Steps } from '@gatehouse/kit/cooperative-steps';
import type { Reply } from '@gatehouse/http/reply';
import { SharedCalls } from '@gatehouse/kit/shared-calls';
import { listBytes } from '../bounds.ts';
import { deploymentName, deploymentsOf, type Catalogue, type Model } from '../catalogue/catalogue.ts';
import { ratesPerUsdPico, type CallPrice } from '../catalogue/price.ts';
import type { Pricing } from '../catalogue/pricing.ts';
import { callsOf, joinedReports, type Calls, type Report } from './provider-report.ts';
import type { ProviderReports } from './provider-report-job.ts';
import type { ProviderRegistry } from './registry.ts';

export interface ProviderHandlerDependencies {
  catalogue: Pick<Catalogue, 'models'>;
  pricing: Pick<Pricing, 'priceOf'>;
  registry: Pick<ProviderRegistry, 'listed'>;
  reports: Pick<ProviderReports, 'all'>;
}

/** The health of providers, and the models of the catalogue with their prices. Concurrent requests share one list. */
export function providerHandlers(dependencies: ProviderHandlerDependencies): Record<string, Handler> {
  const { registry, reports } = dependencies;
  const lists = new SharedCalls<Reply>();
  const shared =
    <Item>(
      id: string,
      add: (list: BoundedItems<Item>, all: readonly Report[]) => Promise<boolean>,
    ): Handler =>
    () =>
      lists.get(id, async () => {
        const list = new BoundedItems<Item>(listBytes);
        const isWhole = await add(list, await reports.all());
        return { body: { object: 'list', data: list.items, ...(!isWhole && { has_more: true }) } };
      });
  return {
    'owner.providers.list': shared<ProviderDeployment>('providers', (list, all) => {
      const listed = registry.listed();
      return Promise.resolve(list.addAll(listed, joinedReports(all)) === listed.length);
    }),
    'owner.models.list': shared<OwnerModel>('models', (list, all) =>
      runSteps(addModels(list, dependencies, callsOf(all)), (piece) => runCooperatively(null, piece)),
    ),
  };
}

/** Adds models while they fit. Returns whether all did. */
function* addModels(
  list: BoundedItems<OwnerModel>,
  { catalogue, pricing }: ProviderHandlerDependencies,
  callsAt: (name: string) => Calls,
): Steps<boolean> {
  const standard = { at: new Date(), serviceTier: null };
  for (const model of catalogue.models.values()) {
    const deployments: OwnerModel['deployments'] = [];
    for (const deployment of deploymentsOf(model)) {
      deployments.push(shownDeployment(deployment, pricing.priceOf(deployment, standard), callsAt));
      // The first look at a public price takes a while.
      yield;
    }
    const { id, aliases, fallbacks } = model;
    if (!list.add({ id, aliases, fallbacks, deployments })) return false;
  }
  return true;
}

function shownDeployment(
  deployment: Model,
  price: CallPrice | null,
  callsAt: (name: string) => Calls,
): OwnerModel['deployments'][number] {
  const { provider, upstreamModel, weight } = deployment;
  const { calls, unpriced } = callsAt(deploymentName(deployment));
  return {
    ...{ provider: provider.name, upstream_model: upstreamModel, weight },
    price: price === null ? null : shownPrice(price),
    ...{ calls, unpriced_calls: unpriced },
  };
}

function shownPrice({ source, version, list: { base } }: CallPrice) {
  const perMtok = (rate: bigint | undefined) => (rate === undefined ? null : usdOf(rate / ratesPerUsdPico));
  return {
    ...{ source, version },
    usd_per_mtok: {
      input: perMtok(base.input),
      cached_input: perMtok(base.cachedInput),
      output: perMtok(base.output),
    },
  };
}

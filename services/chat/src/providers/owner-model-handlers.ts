import type { OwnerModel } from '@gatehouse/contract/owner-models';
import type { Handler } from '@gatehouse/http/app';
import { BoundedItems } from '@gatehouse/http/pagination';
import type { Reply } from '@gatehouse/http/reply';
import { runCooperatively } from '@gatehouse/kit/cooperative';
import { SharedCalls } from '@gatehouse/kit/shared-calls';
import { runSteps, type Steps } from '@gatehouse/kit/cooperative-steps';
import { deploymentName, deploymentsOf, type Catalogue, type Model } from '../catalogue/catalogue.ts';
import type { Pricing } from '../catalogue/pricing.ts';
import { callsOf, type Calls } from './provider-report.ts';
import type { ProviderReports } from './provider-report-job.ts';
import { listBytes } from '../bounds.ts';

export interface OwnerModelDependencies {
  catalogue: Pick<Catalogue, 'models'>;
  pricing: Pick<Pricing, 'versionOf'>;
  reports: Pick<ProviderReports, 'all'>;
}

/** The models of the catalogue with their prices. Concurrent requests share one list. */
export function ownerModelHandlers(dependencies: OwnerModelDependencies): Record<string, Handler> {
  const lists = new SharedCalls<Reply>();
  return {
    'owner.models.list': () =>
      lists.get('', async () => {
        const calls = callsOf(await dependencies.reports.all());
        const list = new BoundedItems<OwnerModel>(listBytes);
        const isWhole = await runSteps(addModels(list, dependencies, calls), (piece) =>
          runCooperatively(null, piece),
        );
        return { body: { object: 'list', data: list.items, ...(!isWhole && { has_more: true }) } };
      }),
  };
}

/** Adds models while they fit. Returns whether all did. */
function* addModels(
  list: BoundedItems<OwnerModel>,
  { catalogue, pricing }: OwnerModelDependencies,
  callsAt: (name: string) => Calls,
): Steps<boolean> {
  const now = new Date();
  for (const model of catalogue.models.values()) {
    const deployments: OwnerModel['deployments'] = [];
    for (const deployment of deploymentsOf(model)) {
      deployments.push(shownDeployment(deployment, pricing.versionOf(deployment, now), callsAt));
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
  price: OwnerModel['deployments'][number]['price'],
  callsAt: (name: string) => Calls,
): OwnerModel['deployments'][number] {
  const { provider, upstreamModel, weight } = deployment;
  const { calls, unpriced } = callsAt(deploymentName(deployment));
  return {
    ...{ provider: provider.name, upstream_model: upstreamModel, weight, price },
    ...{ calls, unpriced_calls: unpriced },
  };
}

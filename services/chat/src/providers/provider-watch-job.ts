import { PeriodicWork } from '@gatehouse/kit/background-loop';
import { cacheKey } from '@gatehouse/kit/cache-key';
import type { Logger } from '@gatehouse/kit/log';
import { deploymentName } from '../catalogue/catalogue.ts';
import type { ProviderRegistry } from './registry.ts';

/** Reports a deployment when its breaker opens for all tenants. */
export function providerWatch(
  registry: Pick<ProviderRegistry, 'openDeployments'>,
  onDown: (provider: string, model: string) => void,
  log: Logger,
): PeriodicWork {
  let before = new Set<string>();
  const round = (): Promise<boolean> => {
    const down = new Set<string>();
    for (const { deployment, models } of registry.openDeployments())
      for (const id of models) {
        const name = cacheKey(id, deploymentName(deployment));
        down.add(name);
        if (!before.has(name)) onDown(deployment.provider.name, id);
      }
    before = down;
    return Promise.resolve(false);
  };
  return new PeriodicWork({ task: 'watch providers', log, everyMs: 1_000, round });
}

import { BackgroundLoop } from '@gatehouse/kit/background-loop';
import { cacheKey } from '@gatehouse/kit/cache-key';
import { deploymentName } from '../catalogue/catalogue.ts';
import type { ProviderRegistry } from './registry.ts';

const everyMs = 1_000;

/** Reports deployments whose breaker opens for all tenants. */
export class ProviderWatch {
  readonly #registry: Pick<ProviderRegistry, 'openDeployments'>;
  readonly #onDown: (provider: string, model: string) => void;
  readonly #loop = new BackgroundLoop(() => this.#round());
  #down = new Set<string>();

  constructor(
    registry: Pick<ProviderRegistry, 'openDeployments'>,
    onDown: (provider: string, model: string) => void,
  ) {
    this.#registry = registry;
    this.#onDown = onDown;
  }

  start(): void {
    this.#loop.start(everyMs);
  }

  async stop(): Promise<void> {
    await this.#loop.stop();
  }

  #round(): Promise<number> {
    const down = new Set<string>();
    for (const { deployment, models } of this.#registry.openDeployments())
      for (const id of models) {
        const name = cacheKey(id, deploymentName(deployment));
        down.add(name);
        if (!this.#down.has(name)) this.#onDown(deployment.provider.name, id);
      }
    this.#down = down;
    return Promise.resolve(everyMs);
  }
}

import { BackgroundLoop } from '@gatehouse/kit/background-loop';
import { cacheKey } from '@gatehouse/kit/cache-key';
import { deploymentName } from '../catalogue/catalogue.ts';
import type { ProviderRegistry } from './registry.ts';

const everyMs = 1_000;

/** Reports deployments whose breaker opens for all tenants. */
export class ProviderWatch {
  readonly #registry: Pick<ProviderRegistry, 'down'>;
  readonly #onDown: (provider: string, model: string) => void;
  readonly #loop = new BackgroundLoop(() => this.#round());
  #down = new Set<string>();

  constructor(registry: Pick<ProviderRegistry, 'down'>, onDown: (provider: string, model: string) => void) {
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
    const down = this.#registry.down();
    const named = new Map(down.map((model) => [cacheKey(model.id, deploymentName(model)), model]));
    for (const [name, { provider, id }] of named) if (!this.#down.has(name)) this.#onDown(provider.name, id);
    this.#down = new Set(named.keys());
    return Promise.resolve(everyMs);
  }
}

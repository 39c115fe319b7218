import { BackgroundLoop } from '@gatehouse/kit/background-loop';
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
    for (const { provider, id } of down) if (!this.#down.has(id)) this.#onDown(provider.name, id);
    this.#down = new Set(down.map(({ id }) => id));
    return Promise.resolve(everyMs);
  }
}

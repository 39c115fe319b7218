import { BackgroundLoop } from '@gatehouse/kit/background-loop';
import type { Logger } from '@gatehouse/kit/log';
import type { RpcClient } from '@gatehouse/grpc/client';
import type { TenantServiceClient } from '@gatehouse/proto/tenant/v1/tenant';

const everyMs = 2_000;
const deadlineMs = 3_000;
/** Keys whose use is not noted yet. Further ones are noted when they are used again. */
const maxWaiting = 10_000;
const batch = 500;

export interface OwnKeyUsesOptions {
  tenant: RpcClient<TenantServiceClient>;
  log: Logger;
}

/** Notes at tenant how providers took the own keys of tenants, off the path of requests. */
export class TenantKeyUses {
  readonly #tenant: RpcClient<TenantServiceClient>;
  readonly #log: Logger;
  readonly #loop = new BackgroundLoop(() => this.#round());
  /** By the id of the key, whether the provider refused it last. */
  readonly #waiting = new Map<string, boolean>();

  constructor({ tenant, log }: OwnKeyUsesOptions) {
    this.#tenant = tenant;
    this.#log = log;
  }

  note(id: string, { refused }: { refused: boolean }): void {
    if (this.#waiting.size < maxWaiting || this.#waiting.has(id)) this.#waiting.set(id, refused);
  }

  start(): void {
    this.#loop.start(everyMs);
  }

  async stop(): Promise<void> {
    await this.#loop.stop();
    await this.#round();
  }

  async #round(): Promise<number> {
    const uses = [...this.#waiting].slice(0, batch).map(([id, refused]) => ({ id, refused }));
    if (uses.length === 0) return everyMs;
    for (const { id } of uses) this.#waiting.delete(id);
    try {
      await this.#tenant.call('noteProviderKeys', { uses }, { deadlineMs });
    } catch (error) {
      // A later use of the same key counts more.
      for (const { id, refused } of uses) if (!this.#waiting.has(id)) this.note(id, { refused });
      this.#log.warn({ err: error }, "failed to note uses of tenants' own keys; retrying");
      return everyMs;
    }
    return this.#waiting.size > 0 ? 0 : everyMs;
  }
}

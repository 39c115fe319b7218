import { lookupDeadlineMs } from '@gatehouse/kit/bounds';
import { PeriodicWork } from '@gatehouse/kit/background-loop';
import type { Logger } from '@gatehouse/kit/log';
import type { RpcClient } from '@gatehouse/grpc/client';
import type { TenantServiceClient } from '@gatehouse/proto/tenant/v1/tenant';
import { maxTenantKeys } from '../bounds.ts';

const everyMs = 2_000;

/** Notes at tenant how providers took the own keys of tenants, off the path of requests. */
export class TenantKeyUses {
  readonly #tenant: RpcClient<TenantServiceClient>;
  readonly #work: PeriodicWork;
  /** By the id of the key, whether the provider refused it last. Further ones are noted when they are used again. */
  readonly #waiting = new Map<string, boolean>();

  constructor({ tenant, log }: { tenant: RpcClient<TenantServiceClient>; log: Logger }) {
    this.#tenant = tenant;
    this.#work = new PeriodicWork({
      ...{ task: "note uses of tenants' own keys", log, everyMs },
      round: () => this.#round(),
    });
  }

  note(id: string, { refused }: { refused: boolean }): void {
    if (this.#waiting.size < maxTenantKeys || this.#waiting.has(id)) this.#waiting.set(id, refused);
  }

  start(): void {
    this.#work.start();
  }

  async stop(): Promise<void> {
    await this.#work.stop();
    await this.#round().catch(() => undefined);
  }

  /** Returns whether more wait. */
  async #round(): Promise<boolean> {
    const uses = [...this.#waiting].slice(0, 500).map(([id, refused]) => ({ id, refused }));
    if (uses.length === 0) return false;
    for (const { id } of uses) this.#waiting.delete(id);
    try {
      await this.#tenant.call('noteProviderKeys', { uses }, { deadlineMs: lookupDeadlineMs });
    } catch (error) {
      // A later use of the same key counts more.
      for (const { id, refused } of uses) if (!this.#waiting.has(id)) this.note(id, { refused });
      throw error;
    }
    return this.#waiting.size > 0;
  }
}

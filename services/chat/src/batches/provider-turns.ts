import { BackgroundLoop, jittered } from '@gatehouse/kit/background-loop';
import { beforeFirst } from '@gatehouse/kit/ids';
import type { Logger } from '@gatehouse/kit/log';

/** Work of a tenant waiting at a provider. */
export interface WaitingRequest {
  tenantId: string;
  /** The id of what is due longest; null if nothing is. */
  id: string | null;
}

export interface ProviderTurnsOptions {
  log: Logger;
  /** As the log names its failure: `failed to <task>`. */
  task: string;
  /** Between two rounds. */
  everyMs: number;
  /** Work at one provider at a time, each of another tenant. */
  slots: number;
  /** The providers at which work waits. */
  providers: () => Promise<readonly string[]>;
  /** Some tenants with work at a provider, behind `after` in the order of their ids, without the `busy` ones. */
  waiting: (
    provider: string,
    search: { after: string; busy: readonly string[] },
  ) => Promise<readonly WaitingRequest[]>;
  /** Takes what is due. Returns the work, which handles its errors; null where another replica has it. */
  take: (due: { provider: string; tenantId: string; id: string }) => Promise<(() => Promise<void>) | null>;
}

interface Lane {
  /** Tenant of the last turn. */
  last: string;
  /** By tenant. */
  working: Map<string, Promise<void>>;
}

/**
 * Lets tenants take turns at each provider. Providers have slots of their own, so a hanging one holds up no other, and
 * at one provider a tenant with much work holds up no other tenant.
 */
export class ProviderTurns {
  readonly #options: ProviderTurnsOptions;
  /** By provider. */
  readonly #lanes = new Map<string, Lane>();

  readonly #loop = new BackgroundLoop(() => this.#round());

  constructor(options: ProviderTurnsOptions) {
    this.#options = options;
  }

  /** Aborted when `stop` is called. */
  get signal(): AbortSignal {
    return this.#loop.signal;
  }

  start(): void {
    this.#loop.start(jittered(this.#options.everyMs));
  }

  async #round(): Promise<number> {
    const { log, task, everyMs } = this.#options;
    await this.begin().catch((err: unknown) => log.warn({ err }, `failed to ${task}`));
    return jittered(everyMs);
  }

  /** Begins what is due, as far as there are slots. */
  async begin(): Promise<void> {
    const providers = await this.#options.providers();
    for (const [provider, { working }] of this.#lanes)
      if (working.size === 0 && !providers.includes(provider)) this.#lanes.delete(provider);
    for (const provider of providers) await this.#beginAt(provider);
  }

  /** Resolves when all begun work is over. */
  async stop(): Promise<void> {
    await this.#loop.stop();
    await Promise.all([...this.#lanes.values()].flatMap(({ working }) => [...working.values()]));
  }

  async #beginAt(provider: string): Promise<void> {
    const { slots, take } = this.#options;
    const lane = this.#lanes.get(provider) ?? { last: beforeFirst, working: new Map() };
    this.#lanes.set(provider, lane);
    const { working } = lane;
    if (working.size >= slots) return;
    for (const { tenantId, id } of await this.#nextAt(provider, lane)) {
      if (working.size >= slots) return;
      lane.last = tenantId;
      const work = id === null ? null : await take({ provider, tenantId, id });
      if (work === null) continue;
      working.set(
        tenantId,
        work().finally(() => working.delete(tenantId)),
      );
    }
  }

  async #nextAt(provider: string, { last, working }: Lane): Promise<readonly WaitingRequest[]> {
    const { waiting } = this.#options;
    const busy = [...working.keys()];
    const next = await waiting(provider, { after: last, busy });
    return next.length > 0 || last === beforeFirst ? next : waiting(provider, { after: beforeFirst, busy });
  }
}

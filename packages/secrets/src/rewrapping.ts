import { PeriodicWork } from '@gatehouse/kit/background-loop';
import type { Logger } from '@gatehouse/kit/log';
import { Gauge, type Registry } from '@gatehouse/kit/metrics';
import type { Pool } from '@gatehouse/pg/pool';
import type { KeyRing } from './key-ring.ts';
import {
  SealedValueSystemStore,
  type SealedColumn,
  type SealedValue,
} from './store/sealed-value-system-store.ts';

export interface RewrappingOptions {
  service: string;
  columns: readonly SealedColumn[];
  system: Pool;
  app?: Pool | undefined;
  keyRing: KeyRing;
  log: Logger;
  registry: Registry;
}

const timing = { firstMs: 60_000, everyMs: 3_600_000 };
const batch = 100;
/** Values that can't be opened; beyond these the search ends. */
const maxFailures = 1_000;

/**
 * Wraps the data keys of sealed values again that another key than the first of the ring has wrapped, so that old keys
 * become removable, and counts what is left. The values stay in the database: a response may have 20 MiB.
 */
export class Rewrapping {
  readonly #options: RewrappingOptions;
  readonly #store: SealedValueSystemStore;
  readonly #gauge: Gauge<'table' | 'key_id'>;
  readonly #failed = new Set<string>();

  constructor(options: RewrappingOptions) {
    this.#options = options;
    this.#store = new SealedValueSystemStore(options.service, options);
    this.#gauge = new Gauge({
      name: 'gatehouse_sealed_values',
      help: 'Values that a key of the ring has sealed which is no longer its first, counted every hour; the same in every replica',
      labelNames: ['table', 'key_id'],
      registers: [options.registry],
    });
  }

  /** The work of a replica: a minute after its start, and every hour. */
  get part(): PeriodicWork {
    const { log } = this.#options;
    const round = async (): Promise<boolean> => {
      if (await this.rewrapSome()) return true;
      await this.count();
      return false;
    };
    return new PeriodicWork({ task: 'encrypt values with the current key', log, ...timing, round });
  }

  /** Wraps up to 100 values of each column. Returns whether there were any. */
  async rewrapSome(): Promise<boolean> {
    const { log } = this.#options;
    let wrapped = 0;
    for (const value of await this.#findStale()) if (await this.#rewrap(value)) wrapped += 1;
    if (wrapped > 0) log.info({ values: wrapped }, 'encrypted values with the current key');
    if (wrapped === 0) this.#failed.clear();
    return wrapped > 0;
  }

  /** Counts the values that each old key has wrapped. */
  async count(): Promise<void> {
    const { columns, keyRing } = this.#options;
    for (const { keyId, prefix } of keyRing.stalePrefixes) {
      const counts = new Map<string, number>();
      for (const place of columns)
        counts.set(place.table, (counts.get(place.table) ?? 0) + (await this.#store.count(place, prefix)));
      for (const [table, count] of counts) this.#gauge.set({ table, key_id: keyId }, count);
    }
  }

  async #findStale(): Promise<SealedValue[]> {
    if (this.#failed.size > maxFailures) return [];
    const found: SealedValue[] = [];
    const except = [...this.#failed];
    for (const place of this.#options.columns)
      for (const { prefix } of this.#options.keyRing.stalePrefixes)
        found.push(...(await this.#store.find(place, { prefix, except, limit: batch })));
    return found;
  }

  /** Returns false, and logs why, if the value can't be opened. */
  async #rewrap(value: SealedValue): Promise<boolean> {
    const { keyRing, log } = this.#options;
    const { place, id, sealed } = value;
    let rewrapped: ReturnType<KeyRing['rewrap']>;
    try {
      rewrapped = keyRing.rewrap(sealed, place.context(value));
    } catch (error) {
      this.#failed.add(id);
      log.error({ err: error, table: place.table, id }, 'failed to decrypt a secret');
      return false;
    }
    await this.#store.replaceHead(value, rewrapped);
    return true;
  }
}

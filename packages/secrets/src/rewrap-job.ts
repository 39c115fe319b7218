import { PeriodicWork } from '@gatehouse/kit/background-loop';
import type { Logger } from '@gatehouse/kit/log';
import { gauge, type Gauge, type Registry } from '@gatehouse/kit/metrics';
import type { Pool } from '@gatehouse/pg/pool';
import type { KeyRing } from './key-ring.ts';
import {
  SealedValueSystemStore,
  type HashColumn,
  type SealedColumn,
  type SealedValue,
} from './store/sealed-value-system-store.ts';

export interface RewrapOptions {
  service: string;
  columns: readonly SealedColumn[];
  /** Columns with hashes by keys of the ring, which are counted: no other key can make them again. */
  hashes?: readonly HashColumn[];
  system: Pool;
  app?: Pool | undefined;
  keyRing: KeyRing;
  log: Logger;
  registry: Registry;
}

/** The pools and the key ring of a service, and its columns with values living longer than a day. */
export type Sealed = Pick<RewrapOptions, 'columns' | 'hashes' | 'system' | 'app' | 'keyRing'>;

/** The job of a service to wrap its sealed values again. */
export function rewrapValues(
  { name: service, log, registry }: { name: string } & Pick<RewrapOptions, 'log' | 'registry'>,
  sealed: Sealed,
): { parts: PeriodicWork[] } {
  return { parts: [new RewrapJob({ ...sealed, service, log, registry }).part] };
}

const timing = { firstMs: 60_000, everyMs: 3_600_000 };
const batch = 100;
/** Unwrappable values of a column; beyond these its search ends. */
const maxFailures = 1_000;

/**
 * Wraps the data keys of sealed values again if wrapped by another key than the first of the ring, so old keys become
 * removable, and counts the rest. The values stay in the database: a response may have 20 MiB.
 */
export class RewrapJob {
  readonly #options: RewrapOptions;
  readonly #store: SealedValueSystemStore;
  readonly #gauge: Gauge<'table' | 'key_id'>;
  /** Ids of values with a failed wrapping, by column: searches leave them out until nothing else is found. */
  readonly #failed = new Map<SealedColumn, Set<string>>();

  constructor(options: RewrapOptions) {
    this.#options = options;
    this.#store = new SealedValueSystemStore(options.service, options);
    this.#gauge = gauge(
      options.registry,
      'gatehouse_sealed_values',
      'Values that a key of the ring has sealed or hashed which is no longer its first, counted every hour; the same in every replica',
      ['table', 'key_id'],
    );
  }

  /** The work of a replica: a minute after its start, and every hour. */
  get part(): PeriodicWork {
    const { log } = this.#options;
    const round = (): Promise<boolean> => this.round();
    return new PeriodicWork({ task: 'encrypt values with the current key', log, ...timing, round });
  }

  /** Wraps up to 100 values of each column. Returns whether there may be more, and else counts what is left. */
  async round(): Promise<boolean> {
    let more = false;
    try {
      more = await this.#rewrapSome();
    } finally {
      if (!more) await this.count();
    }
    return more;
  }

  /** Returns whether it found any value, also one it could not wrap: others may be behind it. */
  async #rewrapSome(): Promise<boolean> {
    let [seen, wrapped] = [0, 0];
    for (const place of this.#options.columns)
      for (const value of await this.#findStale(place)) {
        seen += 1;
        if (await this.#rewrap(value)) wrapped += 1;
      }
    if (wrapped > 0) this.#options.log.info({ values: wrapped }, 'encrypted values with the current key');
    if (seen === 0) this.#failed.clear();
    return seen > 0;
  }

  /** Counts the values each old key has wrapped or hashed. */
  async count(): Promise<void> {
    const { columns, hashes = [], keyRing } = this.#options;
    for (const { keyId, prefix } of keyRing.stalePrefixes) {
      const counts = new Map<string, number>();
      const add = (table: string, count: number): unknown =>
        counts.set(table, (counts.get(table) ?? 0) + count);
      for (const place of columns) add(place.table, await this.#store.count(place, prefix));
      for (const place of hashes) add(place.table, await this.#store.countHashes(place, keyId));
      for (const [table, count] of counts) this.#gauge.set({ table, key_id: keyId }, count);
    }
  }

  async #findStale(place: SealedColumn): Promise<SealedValue[]> {
    const except = [...(this.#failed.get(place) ?? [])];
    if (except.length > maxFailures) return [];
    const values: SealedValue[] = [];
    for (const { prefix } of this.#options.keyRing.stalePrefixes)
      values.push(...(await this.#store.find(place, { prefix, except, limit: batch })));
    return values;
  }

  /** Returns false, and logs why, if the value can't be opened or replaced. */
  async #rewrap(value: SealedValue): Promise<boolean> {
    const { keyRing, log } = this.#options;
    const { place, id, sealed } = value;
    let message = 'failed to decrypt a secret';
    try {
      const rewrapped = keyRing.rewrap(sealed, place.context(value));
      message = 'failed to store a secret under the current key';
      await this.#store.replaceHead(value, rewrapped);
      return true;
    } catch (error) {
      this.#failed.set(place, (this.#failed.get(place) ?? new Set<string>()).add(id));
      log.error({ err: error, table: place.table, column: place.column, id }, message);
      return false;
    }
  }
}

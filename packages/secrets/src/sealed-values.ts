import { Gauge, type Registry } from '@gatehouse/kit/metrics';

/** The number of values in a table that begin so: that one key has sealed. */
export type CountSealed = (prefix: Buffer) => Promise<readonly { table: string; count: number }[]>;

/** Counts the values that keys have sealed which are no longer the first of the ring. */
export class SealedValues {
  readonly #gauge: Gauge<'table' | 'key_id'>;
  readonly #stalePrefixes: readonly { keyId: string; prefix: Buffer }[];
  readonly #count: CountSealed;

  constructor({
    registry,
    stalePrefixes,
    count,
  }: {
    registry: Registry;
    stalePrefixes: readonly { keyId: string; prefix: Buffer }[];
    count: CountSealed;
  }) {
    this.#stalePrefixes = stalePrefixes;
    this.#count = count;
    this.#gauge = new Gauge({
      name: 'gatehouse_sealed_values',
      help: 'Values that a key of the ring has sealed which is no longer its first, counted every hour; the same in every replica',
      labelNames: ['table', 'key_id'],
      registers: [registry],
    });
  }

  async update(): Promise<void> {
    for (const { keyId, prefix } of this.#stalePrefixes)
      for (const { table, count } of await this.#count(prefix))
        this.#gauge.set({ table, key_id: keyId }, count);
  }
}

import { createHash } from 'node:crypto';
import type { ApiName } from '@gatehouse/dialects/dialects';
import { sealId, sealIdsIn, sealSteps } from '@gatehouse/dialects/seals-in';
import { inSteps, turnsOf } from '@gatehouse/kit/steps';

/** Seals that one run notes: more than any has. */
const maxMade = 4_096;
const digestBytes = 16;

/** The name of a seal in the database. */
export function sealDigest(id: string): Buffer {
  return createHash('sha256').update(id).digest().subarray(0, digestBytes);
}

/** A seal that clients got as it is, and its maker. */
export interface MadeSeal {
  digest: Buffer;
  maker: string;
}

/**
 * The makers of the seals of one run: those of its conversation, as far as they are known, and those that its answers bring.
 * A seal whose maker is not known counts as made by the one that the client asks first.
 */
export class RunSeals {
  /** By the ids of seals. */
  readonly #makers: Map<string, string>;
  readonly #made = new Set<string>();
  #first: string | null = null;

  constructor(known: ReadonlyMap<string, string>) {
    this.#makers = new Map(known);
  }

  /** Notes the seals in a frame of an answer. */
  note(api: ApiName, frame: Buffer, maker: () => string): void {
    this.#add(sealIdsIn(api, frame), maker);
  }

  /** Notes the seals in a whole answer, in turns of the tenant if it is large. */
  async noteWhole(api: ApiName, answer: Buffer, tenantId: string, maker: () => string): Promise<void> {
    this.#add(await inSteps(sealSteps(api, answer), turnsOf(answer, tenantId)), maker);
  }

  /** Whether a seal goes to a maker. `first`: the one that the client asks first, by which the first call counts. */
  keeps(by: () => string, first: () => string): (seal: unknown) => boolean {
    return (seal) => {
      const id = sealId(seal);
      this.#first ??= first();
      return ((id === null ? undefined : this.#makers.get(id)) ?? this.#first) === by();
    };
  }

  /** Those of the answers, to be kept with the end of the run. */
  get made(): readonly MadeSeal[] {
    return [...this.#made].map((id) => ({ digest: sealDigest(id), maker: this.#makers.get(id) ?? '' }));
  }

  #add(ids: readonly string[], maker: () => string): void {
    if (ids.length === 0) return;
    const by = maker();
    for (const id of ids) {
      if (this.#made.size >= maxMade) return;
      if (this.#makers.has(id)) continue;
      this.#makers.set(id, by);
      this.#made.add(id);
    }
  }
}

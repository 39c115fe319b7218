import { createHash } from 'node:crypto';
import type { ApiName } from '@gatehouse/dialects/dialects';
import { signatureId, signatureIdsIn, signatureSteps } from '@gatehouse/dialects/signatures-in';
import { runSteps, cooperativeFor } from '@gatehouse/kit/cooperative-steps';

/** Signatures that one run notes: more than any has. */
const maxMade = 4_096;
const digestBytes = 16;

/** The name of a signature in the database. */
export function signatureDigest(id: string): Buffer {
  return createHash('sha256').update(id).digest().subarray(0, digestBytes);
}

/** A signature that clients got as it is, and its origin. */
export interface NewSignature {
  digest: Buffer;
  origin: string;
}

/**
 * The origins of the signatures of one run: those of its conversation, as far as they are known, and those that its answers bring.
 * A signature whose origin is not known counts as made by the one that the client asks first.
 */
export class SignatureOrigins {
  /** By the ids of signatures. */
  readonly #origins: Map<string, string>;
  readonly #made = new Set<string>();
  #first: string | null = null;

  constructor(known: ReadonlyMap<string, string>) {
    this.#origins = new Map(known);
  }

  /** Notes the signatures in a frame of an answer. */
  note(api: ApiName, frame: Buffer, origin: () => string): void {
    this.#add(signatureIdsIn(api, frame), origin);
  }

  /** Notes the signatures in a whole answer, in turns of the tenant if it is large. */
  async noteWhole(api: ApiName, answer: Buffer, tenantId: string, origin: () => string): Promise<void> {
    this.#add(await runSteps(signatureSteps(api, answer), cooperativeFor(answer, tenantId)), origin);
  }

  /** Whether a signature goes to an origin. `first`: the one that the client asks first, by which the first call counts. */
  keeps(by: () => string, first: () => string): (signature: unknown) => boolean {
    return (signature) => {
      const id = signatureId(signature);
      this.#first ??= first();
      return ((id === null ? undefined : this.#origins.get(id)) ?? this.#first) === by();
    };
  }

  /** Those of the answers, to be kept with the end of the run. */
  get made(): readonly NewSignature[] {
    return [...this.#made].map((id) => ({
      digest: signatureDigest(id),
      origin: this.#origins.get(id) ?? '',
    }));
  }

  #add(ids: readonly string[], origin: () => string): void {
    if (ids.length === 0) return;
    const by = origin();
    for (const id of ids) {
      if (this.#made.size >= maxMade) return;
      if (this.#origins.has(id)) continue;
      this.#origins.set(id, by);
      this.#made.add(id);
    }
  }
}

import { returnSliceMs } from '../bounds.ts';

/**
 * Limits by the time at which they have something to return, in slices: a tenant has one for each of its users and
 * sessions, too many to look through at every call. Each stands here once; when its slice comes, it is asked again.
 */
export class DueReturns<Limit extends { readonly returnAt: number }> {
  /** Few: leases end within seconds. */
  readonly #bySlice = new Map<number, Set<Limit>>();
  readonly #sliceOf = new Map<Limit, number>();

  /** When the first may be due; Infinity for never. */
  get nextAt(): number {
    return Math.min(...this.#bySlice.keys());
  }

  /** Adds a limit that may have something to return, now or earlier than before. */
  add(limit: Limit): void {
    const at = Math.ceil(limit.returnAt / returnSliceMs) * returnSliceMs;
    const known = this.#sliceOf.get(limit) ?? Infinity;
    if (at >= known) return;
    this.#remove(limit, known);
    this.#sliceOf.set(limit, at);
    const slice = this.#bySlice.get(at);
    if (slice === undefined) this.#bySlice.set(at, new Set([limit]));
    else slice.add(limit);
  }

  /** Removes those due at `time`, at most `count`, those due longest first. */
  take(time: number, count: number): Limit[] {
    const due: Limit[] = [];
    const later: Limit[] = [];
    for (const at of [...this.#bySlice.keys()].sort((one, other) => (one < other ? -1 : 1))) {
      if (at > time) break;
      for (const limit of this.#bySlice.get(at) ?? []) {
        if (due.length === count) break;
        this.#remove(limit, at);
        if (limit.returnAt < Infinity) (limit.returnAt <= time ? due : later).push(limit);
      }
    }
    for (const limit of later) this.add(limit);
    return due;
  }

  #remove(limit: Limit, at: number): void {
    const slice = this.#bySlice.get(at);
    slice?.delete(limit);
    if (slice?.size === 0) this.#bySlice.delete(at);
    this.#sliceOf.delete(limit);
  }
}

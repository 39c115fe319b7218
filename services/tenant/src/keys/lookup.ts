import { batchedFinder } from '@gatehouse/kit/batched';

/** Finds a key or a session. `known`: whether the edge has had it accepted before. */
export type Lookup<Value> = (key: string, known: boolean | undefined) => Promise<Value | null>;

type Find<Value> = (keys: readonly string[]) => Promise<readonly Value[]>;

/**
 * Look-ups with one statement at a time for all that are wanted meanwhile. Look-ups of known keys have statements and
 * connections of their own: they never wait for texts made up by clients.
 */
export function createLookup<Value>(
  find: { known: Find<Value>; others: Find<Value> },
  keyOf: (value: Value) => string,
): Lookup<Value> {
  const findKnown = batchedFinder(find.known, keyOf);
  const findOther = batchedFinder(find.others, keyOf);
  return (key, known) => (known === true ? findKnown(key) : findOther(key));
}

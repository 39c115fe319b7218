import { batchedFinder } from '@gatehouse/kit/batched';

/** Finds a key or a session. `known`: whether the edge has had it accepted before. */
export type Lookup<Found> = (key: string, known: boolean | undefined) => Promise<Found | null>;

/**
 * Look-ups with one statement at a time for all that are wanted meanwhile. Those of known keys have statements of their
 * own: they never wait for texts that any client can make up.
 */
export function createLookup<Found>(
  find: (keys: readonly string[]) => Promise<readonly Found[]>,
  keyOf: (found: Found) => string,
): Lookup<Found> {
  const ofKnown = batchedFinder(find, keyOf);
  const ofOthers = batchedFinder(find, keyOf);
  return (key, known) => (known === true ? ofKnown(key) : ofOthers(key));
}

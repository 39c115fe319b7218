import { monotonicMs } from '@gatehouse/kit/clock';
import { randomBase62 } from '@gatehouse/kit/ids';
import type { UserDeletion } from '@gatehouse/shell/deletion-inbox';
import type { ForgetStore } from './forget-system-store.ts';

/** Longer than a statement storing events, from its check for deletions to its commit. */
const defaultSettleMs = 10_000;
/** How long one call works. */
const workMs = 2_000;

export interface ForgetOptions {
  store: ForgetStore;
  /** How long a deletion is not complete, since events may be written late. */
  settleMs?: number | undefined;
}

/**
 * Removes a user after a deletion of their data: runs begun before it lose their texts and sessions, and get a random
 * pseudonym as their user, to keep amounts and counts of users. `ingest/` treats later events.
 *
 * Works for two seconds at most. May be repeated, also by several callers, and must be until it is completed: all
 * stored runs are in the roll-ups and done, and no late one can come.
 */
export async function forget(
  { requestedAt, ...user }: UserDeletion,
  { store, settleMs = defaultSettleMs }: ForgetOptions,
): Promise<{ traces: number; completed: boolean }> {
  const until = monotonicMs() + workMs;
  // As random as it gets: nothing leads from it to the user.
  const pseudonym = `forgotten-${randomBase62(22)}`;
  await store.noteDeletion(user, { requestedAtMs: requestedAt.getTime(), pseudonym });
  await store.forgetDeadLetters(user);
  let traces = 0;
  for (let more = true; more && monotonicMs() < until;) {
    const batch = await store.forgetTraces(user, settleMs);
    traces += batch.changed;
    ({ more } = batch);
  }
  let completed = false;
  for (let more = true; more && monotonicMs() < until;)
    ({ more, done: completed } = await store.forgetUsage(user));
  return { traces, completed };
}

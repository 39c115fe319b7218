import type { RunEnded, RunStarted } from '@gatehouse/events/run-event';

/** A user of a tenant under deletion of their data. */
export interface ForgottenUser {
  tenantId: string;
  userId: string;
}

/** The result of one batch. */
export interface ForgetBatch {
  /** Changed traces. */
  changed: number;
  /** Whether another batch of the same kind follows. */
  more: boolean;
}

/** A user of a tenant with deleted data, known by a hash. */
export interface CompletedDeletion {
  tenantId: string;
  digest: Buffer;
  until: Date;
}

/** The facts of a run by which a deletion of its user's data applies to it. */
export type UserRun = Pick<RunStarted | RunEnded, 'run_id' | 'tenant_id' | 'user_id' | 'started_at'>;

/** Deletions of users' data, of all tenants. */
export interface ForgetStore {
  /** Notes a deletion. A later one of the same user starts over, with its own pseudonym. */
  noteDeletion(user: ForgottenUser, deletion: { requestedAtMs: number; pseudonym: string }): Promise<void>;

  /**
   * Replaces the user, and removes the session and the texts, in a batch of the tenant's traces. `more` is false after
   * the last one of a pass. The traces are done once all of them were read `settleMs` after the deletion was noted: by then,
   * nothing unaware of it can still write. `traces/follow` doesn't show this as a change.
   */
  forgetTraces(user: ForgottenUser, settleMs: number): Promise<ForgetBatch>;

  /** Replaces the user in a day of the tenant's roll-ups, once the traces are done. `done` when no day is left. */
  forgetUsage(user: ForgottenUser): Promise<{ more: boolean; done: boolean }>;

  /** Deletes dead letters about runs of the user. */
  forgetDeadLetters(user: ForgottenUser): Promise<void>;

  /** The ids of the runs begun before the deletion of their user's data. */
  findForgotten(runs: readonly UserRun[]): Promise<ReadonlySet<string>>;

  /** The completed deletions of the last days, as long as they are noted. */
  completedDeletions(): Promise<CompletedDeletion[]>;

  /** The users with refused requests of a tenant, in pages. A user may be in two of them. */
  usersWithRefusals(tenantId: string): AsyncIterable<readonly string[]>;

  /** Removes a user from refused requests after the deletion of all else. */
  forgetLateRefusals(user: ForgottenUser, until: Date): Promise<void>;
}

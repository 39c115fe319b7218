/** Runs as the rows of a log hold them. */

/** The start of a run, or a further call of it. Texts are JSON as `run-record.ts` defines it. */
export interface LoggedStart {
  id: string;
  tenantId: string;
  /** ISO 8601; null for one that starts now. */
  startedAt: string | null;
  charges: string | null;
  /** Null for a further call. */
  run: string | null;
  attempts: string;
}

export interface LoggedEnd {
  id: string;
  /** Members that the end adds to the run's record; null where its event is written to the outbox, or its run is given up. */
  ending: string | null;
}

/** A run that is written later than it began, and whose user may have been forgotten meanwhile. */
export interface WrittenLate {
  id: string;
  tenantId: string;
  digest: Buffer;
  startedAt: string;
}

import type { Horizon } from './transaction-age.ts';

/** How stale answers are. */
export interface FreshnessStore {
  /** The running transactions, which delay changes in `follow`. */
  readHorizon(): Promise<Horizon>;

  /** The age of `as_of` in seconds; null until every source has its watermarks. */
  usageLagSeconds(): Promise<number | null>;

  /** How many closed folds are in no roll-up yet. */
  countWaitingFolds(): Promise<number>;
}

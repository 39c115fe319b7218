/** A problem that is none: of the statements of a file that begin like this. */
export interface Accepted {
  file: string;
  begins: string;
  problem: string;
  reason: string;
}

/** Statements that rightly read a whole table, or compare all with all of few. An entry that no longer applies fails. */
export const accepted: readonly Accepted[] = [];

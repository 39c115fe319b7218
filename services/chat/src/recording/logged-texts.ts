import { storedAttempt, runEnding, type StoredAttempts } from '../runs/run-record.ts';
import type { StartTexts } from './logged-run.ts';
import { pgJson } from '../shared/pg-json.ts';
import type { EndRow, StartRow } from './run-rows.ts';

/** The texts that a log holds of a run. */

export function startTexts(row: StartRow): StartTexts {
  const charges = row.charges === null ? null : pgJson(row.charges);
  return { charges, run: pgJson(row.run), attempts: callsText(row) };
}

/** The calls of a run so far, with one about to be made. */
export function callsText({ attempt, ended }: StartRow): string {
  const attempts: StoredAttempts = { ended: ended.map(storedAttempt), open: attempt };
  return pgJson(attempts);
}

/** The members that an end adds to the run's record, behind a comma. */
export function endingText({ run, end, attempts }: EndRow): string {
  return `,${pgJson(runEnding(run, end, attempts)).slice(1)}`;
}

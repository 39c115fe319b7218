import { completeRecord } from './statement-record.ts';
import { endTestRun } from './test-run.ts';

// oxlint-disable-next-line no-restricted-exports -- Jest calls the default export.
export default async function tearDown(): Promise<void> {
  completeRecord();
  await endTestRun();
}

import { completeRecord } from './statement-record.ts';
import { endTestRun } from './test-run.ts';

// eslint-disable-next-line no-restricted-exports -- Jest calls the default export.
export default async function tearDown(): Promise<void> {
  completeRecord();
  await endTestRun();
}

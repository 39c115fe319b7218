import { scanPieces, type JsonScan, type TextPlace } from './json-scan.ts';
import { runCooperatively } from './cooperative.ts';

/**
 * Scans a document in turns of `tenantId` at the event loop (see `scanPieces`). `check` gets the counts so far, and may throw.
 * Returns its long texts and names.
 */
export async function scanCooperatively(
  json: Buffer,
  tenantId: string | null,
  check: (scan: JsonScan) => void = () => undefined,
): Promise<readonly TextPlace[]> {
  const pieces = scanPieces(json);
  let longTexts: readonly TextPlace[] = [];
  const next = (): boolean => {
    const { value, done = false } = pieces.next();
    if (value !== undefined) {
      check(value);
      ({ longTexts } = value);
    }
    return done;
  };
  while (!(await runCooperatively(tenantId, next)));
  return longTexts;
}

import { scanPieces, type JsonScan } from './json-scan.ts';
import { inLoopTurn } from './loop-turns.ts';

/** Scans a document in turns of `tenantId` at the event loop (see `scanPieces`). `check` gets the counts so far, and may throw. */
export async function scanInTurns(
  json: Buffer,
  tenantId: string | null,
  check: (scan: JsonScan) => void = () => undefined,
): Promise<void> {
  const pieces = scanPieces(json);
  const next = (): boolean => {
    const { value, done = false } = pieces.next();
    if (value !== undefined) check(value);
    return done;
  };
  while (!(await inLoopTurn(tenantId, next)));
}

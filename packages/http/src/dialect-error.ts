import type { DialectName, StreamPlace } from '@gatehouse/contract/dialects';
import type { WrittenError } from '@gatehouse/dialects/client-surface';
import { clientSurfaces } from '@gatehouse/dialects/client-surfaces';
import type { AppError } from '@gatehouse/kit/errors';

/** Writes an error in the shape of a dialect. */
export function writeError(dialect: DialectName, error: AppError, requestId: string): WrittenError {
  const { status, body } = error;
  return body === null ? clientSurfaces[dialect].error(error, requestId) : { status, body, headers: {} };
}

/** Last event of a stream ending with an error, or the last ones. `place`: where it is known. */
export function errorEvent(
  dialect: DialectName,
  error: AppError,
  requestId: string,
  place: StreamPlace | null = null,
): string {
  return clientSurfaces[dialect].errorEvent(error, requestId, place);
}

import { importedRecord, type ImportedRecord } from '@gatehouse/contract/memory';
import { parseJson } from '@gatehouse/http/body';
import { validate } from '@gatehouse/kit/validate';
import type { TenantPrincipal } from '@gatehouse/identity/principal';
import { AppError } from '@gatehouse/kit/errors';
import { assertFits } from '../documents/document.ts';
import type { Line } from '@gatehouse/kit/json-lines';
import type { NumberedRecord } from '../moving/record-batches.ts';
import { agentScope } from '../shared/memory-key.ts';

type Importer = Pick<TenantPrincipal, 'userId'>;

/**
 * The record of a line, with the id of the user named there. Throws 400 with the number of the line if it is not valid, or
 * not the caller's.
 */
export async function readRecord(
  { number, bytes }: Line,
  principal: Importer,
  userIdOf: (name: string) => Promise<string>,
): Promise<NumberedRecord> {
  try {
    const record = validate(importedRecord, parseJson(bytes), 'body');
    assertFits(record.text, record.metadata);
    const named = record.user_id === null ? null : await userIdOf(record.user_id);
    return { line: number, record: { ...record, userId: userOf({ ...record, user_id: named }, principal) } };
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    const code = error.status === 413 ? 'invalid_value' : error.code;
    const message = error.message.replace('The request body', 'The line');
    throw new AppError(code, `Line ${number}: ${message}`, { param: error.param ?? undefined, cause: error });
  }
}

/** The user of a record. An acting user imports only their own. */
function userOf({ scope, user_id: named }: ImportedRecord, { userId }: Importer): string {
  const lineUser = scope === 'agent' ? null : (named ?? (scope === 'user' ? userId : null));
  if (scope === 'agent' && named !== null)
    throw new AppError('invalid_value', 'A record with the scope agent has no user_id.', {
      param: 'user_id',
    });
  if (scope === 'user' && lineUser === null)
    throw new AppError('missing_required_parameter', 'A record with the scope user needs a user_id.', {
      param: 'user_id',
    });
  if (userId !== null && lineUser !== userId)
    throw new AppError('user_mismatch', 'With an acting user, all records must belong to that user.', {
      param: 'user_id',
    });
  return lineUser ?? agentScope;
}

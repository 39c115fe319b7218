import { AppError } from '@gatehouse/kit/errors';
import { DatabaseError } from 'pg';

/**
 * Connection exceptions, insufficient resources (connections, disk, memory), shutdown and start-up of the server, its
 * I/O errors, statements and transactions that ran into our time-outs, a standby (PostgreSQL, Appendix A).
 */
const outageStates = /^(08|53|57014|57P0[1-5]|58|25006|25P03)/;
const outageSystemErrors = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'ENOTFOUND',
  'EPIPE',
  'ETIMEDOUT',
  'EHOSTUNREACH',
  'EAI_AGAIN',
  'ENOENT',
]);
const outageMessages =
  /connection terminated|timeout exceeded when trying to connect|query read timeout|client has encountered a connection error|not queryable/i;

/** The state of a statement that took longer than `statement_timeout`. */
const statementTimeout = '57014';

/** Whether an error means that the database can't answer now, as against that it refused the statement. */
export function isDatabaseOutage(error: unknown): boolean {
  if (error instanceof AppError)
    return error.code === 'database_unavailable' || error.code === 'query_timeout';
  if (error instanceof DatabaseError) return outageStates.test(error.code ?? '');
  // Not by `instanceof Error`: Node's own errors are of another realm where code runs in a vm context, as in Jest.
  const { code, message } = Object(error) as { code?: unknown; message?: unknown };
  return outageSystemErrors.has(String(code)) || outageMessages.test(String(message));
}

/**
 * Turns an outage into `database_unavailable`, and a statement that took too long into `query_timeout` (503, never 401).
 * Passes anything else on.
 */
export function wrapDatabaseError(error: unknown): never {
  if (isStatementTimeout(error))
    throw new AppError(
      'query_timeout',
      'The database took too long. Ask for less at once, such as a shorter period, or try again.',
      { cause: error, headers: { 'retry-after': '1' } },
    );
  if (!(error instanceof AppError) && isDatabaseOutage(error)) throw databaseUnavailable(error);
  throw error;
}

/** The same for a statement whose fate only the database knows: whatever it was, it did not say no. */
export function wrapUnlessRefused(error: unknown): never {
  if (error instanceof AppError || (error instanceof DatabaseError && !isStatementTimeout(error)))
    wrapDatabaseError(error);
  throw databaseUnavailable(error);
}

function isStatementTimeout(error: unknown): boolean {
  return error instanceof DatabaseError && error.code === statementTimeout;
}

function databaseUnavailable(cause: unknown): AppError {
  return new AppError('database_unavailable', 'The database can not be reached. Try again shortly.', {
    cause,
    headers: { 'retry-after': '1' },
  });
}

/** Data exceptions, violated constraints, what is too large for the server: these values will never be taken. */
const refusals = /^(22|23|54)/;

/** Whether the database refused the values themselves, so that trying again is of no use. */
export function isRefusal(error: unknown): boolean {
  return error instanceof DatabaseError && refusals.test(error.code ?? '');
}

export function isUniqueViolation(error: unknown, constraint: string): boolean {
  return error instanceof DatabaseError && error.code === '23505' && error.constraint === constraint;
}

/**
 * Turns the refusal of a time zone's name (SQLSTATE 22023) into `invalid_value` for `timezone` and passes anything else
 * on. Not all time zones that JavaScript knows are known to the database.
 */
export function refuseUnknownTimezone(error: unknown): never {
  if (!(error instanceof DatabaseError) || error.code !== '22023') throw error;
  throw new AppError(
    'invalid_value',
    'Invalid value for timezone: the database does not know this time zone.',
    { param: 'timezone', cause: error },
  );
}

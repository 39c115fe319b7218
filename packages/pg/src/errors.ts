import { AppError } from '@gatehouse/kit/errors';
import { DatabaseError } from 'pg';

/**
 * SQLSTATE classes of an outage: connection exceptions, insufficient resources, shutdown and start-up, I/O errors,
 * statement and transaction timeouts, and a read-only standby
 * (https://www.postgresql.org/docs/current/errcodes-appendix.html).
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

/** Sessions ended by the server: shutdown, termination, and time-outs of idle sessions and transactions. */
const endedStates = /^(57P0[1-5]|25P0[34])/;
const lostMessages = /connection terminated|connection error|not queryable/i;

/** Whether a statement failed because its connection is gone, so no server still there has executed it. */
export function isConnectionLost(error: unknown): boolean {
  const { code, message } = Object(error) as { code?: unknown; message?: unknown };
  const state = String(code);
  return (
    endedStates.test(state) || ['ECONNRESET', 'EPIPE'].includes(state) || lostMessages.test(String(message))
  );
}

/** Whether a client refused a statement before sending it, since its connection was gone. */
export function isUnsent(error: unknown): boolean {
  return /not queryable/i.test(String((Object(error) as { message?: unknown }).message));
}

/** Whether the database has undone a statement, to be tried again at once: deadlocks and serialization failures. */
export function isRolledBack(error: unknown): boolean {
  return error instanceof DatabaseError && error.code?.startsWith('40') === true;
}

/** The SQLSTATE when `statement_timeout` cancels a statement. */
const statementTimeout = '57014';

/** Whether an error means an outage of the database, rather than a rejected statement. */
export function isDatabaseOutage(error: unknown): boolean {
  if (error instanceof AppError)
    return error.code === 'database_unavailable' || error.code === 'query_timeout';
  if (error instanceof DatabaseError) return outageStates.test(error.code ?? '');
  // Not `instanceof Error`: in a vm context, as in Jest, the errors of Node belong to another realm.
  const { code, message } = Object(error) as { code?: unknown; message?: unknown };
  return outageSystemErrors.has(String(code)) || outageMessages.test(String(message));
}

/**
 * Throws `query_timeout` for a statement timeout and `database_unavailable` for an outage (both 503). Rethrows any
 * other error.
 */
export function wrapDatabaseError(error: unknown): never {
  if (isStatementTimeout(error)) throw queryTimedOut(error);
  if (!(error instanceof AppError) && isDatabaseOutage(error)) throw databaseUnavailable(error);
  throw error;
}

/**
 * Like `wrapDatabaseError`, but treats any error without a rejection from the database as an outage: the statement may
 * have been committed.
 */
export function wrapUnlessRefused(error: unknown): never {
  if (error instanceof AppError || (error instanceof DatabaseError && !isStatementTimeout(error)))
    wrapDatabaseError(error);
  throw databaseUnavailable(error);
}

/** Whether `statement_timeout` ended the statement. */
export function isStatementTimeout(error: unknown): boolean {
  return error instanceof DatabaseError && error.code === statementTimeout;
}

/** Whether `lock_timeout` ended the statement. */
export function isLockTimeout(error: unknown): boolean {
  return error instanceof DatabaseError && error.code === '55P03';
}

/** The 503 for a statement over its time. */
export function queryTimedOut(cause: unknown): AppError {
  return new AppError(
    'query_timeout',
    'The database query timed out. Request less at once, such as a shorter period, or try again.',
    { cause, headers: { 'retry-after': '1' } },
  );
}

/** The 503 for work after too long a wait for a connection. */
export function databaseBusy(): AppError {
  return new AppError('database_unavailable', 'The database is busy. Try again shortly.', {
    headers: { 'retry-after': '1' },
  });
}

/** The 503 for work during an outage. */
export function databaseUnavailable(cause: unknown): AppError {
  return new AppError('database_unavailable', 'The database is unavailable. Try again shortly.', {
    cause,
    headers: { 'retry-after': '1' },
  });
}

/**
 * SQLSTATE classes of values rejected for themselves: data exceptions, constraint violations, program limits exceeded.
 */
const refusals = /^(22|23|54)/;

/** Whether the database rejected the values themselves, so a retry would fail too. */
export function isRefusal(error: unknown): boolean {
  return error instanceof DatabaseError && refusals.test(error.code ?? '');
}

export function isUniqueViolation(error: unknown, constraint: string): boolean {
  return error instanceof DatabaseError && error.code === '23505' && error.constraint === constraint;
}

/** Whether the database rejects the name of a time zone (SQLSTATE 22023). */
export function isUnknownTimezone(error: unknown): boolean {
  return error instanceof DatabaseError && error.code === '22023';
}

/**
 * Throws `invalid_value` for `timezone` when the database rejects the name of a time zone (SQLSTATE 22023). Rethrows
 * any other error. JavaScript accepts some time zones PostgreSQL does not have.
 */
export function refuseUnknownTimezone(error: unknown): never {
  if (!isUnknownTimezone(error)) throw error;
  throw new AppError(
    'invalid_value',
    'Invalid value for timezone: the database does not support this time zone.',
    { param: 'timezone', cause: error },
  );
}

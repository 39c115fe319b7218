import { AppError, invalidValue } from '@gatehouse/kit/errors';
import { isUuid } from '@gatehouse/kit/ids';
import type { z } from 'zod';

/** Id in a path, in lower case. A malformed id gets the same 404 as an unknown one. */
export function resourceId(params: Record<string, string>, what: string): string {
  const { id = '' } = params;
  if (!isUuid(id)) throw notFound(what);
  return id.toLowerCase();
}

/** A parameter of the path in the form of `shape`. Throws `invalid_value` for any other text. */
export function pathParameter<Shape extends z.ZodType>(
  params: Record<string, string>,
  name: string,
  shape: Shape,
): z.output<Shape> {
  const parsed = shape.safeParse(params[name]);
  if (parsed.success) return parsed.data;
  const reason = parsed.error.issues[0]?.message ?? 'invalid';
  throw invalidValue(name, reason);
}

/** The found row, or the 404 shared by foreign and missing resources: `There is no such <what>.` */
export function orNotFound<Row>(row: Row | null, what: string): Row {
  if (row === null) throw notFound(what);
  return row;
}

function notFound(what: string): AppError {
  return new AppError('not_found', `There is no such ${what}.`);
}

import { AppError } from '@gatehouse/kit/errors';
import { isFields } from '@gatehouse/kit/fields';
import { parseName, parsePath, type AttributePath } from './scim-filter.ts';

/** Values as identity providers send them: texts for booleans, and lists with one value. */

/** A change of one attribute. */
export interface Operation {
  op: 'add' | 'replace' | 'remove';
  path: AttributePath;
  value: unknown;
}

/** More changes in a request are refused: each takes microseconds. */
const maxOperations = 1_000;

/** The changes of a PATCH (RFC 7644, section 3.5.2). Throws a 400. */
export function operationsOf(body: unknown): Operation[] {
  const operations: unknown = isFields(body) ? body['Operations'] : undefined;
  if (!Array.isArray(operations) || operations.length === 0)
    throw wrongOperations('Operations must have at least one operation');
  const changes: Operation[] = [];
  for (const operation of operations as unknown[]) {
    if (!isFields(operation)) throw wrongOperations('An operation must be an object');
    const { path, value } = operation;
    const op = opOf(operation['op']);
    if (path === undefined || path === null || path === '') {
      if (op === 'remove') throw wrong('path', 'A remove operation needs a path.');
      changes.push(...changesOf(op, value));
    } else {
      if (typeof path !== 'string') throw wrong('path', 'A path must be a text.');
      changes.push({ op, path: parsePath(path), value });
    }
    if (changes.length > maxOperations) throw tooMany();
  }
  return changes;
}

/** The changes by a value without a path: one for each stored attribute that it has. Throws a 400. */
export function changesOf(op: Operation['op'], value: unknown): Operation[] {
  if (!isFields(value)) throw wrong('value', 'A value without a path must be an object.');
  const changes: Operation[] = [];
  for (const [name, member] of Object.entries(value)) {
    const path = parseName(name);
    if (path !== null) changes.push({ op, path, value: member });
    if (changes.length > maxOperations) throw tooMany();
  }
  return changes;
}

function opOf(value: unknown): Operation['op'] {
  const op = typeof value === 'string' ? value.toLowerCase() : '';
  if (op !== 'add' && op !== 'replace' && op !== 'remove')
    throw wrongOperations('op must be add, replace or remove');
  return op;
}

function tooMany(): AppError {
  return wrongOperations(`A request has at most ${maxOperations} changes`);
}

function wrongOperations(message: string): AppError {
  return wrong('Operations', `${message}.`);
}

/** The 400 about an attribute or a part of the request. */
export function wrong(param: string, message: string): AppError {
  return new AppError('invalid_value', message, { param });
}

/** The only value of a list, also within an object: `[{"value": "x"}]`. */
function single(value: unknown): unknown {
  const [only] = Array.isArray(value) && value.length === 1 ? (value as unknown[]) : [value];
  return isFields(only) && 'value' in only ? only['value'] : only;
}

/** A text of at most `max` characters; null for none, and for an empty one. Throws a 400. */
export function textOf(value: unknown, name: string, max: number): string | null {
  const only = single(value);
  if (only === undefined || only === null || only === '') return null;
  const text = typeof only === 'number' ? String(only) : only;
  if (typeof text !== 'string' || text.length > max || text.includes('\0') || !text.isWellFormed())
    throw wrong(name, `${name} must be a text of at most ${max} characters.`);
  return text;
}

/** A boolean, which Entra ID also sends as text. Throws a 400. */
export function booleanOf(value: unknown, name: string): boolean {
  const only = single(value);
  const text = typeof only === 'string' ? only.toLowerCase() : only;
  if (text === true || text === 'true') return true;
  if (text === false || text === 'false') return false;
  throw wrong(name, `${name} must be true or false.`);
}

/** The elements of a list, which may come without one. */
export function listOf(value: unknown): unknown[] {
  if (value === undefined || value === null || value === '') return [];
  return Array.isArray(value) ? (value as unknown[]) : [value];
}

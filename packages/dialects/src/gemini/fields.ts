import { AppError } from '@gatehouse/kit/errors';
import { isFields, type Fields } from '@gatehouse/kit/fields';
import type { JsonSource } from '../wire/json-text.ts';
import { kindOf, wrongType, type FieldTypes } from '../request-fields.ts';
import { maxMembers } from '../bounds.ts';

/** Fields of Google's JSON. Each has two spellings, camelCase and snake_case, and a list of one may stand without its brackets. */

const snakes = new Map<string, string>();

function snakeOf(name: string): string {
  const known = snakes.get(name);
  if (known !== undefined) return known;
  const snake = name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
  snakes.set(name, snake);
  return snake;
}

/** Whether a name in a request is this one, which is in camelCase. */
export function isNamed(actual: string, name: string): boolean {
  return actual === name || actual === snakeOf(name);
}

/** The value of a field, by its name in camelCase. */
export function valueOf(fields: Fields, name: string): unknown {
  return Object.hasOwn(fields, name) ? fields[name] : fields[snakeOf(name)];
}

/** The text of a field, in either spelling. */
export function memberIn(source: JsonSource | null, name: string): JsonSource | null {
  return source?.member(name) ?? source?.member(snakeOf(name)) ?? null;
}

/** The field as an object, or `{}`. */
export function objectIn(fields: Fields, name: string): Fields {
  const value = valueOf(fields, name);
  return isFields(value) ? value : {};
}

/** The objects in a list. */
export function objectsIn(fields: Fields, name: string): Fields[] {
  const value = valueOf(fields, name);
  return (Array.isArray(value) ? value : [value]).filter(isFields);
}

/** Parses a number or numeric string; null otherwise. */
export function numberOf(value: unknown): number | null {
  const number = typeof value === 'string' && value.trim() !== '' ? Number(value) : value;
  return typeof number === 'number' && !Number.isNaN(number) ? number : null;
}

/**
 * Checks the names and types of an object's fields; null passes for each. A field in both spellings, or in another one,
 * could be read by the provider and not by the gateway. `path`: of the object, with a dot.
 */
export function checkFields(fields: Fields, known: FieldTypes, path = ''): void {
  const names = Object.keys(fields);
  if (names.length > maxMembers)
    throw new AppError('invalid_value', `${path || 'The request body '}has more than ${maxMembers} members.`);
  const plainNames = new Map(Object.keys(known).map((name) => [plainOf(name), name]));
  const seen = new Set<string>();
  for (const listed of names) {
    const name = plainNames.get(plainOf(listed));
    if (name === undefined) continue;
    const param = path + listed.slice(0, 200);
    if (!isNamed(listed, name))
      throw new AppError('unknown_parameter', `Unknown field: ${param}. Did you mean ${path}${name}?`, {
        param,
      });
    if (seen.has(name)) throw new AppError('invalid_value', `${param} is there in two spellings.`, { param });
    seen.add(name);
    const kinds = known[name] ?? [];
    const kind = kindOf(fields[listed]);
    if (kind !== null && !kinds.includes(kind)) throw wrongType(param, kinds);
  }
}

/** A name as compared by servers with any case and spelling of names. */
function plainOf(name: string): string {
  return name.toUpperCase().toLowerCase().replaceAll('_', '');
}

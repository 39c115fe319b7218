import type { RefusedRequest } from '../errors.ts';
import { entriesIn, isObject } from '../values.ts';

/**
 * Checks a schema that an answer must keep strictly: every object lists all its properties as required and has no others.
 *
 * @throws RefusedRequest (400) that `refuse` makes of the reason.
 */
export function checkStrictSchema(schema: unknown, refuse: (reason: string) => RefusedRequest): void {
  check(schema, []);

  function check(part: unknown, place: string[]): void {
    if (!isObject(part)) return;
    const properties = isObject(part['properties']) ? part['properties'] : {};
    const context = `In context=(${place.map((step) => `'${step}'`).join(', ')})`;
    const types = Array.isArray(part['type']) ? entriesIn(part['type']) : [part['type']];
    if (types.includes('object') && part['additionalProperties'] !== false) {
      throw refuse(`${context}, 'additionalProperties' is required to be supplied and to be false.`);
    }
    const required = entriesIn(part['required']);
    const left = Object.keys(properties).find((name) => !required.includes(name));
    if (left !== undefined) {
      throw refuse(
        `${context}, 'required' is required to be supplied and to be an array including every key in properties. Missing '${left}'.`,
      );
    }
    for (const [name, property] of Object.entries(properties))
      check(property, [...place, 'properties', name]);
    check(part['items'], [...place, 'items']);
    for (const key of ['$defs', 'definitions']) {
      const defined = isObject(part[key]) ? part[key] : {};
      for (const [name, entry] of Object.entries(defined)) check(entry, [...place, key, name]);
    }
    for (const [index, entry] of entriesIn(part['anyOf']).entries()) {
      check(entry, [...place, 'anyOf', String(index)]);
    }
  }
}

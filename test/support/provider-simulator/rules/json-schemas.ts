import { isObject, objectsIn } from '../values.ts';
import type { JsonObject } from '../values.ts';

/** A schema and all schemas inside of it. */
export function schemasIn(schema: unknown): JsonObject[] {
  if (!isObject(schema)) return [];
  const named = [schema['properties'], schema['$defs'], schema['definitions']]
    .filter(isObject)
    .flatMap((each) => Object.values(each));
  const listed = ['anyOf', 'oneOf', 'allOf', 'prefixItems'].flatMap((name) => objectsIn(schema[name]));
  return [schema, ...[...named, ...listed, schema['items']].flatMap(schemasIn)];
}

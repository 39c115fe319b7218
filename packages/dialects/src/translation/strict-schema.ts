import { isFields, listOf } from '@gatehouse/kit/fields';
import type { DroppedFields, NamedField } from './dropped-fields.ts';
import { maxSchemaDepth, maxSchemaObjects } from '../bounds.ts';

/** Whether a schema is written as a strict one; `field` is left out where it can't be. */
export function strictIn(schemaJson: string, field: NamedField, dropped: DroppedFields): boolean {
  const isStrict = canBeStrict(schemaJson);
  if (!isStrict) dropped.ignoreField(field);
  return isStrict;
}

/**
 * Whether OpenAI's API can hold an answer to a schema strictly: each object in it requires all of its properties, and allows
 * no others. It refuses other schemas as strict ones.
 */
function canBeStrict(schemaJson: string): boolean {
  let objects = 0;
  const isStrict = (schema: unknown, depth: number): boolean => {
    objects += 1;
    if (depth > maxSchemaDepth || objects > maxSchemaObjects) return false;
    if (!isFields(schema)) return true;
    const { properties, required, additionalProperties } = schema;
    const names = Object.keys(isFields(properties) ? properties : {});
    const isObject = schema['type'] === 'object' || names.length > 0;
    const needed = new Set(listOf(required));
    if (isObject && (additionalProperties !== false || names.some((name) => !needed.has(name)))) return false;
    return inner(schema).every((each) => isStrict(each, depth + 1));
  };
  return isStrict(JSON.parse(schemaJson), 0);
}

/** The schemas inside of a schema. */
function inner(schema: Record<string, unknown>): unknown[] {
  const { properties, items, anyOf, allOf, oneOf, $defs, definitions } = schema;
  const named = [properties, $defs, definitions].filter(isFields).flatMap((each) => Object.values(each));
  return [...named, items, ...listOf(anyOf), ...listOf(allOf), ...listOf(oneOf)];
}

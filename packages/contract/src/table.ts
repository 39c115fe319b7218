import { z } from 'zod';
import type { Route } from './route.ts';

/** A list as a table: a row for each item, and the same columns on every page, an empty one too. */
export interface Table {
  /** The member of the answer with the items. */
  items: string;
  columns: readonly Column[];
}

interface Column {
  /** Names of nested members have dots between them: `tools.max_iterations`. */
  name: string;
  path: readonly string[];
  holds: 'value' | 'values' | 'json';
}

type Schema = z.core.JSONSchema.BaseSchema;

/** The table of a route listing items page by page; null for others, and for lists of other APIs. */
export function tableOf({ method, response: { shape } }: Pick<Route, 'method' | 'response'>): Table | null {
  if (method !== 'GET' || !(shape instanceof z.ZodObject)) return null;
  const { has_more: hasMore, next_cursor: nextCursor, ...others } = shape.shape as Record<string, z.ZodType>;
  if (hasMore === undefined || nextCursor === undefined) return null;
  for (const [items, list] of Object.entries(others)) {
    if (!(list instanceof z.ZodArray)) continue;
    // Not the registry of names: with it, parts of a schema would be references.
    const item = z.toJSONSchema(list.element as z.ZodType, { io: 'output', metadata: z.registry() });
    return { items, columns: columnsOf(formsOf(item), []) };
  }
  return null;
}

/**
 * Columns of a value by its forms. Objects have a column for each member of any form; objects with members of any name,
 * lists of objects, and values of mixed kinds are columns of JSON.
 */
function columnsOf(forms: readonly Schema[], path: readonly string[]): Column[] {
  const column = (holds: Column['holds']): Column[] => [{ name: path.join('.'), path, holds }];
  if (forms.every(isScalar)) return column('value');
  if (forms.every(isListOfScalars)) return column('values');
  if (!forms.every(isClosedObject)) return column('json');
  const names = new Set(forms.flatMap(({ properties = {} }) => Object.keys(properties)));
  return [...names].flatMap((name) =>
    columnsOf(
      forms.flatMap(({ properties = {} }) => formsOf(properties[name])),
      [...path, name],
    ),
  );
}

/** The possible forms of a value besides null. */
function formsOf(schema: Schema | boolean | undefined): Schema[] {
  if (typeof schema !== 'object') return [];
  const parts = schema.anyOf ?? schema.oneOf ?? schema.allOf;
  if (parts !== undefined) return parts.flatMap(formsOf);
  return schema.type === 'null' ? [] : [schema];
}

const scalars = new Set<unknown>(['string', 'number', 'integer', 'boolean', 'null']);

function isScalar({ type }: Schema): boolean {
  const types: unknown[] = [type].flat();
  return types.every((name) => scalars.has(name));
}

function isListOfScalars({ type, items }: Schema): boolean {
  return (
    type === 'array' && !Array.isArray(items) && typeof items === 'object' && formsOf(items).every(isScalar)
  );
}

function isClosedObject({ type, additionalProperties = false }: Schema): boolean {
  return type === 'object' && additionalProperties === false;
}

/** The cells of an item; null for an absent member and for null. */
export function cellsOf({ columns }: Table, item: unknown): (string | number | null)[] {
  return columns.map(({ path, holds }) => cellOf(valueAt(item, path), holds));
}

function valueAt(item: unknown, path: readonly string[]): unknown {
  let value = item;
  for (const name of path) value = (value as Record<string, unknown> | null | undefined)?.[name];
  return value;
}

function cellOf(value: unknown, holds: Column['holds']): string | number | null {
  if (value === null || value === undefined) return null;
  if (typeof value === 'number') return value;
  if (typeof value === 'string' && holds !== 'json') return value;
  return holds === 'values' && Array.isArray(value) ? value.join('; ') : JSON.stringify(value);
}

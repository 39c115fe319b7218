import { isFields, listOf, type Fields } from '@gatehouse/kit/fields';
import { maxListLevels } from '../../bounds.ts';
import { RawJson } from '../../wire/json-text.ts';

/** A schema without a clear meaning, accepted by no provider. */
export class Unusable extends Error {}

/** The place of a schema in the whole one. */
interface Where {
  /** Null for the whole one. */
  outer: Where | null;
  name: string;
  references: Reference[];
}

/** A reference in a schema. */
export interface Reference {
  /** The schema with it as `$ref`. */
  holder: Fields;
  where: Where;
}

/** The place for people: `input_schema.properties.city`. */
export function placeOf({ outer, name }: Pick<Where, 'outer' | 'name'>): string {
  return outer === null ? name : `${placeOf(outer)}.${name.slice(0, 80)}`;
}

/**
 * Mends a schema and all schemas within it where the server's meaning is clear, for readers knowing only the draft
 * 2020-12 of JSON Schema. Returns the references as well, without following them. Throws `Unusable`.
 */
export function mendedSchema(schema: Fields): { schema: Fields; references: Reference[] } {
  const references: Reference[] = [];
  return { schema: mendedFields(schema, { outer: null, name: 'input_schema', references }), references };
}

const types = new Set(['object', 'array', 'string', 'number', 'integer', 'boolean', 'null']);
/** Names of types in other languages. */
const namesOfTypes = {
  string:
    'str text char varchar date datetime date-time time uuid uri url email password bytes byte binary base64 file',
  integer: 'int int8 int16 int32 int64 uint uint8 uint16 uint32 uint64 long short bigint',
  number: 'float float32 float64 double decimal num',
  array: 'list tuple set',
  object: 'dict map record json struct',
  boolean: 'bool',
  null: 'none nil',
};
const otherTypes: ReadonlyMap<string, string> = new Map(
  Object.entries(namesOfTypes).flatMap(([type, names]) =>
    names.split(' ').map((name) => [name, type] as const),
  ),
);
/** Names allowing every type, or leaving it to `enum`. */
const anyType = new Set(['any', 'mixed', 'unknown', 'unspecified', 'type_unspecified', 'enum']);

/** Returns the value of a member as it should be; undefined to leave it out. */
type Mend = (value: unknown, where: Where, name: string) => unknown;

const mends: ReadonlyMap<string, Mend> = new Map([
  ...membersOf('anyOf oneOf allOf prefixItems', mendedList),
  ...membersOf('patternProperties $defs definitions dependentSchemas', mendedMap),
  ...membersOf('not if then else contains propertyNames unevaluatedProperties unevaluatedItems', mendedInner),
  ...membersOf('additionalProperties', (value, where, name) => {
    const flag = flagOf(value);
    return flag === undefined ? undefined : mendedInner(flag, where, name);
  }),
  // They only describe.
  ...membersOf('title description $comment format contentEncoding contentMediaType', (value) =>
    typeof value === 'string' ? value : undefined,
  ),
  ...membersOf('uniqueItems deprecated readOnly writeOnly', (value) => {
    const flag = flagOf(value);
    return typeof flag === 'boolean' ? flag : undefined;
  }),
  ...membersOf('minimum maximum multipleOf', mendedNumber),
  ...membersOf('minLength maxLength minItems maxItems minProperties maxProperties', mendedNumber),
  ...membersOf('exclusiveMinimum exclusiveMaximum', (value, where, name) => {
    const flag = flagOf(value);
    return typeof flag === 'boolean' ? flag : mendedNumber(value, where, name);
  }),
  ...membersOf('pattern', (value, where, name) => {
    if (typeof value === 'string') return value;
    assertNull(value, where, name);
    return undefined;
  }),
  ...membersOf('enum', (value) => {
    const list = new Set(value === null ? [] : [value].flat(1));
    return list.size === 0 ? undefined : [...list];
  }),
  ...membersOf('$ref', (value) => value ?? undefined),
]);

function membersOf(names: string, mend: Mend): [string, Mend][] {
  return names.split(' ').map((name) => [name, mend]);
}

/** A schema within another: booleans are schemas, too. */
function mended(schema: unknown, where: Where): Fields | boolean {
  if (typeof schema === 'boolean') return schema;
  if (schema === null || schema === undefined) return {};
  if (typeof schema === 'string') return mendedFields({ type: schema }, where);
  if (!isFields(schema)) throw new Unusable(`${placeOf(where)} is not a schema.`);
  return mendedFields(schema, where);
}

function mendedFields(schema: Fields, where: Where): Fields {
  const { type, properties, required, items, additionalItems, ...others } = schema;
  const result: Fields = {};
  for (const [name, value] of Object.entries(others)) {
    const mend = mends.get(name);
    const after = mend === undefined ? value : mend(value, where, name);
    // An assignment to `__proto__` would be no member.
    if (after !== undefined && name !== '__proto__') result[name] = after;
  }
  mendExclusive(result, 'exclusiveMinimum', 'minimum');
  mendExclusive(result, 'exclusiveMaximum', 'maximum');
  if (properties !== undefined && properties !== null) mendProperties(result, properties, where);
  mendRequired(result, required);
  if (items !== undefined || additionalItems !== undefined)
    mendItems(result, { items, additionalItems }, where);
  if (type !== undefined && type !== null) mendType(result, type, where);
  const ordered = inOrderOf(schema, result);
  if (ordered['$ref'] !== undefined) where.references.push({ holder: ordered, where });
  return ordered;
}

/** The members of a mended schema in the order of its server, with the new ones behind them. */
export function inOrderOf(schema: Fields, mended: Fields): Fields {
  const names = Object.keys(schema).filter((name) => Object.hasOwn(mended, name));
  return { ...Object.fromEntries(names.map((name) => [name, mended[name]])), ...mended };
}

function within(outer: Where, name: string): Where {
  return { outer, name, references: outer.references };
}

function mendedInner(schema: unknown, where: Where, name: string): Fields | boolean {
  return mended(schema, within(where, name));
}

function mendedList(value: unknown, where: Where, name: string): unknown {
  const list = isFields(value) ? [value] : listOf(value);
  if (list.length === 0) return undefined;
  return list.map((each, index) => mended(each, within(where, `${name}[${index}]`)));
}

function mendedMap(value: unknown, where: Where, name: string): unknown {
  if (!isFields(value)) return undefined;
  const at = within(where, name);
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, mended(each, within(at, key))]));
}

function mendedNumber(value: unknown, where: Where, name: string): number | RawJson | undefined {
  if (typeof value === 'number' || value instanceof RawJson) return value;
  const isNumber = typeof value === 'string' && /^\s*-?\d+(?:\.\d+)?\s*$/.test(value);
  if (isNumber) return Number(value);
  assertNull(value, where, name);
  return undefined;
}

function assertNull(value: unknown, where: Where, name: string): void {
  if (value !== null) throw new Unusable(`${placeOf(where)}.${name} has the wrong type.`);
}

/** In draft 4 they are flags beside a limit. */
function mendExclusive(schema: Fields, name: string, limit: string): void {
  const flag = schema[name];
  if (typeof flag !== 'boolean') return;
  Reflect.deleteProperty(schema, name);
  if (!flag || schema[limit] === undefined) return;
  schema[name] = schema[limit];
  Reflect.deleteProperty(schema, limit);
}

/** The end of a type with too many levels of lists, which is an unknown type. */
const tooManyLevels = '[]'.repeat(maxListLevels + 1);

function mendType(schema: Fields, value: unknown, where: Where): void {
  const isList = typeof value === 'string' && value.endsWith('[]') && !value.endsWith(tooManyLevels);
  const element = isList ? value.slice(0, -2) : undefined;
  if (element !== undefined) schema['items'] ??= mended(element, within(where, 'items'));
  const names = element === undefined ? typesOf(value, where) : ['array'];
  const known = [...new Set(names.filter((name) => name !== null))];
  if (known.length === 0 || names.includes(null)) return;
  schema['type'] = known.length === 1 ? known[0] : known;
  if (known.includes('array')) schema['items'] ??= {};
}

/** Null for a name allowing every type. */
function typesOf(value: unknown, where: Where): (string | null)[] {
  const names: unknown[] = typeof value === 'string' ? value.split('|') : [value].flat();
  return names.map((name) => typeOf(name, where));
}

function typeOf(name: unknown, where: Where): string | null {
  const plain = typeof name === 'string' ? name.trim().toLowerCase() : '';
  if (types.has(plain)) return plain;
  if (anyType.has(plain)) return null;
  const other = otherTypes.get(plain);
  if (other === undefined) throw new Unusable(`${placeOf(where)} has an unknown type.`);
  return other;
}

/** Until draft 2019-09, a list in `items` was what is `prefixItems` since, and `additionalItems` what is `items`. */
function mendItems(
  schema: Fields,
  { items, additionalItems }: { items: unknown; additionalItems: unknown },
  where: Where,
): void {
  const list = Array.isArray(items) ? (items as unknown[]) : null;
  if (list !== null && list.length > 0)
    schema['prefixItems'] = list.map((item, index) => mended(item, within(where, `items[${index}]`)));
  const others = list === null ? items : flagOf(additionalItems);
  if (others !== undefined && others !== null) schema['items'] = mended(others, within(where, 'items'));
}

/**
 * Properties, with `required` of draft 3 in each of them, or with the list of required names put among them by a
 * server.
 */
function mendProperties(schema: Fields, value: unknown, where: Where): void {
  const properties = propertiesOf(value, where);
  const at = within(where, 'properties');
  const required: string[] = [];
  const result: [string, Fields | boolean][] = [];
  for (const [name, each] of Object.entries(properties)) {
    if (name === 'required' && isNames(each)) {
      required.push(...each);
      continue;
    }
    if (isFields(each) && each['required'] === true) required.push(name);
    result.push([name, mended(each, within(at, name))]);
  }
  schema['properties'] = Object.fromEntries(result);
  if (required.length > 0) schema['required'] = required;
}

/** PHP writes an empty object as a list; some servers write a list of named properties. */
function propertiesOf(value: unknown, where: Where): Fields {
  if (isFields(value)) return value;
  const list = Array.isArray(value) ? (value as unknown[]) : null;
  if (list?.every((each) => isFields(each) && typeof each['name'] === 'string'))
    return Object.fromEntries((list as Fields[]).map(({ name, ...property }) => [String(name), property]));
  throw new Unusable(`${placeOf(where)}.properties is not an object.`);
}

/** A list of names, each once; nothing else. */
function mendRequired(schema: Fields, value: unknown): void {
  if (value === undefined && schema['required'] === undefined) return;
  const names = [
    ...(Array.isArray(schema['required']) ? (schema['required'] as string[]) : []),
    ...(isNames(value) ? value : typeof value === 'string' ? [value] : []),
  ];
  delete schema['required'];
  if (names.length > 0) schema['required'] = [...new Set(names)];
}

/** Undefined for null. */
function flagOf(value: unknown): unknown {
  if (value === null) return undefined;
  return value === 'true' || value === 'false' ? value === 'true' : value;
}

function isNames(value: unknown): value is string[] {
  return Array.isArray(value) && value.every((name) => typeof name === 'string');
}

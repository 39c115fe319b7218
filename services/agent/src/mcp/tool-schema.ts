import { isFields, listOf, type Fields } from '@gatehouse/kit/fields';

/** Schemas of tools' arguments as providers take them: JSON Schema with an object at its top. */

/** A schema that models can be given, or why there is none. */
export type JudgedSchema = { schema: Fields; reason: null } | { schema: null; reason: string };

/**
 * Mends a schema where it is clear what its server means, since providers refuse a whole request for one schema. What is
 * right stays as it is.
 */
export function judgedSchema(schema: Fields): JudgedSchema {
  try {
    return {
      schema: topOf(mended(schema, { root: schema, place: 'input_schema' }) as Fields, schema),
      reason: null,
    };
  } catch (error) {
    if (error instanceof Unusable) return { schema: null, reason: error.message };
    if (error instanceof RangeError) return { schema: null, reason: 'input_schema is nested too deeply.' };
    throw error;
  }
}

class Unusable extends Error {}

interface Where {
  /** The whole schema, in which references are looked up. */
  root: Fields;
  /** For people: `input_schema.properties.city`. */
  place: string;
}

const types = new Set(['object', 'array', 'string', 'number', 'integer', 'boolean', 'null']);
/** Names of types in other languages. */
const otherTypes: ReadonlyMap<string, string> = new Map([
  ...['str', 'text', 'char', 'date', 'datetime', 'uuid', 'uri', 'url'].map(
    (name) => [name, 'string'] as const,
  ),
  ...['int', 'int32', 'int64', 'long', 'short'].map((name) => [name, 'integer'] as const),
  ...['float', 'double', 'decimal', 'num'].map((name) => [name, 'number'] as const),
  ...['list', 'tuple', 'set'].map((name) => [name, 'array'] as const),
  ...['dict', 'map', 'record', 'json', 'struct'].map((name) => [name, 'object'] as const),
  ...([
    ['bool', 'boolean'],
    ['none', 'null'],
    ['nil', 'null'],
  ] as const),
]);
/** Names that allow every type. */
const anyType = new Set(['any', 'mixed', 'unknown', 'unspecified', 'type_unspecified']);

const listsOfSchemas = ['anyOf', 'oneOf', 'allOf', 'prefixItems'];
const mapsOfSchemas = ['patternProperties', '$defs', 'definitions', 'dependentSchemas'];
const schemas = [
  'not',
  'if',
  'then',
  'else',
  'contains',
  'propertyNames',
  'additionalItems',
  'unevaluatedProperties',
  'unevaluatedItems',
];

/** A schema within another: booleans are schemas, too. */
function mended(schema: unknown, where: Where): Fields | boolean {
  if (typeof schema === 'boolean') return schema;
  if (schema === null || schema === undefined) return {};
  if (typeof schema === 'string') return typed({}, [typeOf(schema, where)]);
  if (!isFields(schema)) throw new Unusable(`${where.place} is not a schema.`);
  const { type, properties, required, items, additionalProperties, enum: values, ...others } = schema;
  const result: Fields = { ...others };
  for (const name of listsOfSchemas) if (name in others) mendList(result, name, where);
  for (const name of mapsOfSchemas) if (name in others) mendMap(result, name, where);
  for (const name of schemas) if (name in others) result[name] = mended(others[name], within(where, name));
  if ('$ref' in others) assertFound(others['$ref'], where);
  if (properties !== undefined && properties !== null) mendProperties(result, properties, where);
  mendRequired(result, required);
  if (items !== undefined && items !== null)
    result['items'] = Array.isArray(items)
      ? items.map((item, index) => mended(item, within(where, `items[${index}]`)))
      : mended(items, within(where, 'items'));
  const flag = flagOf(additionalProperties);
  if (flag !== undefined)
    result['additionalProperties'] = mended(flag, within(where, 'additionalProperties'));
  if (values !== undefined && values !== null) {
    const list = Array.isArray(values) ? values : [values];
    if (list.length > 0) result['enum'] = list;
  }
  return typed(result, typesOf(type, where));
}

function within({ root, place }: Where, name: string): Where {
  return { root, place: `${place}.${name.slice(0, 64)}` };
}

function typed(schema: Fields, names: readonly (string | null)[]): Fields {
  const known = names.filter((name) => name !== null);
  if (known.length === 0 || known.length < names.length) return schema;
  const withType = { type: known.length === 1 ? known[0] : known, ...schema };
  const needsItems = known.includes('array') && !('items' in schema) && !('prefixItems' in schema);
  return needsItems ? { ...withType, items: {} } : withType;
}

/** Null for a name that allows every type. */
function typesOf(type: unknown, where: Where): (string | null)[] {
  if (type === undefined || type === null) return [];
  return (Array.isArray(type) ? (type as unknown[]) : [type]).map((name) => typeOf(name, where));
}

function typeOf(name: unknown, { place }: Where): string | null {
  const plain = typeof name === 'string' ? name.trim().toLowerCase() : '';
  if (types.has(plain)) return plain;
  if (anyType.has(plain)) return null;
  const other = otherTypes.get(plain);
  if (other === undefined) throw new Unusable(`${place} has an unknown type.`);
  return other;
}

function mendList(schema: Fields, name: string, where: Where): void {
  const given = schema[name];
  const list = isFields(given) ? [given] : listOf(given);
  if (list.length === 0) Reflect.deleteProperty(schema, name);
  else schema[name] = list.map((each, index) => mended(each, within(where, `${name}[${index}]`)));
}

function mendMap(schema: Fields, name: string, where: Where): void {
  const given = schema[name];
  if (isFields(given))
    schema[name] = Object.fromEntries(
      Object.entries(given).map(([key, each]) => [key, mended(each, within(where, `${name}.${key}`))]),
    );
  else Reflect.deleteProperty(schema, name);
}

/** Properties, with `required` of draft 3 in each of them, or of a server that has put the list among them. */
function mendProperties(schema: Fields, given: unknown, where: Where): void {
  const properties = propertiesOf(given, where);
  const required: string[] = [];
  const result: [string, Fields | boolean][] = [];
  for (const [name, each] of Object.entries(properties)) {
    if (name === 'required' && isNames(each)) {
      required.push(...each);
      continue;
    }
    if (isFields(each) && each['required'] === true) required.push(name);
    result.push([name, mended(each, within(where, `properties.${name}`))]);
  }
  schema['properties'] = Object.fromEntries(result);
  if (required.length > 0) schema['required'] = required;
}

/** PHP writes an empty object as a list; some servers write a list of named properties. */
function propertiesOf(given: unknown, { place }: Where): Fields {
  if (isFields(given)) return given;
  const list = Array.isArray(given) ? (given as unknown[]) : null;
  if (list?.every((each) => isFields(each) && typeof each['name'] === 'string'))
    return Object.fromEntries((list as Fields[]).map(({ name, ...property }) => [String(name), property]));
  throw new Unusable(`${place}.properties is not an object.`);
}

/** A list of names, each once; nothing else. */
function mendRequired(schema: Fields, given: unknown): void {
  const names = [
    ...(Array.isArray(schema['required']) ? (schema['required'] as string[]) : []),
    ...(isNames(given) ? given : typeof given === 'string' ? [given] : []),
  ];
  delete schema['required'];
  if (names.length > 0) schema['required'] = [...new Set(names)];
}

function flagOf(value: unknown): unknown {
  if (value === null) return undefined;
  return value === 'true' || value === 'false' ? value === 'true' : value;
}

function assertFound(ref: unknown, { root, place }: Where): void {
  if (typeof ref !== 'string' || found(root, ref) === undefined)
    throw new Unusable(`${place} has a reference that leads nowhere.`);
}

/** Follows a JSON pointer in a fragment (RFC 6901). */
function found(root: Fields, ref: string): unknown {
  if (ref === '#') return root;
  if (!ref.startsWith('#/')) return undefined;
  let at: unknown = root;
  for (const step of ref.slice(2).split('/')) {
    const name = decoded(step).replaceAll('~1', '/').replaceAll('~0', '~');
    if (typeof at !== 'object' || at === null || !Object.hasOwn(at, name)) return undefined;
    at = (at as Fields)[name];
  }
  return at;
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** The top, which providers take as an object with properties and nothing else. */
function topOf(schema: Fields, root: Fields): Fields {
  const whole = merged(schema, root, 0);
  const { type = 'object', properties = {}, ...others } = whole;
  const isObject = type === 'object' || (Array.isArray(type) && type.includes('object'));
  if (!isObject) throw new Unusable('input_schema is not that of an object.');
  if ('not' in others || 'enum' in others || 'const' in others)
    throw new Unusable('input_schema must not have not, enum or const at its top.');
  return { type: 'object', properties, ...others };
}

/** References in references at the top. */
const maxReferences = 8;

/** The schema with those that it refers to, or is made of, put into it. */
function merged(schema: Fields, root: Fields, depth: number): Fields {
  const { $ref: ref, allOf, anyOf, oneOf, ...own } = schema;
  let result: Fields = own;
  const add = (other: unknown, requires: (names: readonly string[]) => readonly string[]): void => {
    if (!isFields(other)) throw new Unusable('input_schema is not that of an object.');
    const one = topOf(merged(other, root, depth + 1), root);
    const required = requires(isNames(one['required']) ? one['required'] : []);
    const names = [...new Set([...(isNames(result['required']) ? result['required'] : []), ...required])];
    result = {
      ...result,
      type: 'object',
      properties: {
        ...(one['properties'] as Fields),
        ...(isFields(result['properties']) ? result['properties'] : {}),
      },
      ...(names.length > 0 && { required: names }),
    };
  };
  if (depth > maxReferences) throw new Unusable('input_schema has too many references.');
  if (typeof ref === 'string') add(mended(found(root, ref), { root, place: ref }), (names) => names);
  for (const one of listOf(allOf)) add(one, (names) => names);
  for (const choices of [anyOf, oneOf]) {
    const all = listOf(choices);
    // A call may fit any of them: only what all of them require is required.
    const lists = all.map((one) => (isFields(one) && isNames(one['required']) ? one['required'] : []));
    for (const one of all)
      add(one, (names) => names.filter((name) => lists.every((list) => list.includes(name))));
  }
  return result;
}

function isNames(value: unknown): value is string[] {
  return Array.isArray(value) && value.every((name) => typeof name === 'string');
}

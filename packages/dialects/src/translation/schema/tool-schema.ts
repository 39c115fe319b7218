import { isFields, listOf, type Fields } from '@gatehouse/kit/fields';
import { inOrderOf, mendedSchema, placeOf, Unusable, type Reference } from './mended-schema.ts';
import { maxMergedChars, maxReferenceDepth, maxSchemaMembers } from '../../bounds.ts';

/** Schemas of tools' arguments as providers take them: JSON Schema with an object at its top. */

/** A schema fit for models, or the reason against it. */
export type JudgedSchema = { schema: Fields; reason: null } | { schema: null; reason: string };

/**
 * Mends a schema where it is clear what its server means, since providers refuse a whole request for one schema.
 * Correct parts stay as they are. Takes time in proportion to the schema: 64 KiB take up to 20 ms.
 */
export function judgedSchema(schema: Fields): JudgedSchema {
  try {
    const { schema: whole, references } = mendedSchema(schema);
    const top = topOf(whole);
    lead(references, whole, top);
    return { schema: top, reason: null };
  } catch (error) {
    if (error instanceof Unusable) return { schema: null, reason: error.message };
    if (error instanceof RangeError) return { schema: null, reason: 'input_schema is nested too deeply.' };
    throw error;
  }
}

type Schema = Fields | boolean;

/** Members of an object by its schema and by the schemas it refers to or consists of. */
interface Members {
  properties: Map<string, Schema>;
  required: Set<string>;
}

/** The top, which providers take as an object with properties and nothing else. */
function topOf(schema: Fields): Fields {
  const { $ref: _ref, allOf: _all, anyOf: _any, oneOf: _one, ...siblings } = schema;
  const { properties, required } = new Merger(schema).membersOf(schema);
  return inOrderOf(schema, {
    ...siblings,
    type: 'object',
    properties: Object.fromEntries(properties),
    ...(required.size > 0 && { required: [...required] }),
  });
}

/** Puts the parts of a schema together. */
class Merger {
  readonly #root: Fields;
  #left = maxSchemaMembers;
  #leftChars = maxMergedChars;
  readonly #texts = new Map<Schema, string>();
  readonly #resolved = new Map<unknown, Schema | undefined>();

  constructor(root: Fields) {
    this.#root = root;
  }

  membersOf(schema: unknown, depth = 0): Members {
    if (schema === true) return { properties: new Map(), required: new Set() };
    if (!isFields(schema) || !isOfObject(schema))
      throw new Unusable('input_schema is not that of an object.');
    if ('not' in schema || 'enum' in schema || 'const' in schema)
      throw new Unusable('input_schema must not have not, enum or const at its top.');
    const { properties = {}, required, $ref: ref, allOf, anyOf, oneOf } = schema;
    const entries = Object.entries(properties as Record<string, Schema>);
    this.#left -= 1 + entries.length + listOf(required).length;
    if (depth > maxReferenceDepth || this.#left < 0)
      throw new Unusable('input_schema has too many references.');
    const parts: Members[] = [
      { properties: new Map(entries), required: new Set(listOf(required) as string[]) },
    ];
    if (ref !== undefined) parts.push(this.membersOf(this.#find(ref), depth + 1));
    for (const part of listOf(allOf)) parts.push(this.membersOf(part, depth + 1));
    for (const choices of [anyOf, oneOf]) {
      // No call has null as its arguments.
      const possible = listOf(choices).filter((choice) => !isFields(choice) || choice['type'] !== 'null');
      this.#left -= listOf(choices).length - possible.length;
      if (possible.length > 0)
        parts.push(this.#oneOf(possible.map((choice) => this.membersOf(choice, depth + 1))));
    }
    return this.#all(parts);
  }

  /** Once for each reference, however often it is written. */
  #find(ref: unknown): Schema | undefined {
    if (!this.#resolved.has(ref)) this.#resolved.set(ref, resolve(this.#root, ref));
    return this.#resolved.get(ref);
  }

  /** The members where all of the parts hold. */
  #all([first, ...others]: readonly Members[]): Members {
    const result = first ?? { properties: new Map(), required: new Set() };
    if (others.length === 0) return result;
    const required = [result, ...others].flatMap((part) => [...part.required]);
    return { properties: this.#joined([result, ...others], 'allOf'), required: new Set(required) };
  }

  /** The members where any of the parts holds: only what all of them require is required. */
  #oneOf(parts: readonly Members[]): Members {
    const counts = new Map<string, number>();
    for (const { required } of parts)
      for (const name of required) counts.set(name, (counts.get(name) ?? 0) + 1);
    const required = [...counts].filter(([, count]) => count === parts.length).map(([name]) => name);
    return { properties: this.#joined(parts, 'anyOf'), required: new Set(required) };
  }

  /** The properties of all parts. Several different ones of a name are joined under `keyword`. */
  #joined(parts: readonly Members[], keyword: 'allOf' | 'anyOf'): Map<string, Schema> {
    const different = new Map<string, Map<string, Schema>>();
    for (const { properties } of parts)
      for (const [name, schema] of properties) {
        const known = different.get(name) ?? new Map<string, Schema>();
        known.set(this.#textOf(schema), schema);
        different.set(name, known);
      }
    const entries = [...different].map(([name, known]): [string, Schema] => {
      const [first = true, ...others] = known.values();
      return [name, others.length === 0 ? first : { [keyword]: [first, ...others] }];
    });
    return new Map(entries);
  }

  /** Once for each schema, however often it is referred to. */
  #textOf(schema: Schema): string {
    const known = this.#texts.get(schema);
    if (known !== undefined) return known;
    const text = JSON.stringify(schema);
    this.#leftChars -= text.length;
    if (this.#leftChars < 0) throw new Unusable('input_schema has too many references.');
    this.#texts.set(schema, text);
    return text;
  }
}

function isOfObject({ type = 'object' }: Fields): boolean {
  return type === 'object' || (Array.isArray(type) && type.includes('object'));
}

/**
 * Makes each reference lead to a schema of `top`: what it leads to in `whole`, which the top may have lost, becomes a
 * definition.
 */
function lead(references: readonly Reference[], whole: Fields, top: Fields): void {
  const definitions = new Map(Object.entries(isFields(top['$defs']) ? top['$defs'] : {}));
  // By the schema: a pointer has many spellings, as `#/a` and `#/%61`.
  const paths = new Map<unknown, string>();
  let number = definitions.size;
  let leftChars = maxMergedChars;
  const define = (ref: string, target: Schema): string => {
    leftChars -= JSON.stringify(target).length;
    if (leftChars < 0) throw new Unusable('input_schema has too many references.');
    const plain = ref.replaceAll(/[^\w-]+/g, '_');
    let name = plain;
    // The number only grows, so all names together take one try for each definition.
    for (; definitions.has(name); number += 1) name = `${plain}_${number}`;
    definitions.set(name, target);
    return `#/$defs/${name}`;
  };
  for (const { holder, where } of references) {
    // The top's own is put into it.
    if (holder === whole) continue;
    const { $ref: ref } = holder;
    const target = resolve(whole, ref);
    if (typeof ref !== 'string' || target === undefined)
      throw new Unusable(`${placeOf(where)} has a reference that leads nowhere.`);
    const isThere = (path: string): boolean => isSchema(at(top, path));
    const key = isFields(target) ? target : ref;
    const path = paths.get(key) ?? pathsOf(ref).find(isThere) ?? define(ref, target);
    paths.set(key, path);
    holder['$ref'] = path;
  }
  if (definitions.size > 0) top['$defs'] = Object.fromEntries(definitions);
}

/** The target of a reference, also by the name of the place of definitions in other documents. */
function resolve(root: Fields, ref: unknown): Schema | undefined {
  if (typeof ref !== 'string') return undefined;
  return pathsOf(ref)
    .map((path) => at(root, path))
    .find(isSchema);
}

function pathsOf(ref: string): string[] {
  const [, name] = /^#\/(?:\$defs|definitions|components\/schemas)\/([^/]+)$/.exec(ref) ?? [];
  return name === undefined ? [ref] : [ref, `#/$defs/${name}`, `#/definitions/${name}`];
}

/** Follows a JSON pointer in a fragment (RFC 6901). */
function at(root: Fields, ref: string): unknown {
  if (ref === '#') return root;
  if (!ref.startsWith('#/')) return undefined;
  let value: unknown = root;
  for (const step of ref.slice(2).split('/')) {
    const name = decoded(step).replaceAll('~1', '/').replaceAll('~0', '~');
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, name)) return undefined;
    value = (value as Fields)[name];
  }
  return value;
}

function isSchema(value: unknown): value is Schema {
  return isFields(value) || typeof value === 'boolean';
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

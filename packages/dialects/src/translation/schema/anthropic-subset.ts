import { maxSchemaObjects } from '../../bounds.ts';
import { RawJson } from '../../wire/json-text.ts';
import { isList, isObject, scalarOf, schemaTree, textOf, treeText } from './schema-tree.ts';
import type { JsonObject, JsonTree } from './schema-tree.ts';

/** A schema in the part of JSON Schema by which Anthropic constrains outputs, and calls of strict tools. */
export interface AnthropicSubset {
  schemaJson: string;
  isChanged: boolean;
  /** The number of properties that are not required. */
  optional: number;
  /** The number of schemas with several types. */
  unions: number;
}

/** A schema without a useful form in the subset. */
class Outside extends Error {}

/**
 * Closes the objects of a schema, and moves keywords outside of the subset into descriptions. Null for a schema that
 * can't constrain an answer: a recursive one, one of any value, one of an object whose names the model chooses.
 * Anthropic's own SDKs do the same (`lib/transform-json-schema.mjs` of `@anthropic-ai/sdk`), but close objects of the
 * last kind, so that `{}` is their only value, and fail for values of any type.
 * https://platform.claude.com/docs/en/build-with-claude/structured-outputs#json-schema-limitations
 *
 * `schemaJson`: valid JSON.
 */
export function anthropicSubset(schemaJson: string): AnthropicSubset | null {
  const root = schemaTree(schemaJson);
  if (!isObject(root)) return null;
  const writer = new SubsetWriter(root);
  try {
    const tree = writer.schema(root);
    const { isChanged, optional, unions } = writer;
    return { schemaJson: isChanged ? treeText(tree) : schemaJson, isChanged, optional, unions };
  } catch (error) {
    if (error instanceof Outside) return null;
    throw error;
  }
}

const types = new Set<unknown>('object array string number integer boolean null'.split(' '));
const stringFormats = new Set('date-time time date duration email hostname uri ipv4 ipv6 uuid'.split(' '));
/** Keywords left out without a note in the description: they allow and forbid no value, or stand elsewhere. */
const silent = new Set('$schema $id $anchor $comment type title description'.split(' '));
const definitions = ['$defs', 'definitions'];
/** Keywords of one type. */
const typed: ReadonlyMap<string | null, readonly string[]> = new Map([
  [
    'object',
    'properties required additionalProperties patternProperties minProperties maxProperties'.split(' '),
  ],
  ['array', 'items prefixItems minItems maxItems uniqueItems contains'.split(' ')],
]);
const closed = new RawJson('false');

class SubsetWriter {
  isChanged = false;
  optional = 0;
  unions = 0;
  #objects = 0;
  readonly #root: JsonObject;
  /** Definitions by their references: whether all of the references in them were followed. */
  readonly #followed = new Map<string, boolean>();

  constructor(root: JsonObject) {
    this.#root = root;
  }

  /** `outerType`: of the schema around a choice. */
  schema(tree: JsonTree, outerType?: JsonTree): JsonObject {
    this.#objects += 1;
    if (!isObject(tree) || this.#objects > maxSchemaObjects) throw new Outside();
    if (tree.has('$ref')) return this.#reference(tree);
    const whole = onePart(tree);
    if (whole !== null) {
      this.isChanged = true;
      return this.schema(whole, outerType);
    }
    const type = tree.get('type') ?? impliedType(tree) ?? outerType;
    const literals = literalsIn(tree);
    if (literals.length === 0 && isMixed(type)) {
      this.isChanged = true;
      return this.schema(byTypes(tree, type));
    }
    const members = new Map<string, JsonTree>();
    for (const name of ['title', 'description'])
      if (textOf(tree.get(name)) !== null) keep(members, tree, name);
    for (const name of literals) keep(members, tree, name);
    const choice = literals.length === 0 ? choiceIn(tree) : null;
    if (choice !== null) members.set(choice.name, this.#choices(choice.schemas, type));
    else if (literals.length === 0) this.#typed(members, tree, type);
    else if (textOf(type) !== null && tree.has('type')) keep(members, tree, 'type');
    for (const name of definitions) {
      const named = tree.get(name);
      if (isObject(named)) members.set(name, this.#named(named));
    }
    return this.#written(tree, members);
  }

  #choices(schemas: readonly JsonTree[], type: JsonTree | undefined): JsonTree {
    this.unions += 1;
    return schemas.map((each) => this.schema(each, type));
  }

  #named(schemas: JsonObject): JsonObject {
    return new Map([...schemas].map(([name, each]) => [name, this.schema(each)]));
  }

  /** Keywords of a schema with a type of its own. */
  #typed(members: Map<string, JsonTree>, tree: JsonObject, type: JsonTree | undefined): void {
    if (type === undefined || ![type].flat().every((each) => types.has(textOf(each)))) throw new Outside();
    members.set('type', type);
    if (isList(type)) this.unions += 1;
    const kind = textOf(type);
    if (kind === 'object') this.#object(members, tree);
    else if (kind === 'array') this.#array(members, tree);
    else if (kind === 'string' && stringFormats.has(textOf(tree.get('format')) ?? ''))
      keep(members, tree, 'format');
  }

  #object(members: Map<string, JsonTree>, tree: JsonObject): void {
    const { properties, isOpen } = propertiesOf(tree);
    if (isOpen) throw new Outside();
    members.set('properties', this.#named(properties));
    const required = tree.get('required');
    const names = isList(required) ? required.filter((each) => properties.has(textOf(each) ?? '')) : [];
    this.optional += Math.max(0, properties.size - new Set(names.map(textOf)).size);
    if (isList(required)) {
      if (names.length < required.length) this.isChanged = true;
      members.set('required', names);
    }
    if (scalarOf(tree.get('additionalProperties')) !== false) this.isChanged = true;
    members.set('additionalProperties', closed);
  }

  #array(members: Map<string, JsonTree>, tree: JsonObject): void {
    const items = tree.get('items');
    if (!isObject(items) || tree.has('prefixItems')) throw new Outside();
    members.set('items', this.schema(items));
    const least = scalarOf(tree.get('minItems'));
    if (least === 0 || least === 1) keep(members, tree, 'minItems');
  }

  /** A reference stands alone, but for the definitions of the whole schema. */
  #reference(tree: JsonObject): JsonObject {
    const ref = textOf(tree.get('$ref'));
    if (ref === null) throw new Outside();
    this.#follow(ref);
    const members = new Map<string, JsonTree>();
    for (const [name, value] of tree)
      if (name === '$ref') members.set(name, value);
      else if (definitions.includes(name) && isObject(value)) members.set(name, this.#named(value));
      else this.isChanged = true;
    return members;
  }

  /** Throws for a reference to elsewhere, and for one by which a schema contains itself. */
  #follow(ref: string): void {
    const isFollowed = this.#followed.get(ref);
    if (isFollowed === true) return;
    const [, place = '', name = ''] = /^#\/(\$defs|definitions)\/([^/~%]+)$/.exec(ref) ?? [];
    const named = this.#root.get(place);
    const target = isObject(named) ? named.get(name) : undefined;
    if (isFollowed === false || target === undefined || this.#followed.size >= maxSchemaObjects)
      throw new Outside();
    this.#followed.set(ref, false);
    for (const each of referencesIn(target)) this.#follow(each);
    this.#followed.set(ref, true);
  }

  /** The schema in the order of its members, with those left out in its description. */
  #written(tree: JsonObject, members: ReadonlyMap<string, JsonTree>): JsonObject {
    const written = new Map<string, JsonTree>();
    const notes: string[] = [];
    for (const [name, value] of tree) {
      const after = members.get(name);
      if (after !== undefined) written.set(name === 'oneOf' ? 'anyOf' : name, after);
      else if (!silent.has(name)) notes.push(`${name}: ${treeText(value)}`);
      if (after === undefined || name === 'oneOf') this.isChanged = true;
    }
    for (const [name, value] of members) {
      if (tree.has(name)) continue;
      this.isChanged = true;
      written.set(name, value);
    }
    if (notes.length === 0) return written;
    const description = textOf(tree.get('description')) ?? '';
    const separator = description === '' ? '' : '\n\n';
    const text = `${description}${separator}{${notes.join(', ')}}`;
    return written.set('description', new RawJson(JSON.stringify(text)));
  }
}

function keep(members: Map<string, JsonTree>, tree: JsonObject, name: string): void {
  const value = tree.get(name);
  if (value !== undefined) members.set(name, value);
}

/** A list of one part, as generators write a reference with siblings; null otherwise. */
function onePart(tree: JsonObject): JsonObject | null {
  const all = tree.get('allOf');
  if (!isList(all)) return null;
  const [part] = all;
  const others = [...tree].filter(([name]) => name !== 'allOf');
  const isAlone = others.every(
    ([name]) => silent.has(name) || name === 'default' || definitions.includes(name),
  );
  if (all.length !== 1 || !isObject(part) || !isAlone) throw new Outside();
  return new Map([...others.filter(([name]) => !part.has(name)), ...part]);
}

function impliedType(tree: JsonObject): JsonTree | undefined {
  if (isObject(tree.get('properties'))) return new RawJson('"object"');
  return isObject(tree.get('items')) ? new RawJson('"array"') : undefined;
}

/** Keywords with values in full, which are scalars. */
function literalsIn(tree: JsonObject): string[] {
  const values = tree.get('enum');
  const isEnum = isList(values) && values.length > 0 && values.every((each) => each instanceof RawJson);
  return [...(isEnum ? ['enum'] : []), ...(tree.get('const') instanceof RawJson ? ['const'] : [])];
}

function isMixed(type: JsonTree | undefined): type is readonly JsonTree[] {
  return isList(type) && type.some((each) => typed.has(textOf(each)));
}

/** A schema of several types, as a choice between schemas of one type each; a repeated type makes no further choice. */
function byTypes(tree: JsonObject, types: readonly JsonTree[]): JsonObject {
  const unique = new Map(types.map((type) => [textOf(type), type]));
  const inner = new Set([...unique.keys()].flatMap((type) => typed.get(type) ?? []));
  const choices = [...unique].map(([type, written]): JsonTree => {
    const keywords = (typed.get(type) ?? []).flatMap((name): [string, JsonTree][] => {
      const value = tree.get(name);
      return value === undefined ? [] : [[name, value]];
    });
    return new Map([['type', written] as const, ...keywords]);
  });
  const outer = [...tree].filter(([name]) => name !== 'type' && !inner.has(name));
  if (outer.some(([name]) => name === 'anyOf' || name === 'oneOf')) throw new Outside();
  return new Map([...outer, ['anyOf', choices]]);
}

/** The choice of a schema without properties of its own. */
function choiceIn(tree: JsonObject): { name: string; schemas: readonly JsonTree[] } | null {
  if (isObject(tree.get('properties'))) return null;
  for (const name of ['anyOf', 'oneOf']) {
    const schemas = tree.get(name);
    if (isList(schemas) && schemas.length > 0) return { name, schemas };
  }
  return null;
}

/** `isOpen`: other names are the point of the object. */
function propertiesOf(tree: JsonObject): { properties: JsonObject; isOpen: boolean } {
  const value = tree.get('properties');
  const properties: JsonObject = isObject(value) ? value : new Map();
  const others = tree.get('additionalProperties');
  const isMap = isObject(others) && others.size > 0;
  const isOpen = isMap || (properties.size === 0 && scalarOf(others) !== false);
  return { properties, isOpen };
}

function referencesIn(tree: JsonTree): string[] {
  if (tree instanceof RawJson) return [];
  if (!isObject(tree)) return tree.flatMap(referencesIn);
  const ref = textOf(tree.get('$ref'));
  return [...(ref === null ? [] : [ref]), ...[...tree.values()].flatMap(referencesIn)];
}

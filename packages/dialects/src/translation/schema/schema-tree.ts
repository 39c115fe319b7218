import { openBrace, openBracket, skipSpace } from '@gatehouse/kit/json-bytes';
import { maxSchemaChars, maxSchemaDepth, maxSchemaMembers } from '../../bounds.ts';
import { elementsOf, objectMembers, valueEnd } from '../../wire/json-members.ts';
import { RawJson } from '../../wire/json-text.ts';

/** A JSON value with its members in order, and the text of its scalars as written. */
export type JsonTree = RawJson | readonly JsonTree[] | JsonObject;
export type JsonObject = ReadonlyMap<string, JsonTree>;

/** The tree of a schema; null for one with too many levels, values or bytes. `schemaJson`: valid JSON. */
export function schemaTree(schemaJson: string): JsonTree | null {
  if (schemaJson.length > maxSchemaChars) return null;
  const json = Buffer.from(schemaJson);
  let values = 0;
  const read = (from: number, depth: number): JsonTree | null => {
    const first = json[from];
    values += 1;
    if (depth > maxSchemaDepth || values > maxSchemaMembers) return null;
    if (first !== openBrace && first !== openBracket)
      return new RawJson(json.toString('utf8', from, valueEnd(json, from)));
    if (first === openBracket) {
      const elements: JsonTree[] = [];
      for (const at of elementsOf(json, from)) {
        const element = read(at, depth + 1);
        if (element === null) return null;
        elements.push(element);
      }
      return elements;
    }
    const members = new Map<string, JsonTree>();
    for (const { name, valueStart } of objectMembers(json, { from, max: maxSchemaMembers })) {
      const value = read(valueStart, depth + 1);
      if (value === null) return null;
      // The last of equal names counts, at its own place.
      members.delete(name);
      members.set(name, value);
    }
    return members;
  };
  return read(skipSpace(json, 0), 0);
}

/** The JSON text of a tree. */
export function treeText(tree: JsonTree): string {
  if (tree instanceof RawJson) return tree.text;
  if (isObject(tree))
    return `{${[...tree].map(([name, each]) => `${JSON.stringify(name)}:${treeText(each)}`).join(',')}}`;
  return `[${tree.map(treeText).join(',')}]`;
}

export function isObject(tree: JsonTree | null | undefined): tree is JsonObject {
  return tree instanceof Map;
}

export function isList(tree: JsonTree | undefined): tree is readonly JsonTree[] {
  return Array.isArray(tree);
}

/** A text, number, boolean or null; undefined for an object or a list. */
export function scalarOf(tree: JsonTree | undefined): unknown {
  return tree instanceof RawJson ? JSON.parse(tree.text) : undefined;
}

export function textOf(tree: JsonTree | undefined): string | null {
  const value = scalarOf(tree);
  return typeof value === 'string' ? value : null;
}

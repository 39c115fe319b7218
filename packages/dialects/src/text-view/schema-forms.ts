import { comma, openBrace, quote, skipSpace } from '@gatehouse/kit/json-bytes';
import type { Edit } from '../wire/json-edits.ts';
import type { TextPlace } from './text-rules.ts';
import { decoded, type Leaf } from './text-walk.ts';

/** Members with the form of a value. */
const formats: ReadonlySet<string> = new Set(['format', 'pattern']);

/** Members with schemas by names, with one schema, and with several. */
const maps: ReadonlySet<string> = new Set([
  ...['properties', 'patternProperties', '$defs', 'definitions', 'dependentSchemas'],
]);
const singles: ReadonlySet<string> = new Set([
  ...[
    'items',
    'additionalItems',
    'additionalProperties',
    'contains',
    'propertyNames',
    'not',
    'if',
    'then',
    'else',
  ],
]);
const lists: ReadonlySet<string> = new Set(['anyOf', 'oneOf', 'allOf', 'prefixItems', 'items']);

/** Whether a string of a schema binds the form of a value, or describes one. */
export function isOfForm({ place, member, type }: Leaf): boolean {
  const isForm = member === 'description' || formats.has(String(member));
  return type === 'string' && isForm && isSchema(place);
}

/** Whether an object is a schema, and no list of names or value in one. */
function isSchema(place: TextPlace): boolean {
  const { parent, name } = place;
  if (place.isList) return false;
  if (parent?.reading !== 'schema') return true;
  if (!parent.isList) return isMap(parent) || (singles.has(name) && isSchema(parent));
  return lists.has(parent.name) && parent.parent !== null && isSchema(parent.parent);
}

function isMap({ parent, name, isList, reading }: TextPlace): boolean {
  return !isList && reading === 'schema' && maps.has(name) && parent !== null && isSchema(parent);
}

/**
 * Moves the forms of a value to its description: a model bound to an address can't write a placeholder. `leaves`: the
 * forms and descriptions of one schema.
 */
export function* formEdits(json: Buffer, leaves: readonly Leaf[]): Generator<Edit> {
  const bound = leaves.filter(({ member }) => member !== 'description');
  const description = leaves.findLast(({ member }) => member === 'description');
  const [first, ...others] = bound.map((leaf) => ({ from: nameFrom(json, leaf), until: leaf.until }));
  if (first === undefined) return;
  const forms = bound.map(({ member, from, until }) => `${member}: ${decoded(json, from, until)}`).join('; ');
  if (description === undefined)
    yield { at: first.from, until: first.until, text: `"description":${JSON.stringify(forms)}` };
  else {
    const at = description.until - 1;
    const text = at === description.from + 1 ? forms : ` (${forms})`;
    yield { at, until: at, text: JSON.stringify(text).slice(1, -1) };
    others.unshift(first);
  }
  for (const part of joined(json, others)) yield removal(json, part);
}

interface MemberRange {
  from: number;
  until: number;
}

/** The beginning of a member. Its name has no quotes. */
function nameFrom(json: Buffer, { from }: Leaf): number {
  return json.lastIndexOf(quote, json.lastIndexOf(quote, from - 1) - 1);
}

/** Members with nothing but a comma between them, as one. */
function joined(json: Buffer, parts: readonly MemberRange[]): MemberRange[] {
  const all: MemberRange[] = [];
  for (const part of parts) {
    const last = all.at(-1);
    if (last !== undefined && behindComma(json, last.until) === part.from) last.until = part.until;
    else all.push({ ...part });
  }
  return all;
}

/** Takes members out with a comma. */
function removal(json: Buffer, { from, until }: MemberRange): Edit {
  const next = behindComma(json, until);
  if (next !== null) return { at: from, until: next, text: '' };
  const before = json.lastIndexOf(comma, from);
  const isFirst = json.lastIndexOf(openBrace, from) > before;
  return { at: isFirst ? from : before, until, text: '' };
}

function behindComma(json: Buffer, from: number): number | null {
  const at = skipSpace(json, from);
  return json[at] === comma ? skipSpace(json, at + 1) : null;
}

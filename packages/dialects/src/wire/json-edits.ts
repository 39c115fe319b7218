import { atOnce, type Steps } from '@gatehouse/kit/cooperative-steps';
import { comma, openBracket, skipSpace } from '@gatehouse/kit/json-bytes';
import { elementsOf, type Member } from './json-members.ts';
import { Pieces } from './pieces.ts';

/** JSON text in parts, of which a buffer is not changed into a string. */
export type Text = string | Buffer | readonly (string | Buffer)[];

/** A change of a JSON text, which keeps every other byte. */
export interface Edit {
  at: number;
  until: number;
  text: Text;
}

/** Changes of a JSON object: edits of its text, and members to be added at its end. */
export interface Changes {
  edits: Edit[];
  added: Text[];
}

/** Adds elements at the end of an array, or puts an array in the place of null. */
export function appendTo(
  body: Buffer,
  { valueStart, valueEnd }: Member,
  elements: string | Buffer,
  edits: Edit[],
): void {
  if (body[valueStart] !== openBracket) {
    edits.push({ at: valueStart, until: valueEnd, text: ['[', elements, ']'] });
    return;
  }
  const at = valueEnd - 1;
  const isEmpty = skipSpace(body, valueStart + 1) === at;
  edits.push({ at, until: at, text: isEmpty ? elements : [',', elements] });
}

/** Takes elements out of an array by their places, each with its comma. */
export function removeFrom(
  body: Buffer,
  { valueStart, valueEnd }: Pick<Member, 'valueStart' | 'valueEnd'>,
  places: ReadonlySet<number>,
  edits: Edit[],
): void {
  const starts = [...elementsOf(body, valueStart)];
  const end = valueEnd - 1;
  let last = starts.length - 1;
  while (places.has(last)) last -= 1;
  for (const place of places)
    if (place < last) edits.push({ at: starts[place] ?? end, until: starts[place + 1] ?? end, text: '' });
  const behind = starts[last + 1];
  if (behind === undefined) return;
  edits.push({ at: last < 0 ? behind : body.lastIndexOf(comma, behind), until: end, text: '' });
}

/** Takes members of some names out of an object, each with its comma. */
export function removeMembers(members: readonly Member[], names: ReadonlySet<string>, edits: Edit[]): void {
  const lastKept = members.findLastIndex(({ name }) => !names.has(name));
  for (const [index, { name, start: at }] of members.entries())
    if (names.has(name) && index < lastKept)
      edits.push({ at, until: members[index + 1]?.start ?? at, text: '' });
  const [first, last] = [members[lastKept + 1], members.at(-1)];
  if (first === undefined || last === undefined) return;
  edits.push({ at: members[lastKept]?.valueEnd ?? first.start, until: last.valueEnd, text: '' });
}

/** The text with changes: edits as below, and members behind the last one. */
export function applyChanges(body: Buffer, members: readonly Member[], { edits, added }: Changes): Pieces {
  const last = members.at(-1);
  const atEnd = last === undefined ? [] : added.map((text) => addedBehind(last, text));
  return applyEdits(body, [...edits, ...atEnd]);
}

function addedBehind({ valueEnd }: Member, text: Text): Edit {
  return { at: valueEnd, until: valueEnd, text: [',', text].flat() };
}

/** Edits must not overlap; those at one place come in their order. Nothing else is copied. */
export function applyEdits(body: Buffer, edits: Edit[]): Pieces {
  return atOnce(editSteps(body, edits));
}

/** So many edits are made in a step. */
const editsInStep = 4_096;

/** The same for any number of edits. */
export function* editSteps(body: Buffer, edits: Edit[]): Steps<Pieces> {
  if (edits.length === 0) return Pieces.from(body);
  const parts: Buffer[] = [];
  let from = 0;
  for (const [index, edit] of edits.sort((a, b) => a.at - b.at).entries()) {
    if (index > 0 && index % editsInStep === 0) yield;
    parts.push(body.subarray(from, edit.at));
    for (const part of [edit.text].flat()) parts.push(typeof part === 'string' ? Buffer.from(part) : part);
    from = edit.until;
  }
  parts.push(body.subarray(from));
  return new Pieces(parts.filter(({ length }) => length > 0));
}

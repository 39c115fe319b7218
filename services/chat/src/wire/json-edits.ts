import { openBracket, skipSpace } from '@gatehouse/kit/json-bytes';
import type { Member } from './json-members.ts';

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

/** The text with changes, whose edits must not overlap; those at one place come in their order. */
export function applyChanges(body: Buffer, members: readonly Member[], { edits, added }: Changes): Buffer {
  const last = members.at(-1);
  const atEnd = last === undefined ? [] : added.map((text) => addedBehind(last, text));
  return applyEdits(body, [...edits, ...atEnd]);
}

function addedBehind({ valueEnd }: Member, text: Text): Edit {
  return { at: valueEnd, until: valueEnd, text: [',', text].flat() };
}

function applyEdits(body: Buffer, edits: Edit[]): Buffer {
  if (edits.length === 0) return body;
  const parts: Buffer[] = [];
  let from = 0;
  for (const edit of edits.sort((a, b) => a.at - b.at)) {
    parts.push(body.subarray(from, edit.at));
    for (const part of [edit.text].flat()) parts.push(typeof part === 'string' ? Buffer.from(part) : part);
    from = edit.until;
  }
  parts.push(body.subarray(from));
  return Buffer.concat(parts);
}

import { openBrace, openBracket } from '@gatehouse/kit/json-bytes';
import { maxFilledBytes, maxFilledParts } from './bounds.ts';
import type { ReasoningFilter } from './marked-signatures.ts';
import { elementsOf, objectMembers, type Member } from './wire/json-members.ts';

/**
 * The messages of the assistant that get an empty `reasoning_content` where their own is missing: those with calls, or
 * all; `space`: all, with a space in place of an empty text. `none`: no message keeps its own.
 */
export type ReasoningFill = 'calls' | 'all' | 'space' | 'none';

/** Changes of a client's request about the reasoning in its history. */
export interface ReasoningRewrite extends ReasoningFilter {
  /** How reasoning is filled in where the provider has refused a request without; absent where translation comes next. */
  reasoningFill?: ReasoningFill | undefined;
}

/**
 * The text in place of the missing reasoning of a message; null without one. Nothing is made up: models repeat words that
 * stand for it (https://github.com/can1357/oh-my-pi/issues/1484).
 */
export function fillingText(fill: ReasoningFill | null | undefined, hasCalls: boolean): string | null {
  if (fill === undefined || fill === null || fill === 'none' || (fill === 'calls' && !hasCalls)) return null;
  return fill === 'space' ? ' ' : '';
}

/** A message or item of a request, by its place in the text. */
export interface ListedObject {
  index: number;
  at: number;
  members: readonly Member[];
}

/** The objects of a list in the text of a request; null for a list too long to be walked over at once. */
export function listedObjects(
  body: Buffer,
  { valueStart, valueEnd }: Pick<Member, 'valueStart' | 'valueEnd'>,
): ListedObject[] | null {
  if (body[valueStart] !== openBracket) return [];
  if (valueEnd - valueStart > maxFilledBytes) return null;
  const objects: ListedObject[] = [];
  let left = maxFilledParts;
  let index = -1;
  for (const at of elementsOf(body, valueStart)) {
    index += 1;
    left -= 1;
    if (left < 0) return null;
    if (body[at] !== openBrace) continue;
    const members = objectMembers(body, { from: at, max: left });
    left -= members.length;
    if (left < 0) return null;
    objects.push({ index, at, members });
  }
  return objects;
}

const maxWordBytes = 100;

/** The text of a short member, the last of its name; null for any other value. */
export function wordOf(body: Buffer, members: readonly Member[], name: string): string | null {
  const member = members.findLast((each) => each.name === name);
  if (member === undefined || member.valueEnd - member.valueStart > maxWordBytes) return null;
  const word: unknown = JSON.parse(body.toString('utf8', member.valueStart, member.valueEnd));
  return typeof word === 'string' ? word : null;
}

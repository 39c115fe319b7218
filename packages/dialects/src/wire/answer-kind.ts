import { byteOrderMark, openBrace } from '@gatehouse/kit/json-bytes';

/** How an answer is written, whatever its content type says: one JSON document, or server-sent events. */
export type AnswerKind = 'object' | 'events' | 'other';

/** Longer than any name of a field of server-sent events. */
const enough = 8;
const fieldNames = ['data:', 'event:', 'retry:', 'id:', ':'];

/** By its first bytes, after white space and a byte order mark; null as long as too few are there. */
export function answerKind(bytes: Buffer): AnswerKind | null {
  if (bytes[0] === openBrace) return 'object';
  if (byteOrderMark.subarray(0, bytes.length).equals(bytes)) return null;
  const start = withoutMark(bytes)
    .toString('latin1', 0, maxBlanks + enough)
    .trimStart();
  if (start.startsWith('{')) return 'object';
  if (fieldNames.some((name) => start.startsWith(name))) return 'events';
  const isBegun = start === '' ? bytes.length < maxBlanks : start.length < enough && couldGoOn(start);
  return isBegun ? null : 'other';
}

/** White space before an answer; anything with more of it is no answer. */
const maxBlanks = 1_024;

function couldGoOn(start: string): boolean {
  return fieldNames.some((name) => name.startsWith(start));
}

/** Without the byte order mark with which some servers and clients begin. */
export function withoutMark(bytes: Buffer): Buffer {
  if (bytes[0] !== byteOrderMark[0]) return bytes;
  const isMarked = bytes.subarray(0, byteOrderMark.length).equals(byteOrderMark);
  return isMarked ? bytes.subarray(byteOrderMark.length) : bytes;
}

import { maxFrameBytes } from './bounds.ts';
import { colon, quote } from '@gatehouse/kit/json-bytes';
import { maxSearchedBytes, maxSearchedMembers, maxSearchedIds, pieceBytes } from './bounds.ts';

/** Signatures of reasoning in the answers of providers. Clients get their bytes and send them back as they are. */

/** The reasoning signatures of an API, in answers and in later requests with them. */
export interface SignatureFormat {
  /** The vendor of its models. */
  readonly vendor: string;
  /**
   * The accounts able to read them: the key's, since OpenAI encrypts for an organisation, or all of the vendor, with a
   * pattern to recognise its own hosts.
   */
  readonly readers: 'key' | RegExp;
  /**
   * Beginnings of the members with signatures. Those of 8 bytes and more take Node a tenth of the time of shorter ones
   * in a text of quotes.
   */
  readonly members: readonly Buffer[];
}

/** More than JSON has between a name and its value. */
const maxSpaces = 64;
const idChars = 32;
/** Each character may be an escape. */
const idBytes = idChars * 6;

const space = 0x20;

/**
 * Names a signature by its last characters, which are encrypted: streams may have it in pieces. Null for any other
 * text.
 */
export function signatureId(signature: unknown): string | null {
  return typeof signature === 'string' && signature !== '' ? signature.slice(-idChars) : null;
}

/** The ids of the signatures in a frame of an answer. `members`: see `SignatureFormat`. It is searched, since parsing costs more. */
export function signatureIdsIn(members: readonly Buffer[], frame: Buffer): string[] {
  if (frame.length > maxFrameBytes) return [];
  const steps = signatureSteps(members, frame);
  for (;;) {
    const step = steps.next();
    if (step.done === true) return step.value;
  }
}

/** The same for a request and a whole answer, which may be larger, in steps of a few milliseconds. */
export function* signatureSteps(beginnings: readonly Buffer[], text: Buffer): Generator<undefined, string[]> {
  if (text.length > maxSearchedBytes) return [];
  const ids: string[] = [];
  let members = 0;
  for (const beginning of beginnings)
    for (let from = 0; from < text.length; from += pieceBytes) {
      const piece = text.subarray(from, from + pieceBytes + beginning.length - 1);
      for (let at = piece.indexOf(beginning); at >= 0; at = piece.indexOf(beginning, at + 1)) {
        const id = idBehind(text, text.indexOf(quote, from + at + 1) + 1);
        if (id !== null) ids.push(id);
        members += 1;
        if (ids.length === maxSearchedIds || members === maxSearchedMembers) return ids;
        if (members % membersOfStep === 0) yield;
      }
      yield;
    }
  return ids;
}

const membersOfStep = 500;

/** The id of the text behind a name, as its value. */
function idBehind(text: Buffer, behindName: number): string | null {
  const colonAt = behindSpaces(text, behindName);
  if (text[colonAt] !== colon) return null;
  const at = behindSpaces(text, colonAt + 1);
  if (text[at] !== quote) return null;
  const end = text.indexOf(quote, at + 1);
  if (end < 0) return null;
  const from = Math.max(at + 1, end - idBytes);
  // Google escapes `=`. A piece of an escape at the beginning is beyond the id.
  const tail = text
    .toString('latin1', from, end)
    .replaceAll(/\\u00([0-9a-f]{2})/gi, (_all, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
  return signatureId(tail.replaceAll('\\/', '/'));
}

function behindSpaces(text: Buffer, from: number): number {
  let at = from;
  while (text[at] === space && at - from < maxSpaces) at += 1;
  return at;
}

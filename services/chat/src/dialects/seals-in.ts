import type { DialectName } from '@gatehouse/contract/dialects';

/** Seals of thoughts in the answers of providers, whose bytes clients get and send back as they are. */

/** Members that have seals, in each API. */
const members: Readonly<Record<DialectName, readonly Buffer[]>> = {
  chat: [],
  responses: [Buffer.from('"encrypted_content"')],
  messages: [Buffer.from('"signature"'), Buffer.from('"data"')],
  gemini: [Buffer.from('"thoughtSignature"'), Buffer.from('"thought_signature"')],
};

/** Longer texts are not searched: more than a request may have, with all that it goes on from. 64 MiB of quotes take 300 ms. */
const maxBytes = 64 * 1024 * 1024;
/** More than any conversation has. */
const maxSeals = 8_192;
const idChars = 32;
/** Each character may be an escape. */
const idBytes = idChars * 6;

const quote = 0x22;
const colon = 0x3a;
const space = 0x20;

/** Names a seal by its last characters, which are encrypted: streams may have it in pieces. Null for a text that is none. */
export function sealId(seal: unknown): string | null {
  return typeof seal === 'string' && seal !== '' ? seal.slice(-idChars) : null;
}

/** The ids of the seals in the text of an answer, or of a frame of one. It is searched, since parsing costs more. */
export function sealIdsIn(api: DialectName, text: Buffer): string[] {
  const steps = sealSteps(api, text);
  for (;;) {
    const step = steps.next();
    if (step.done === true) return step.value;
  }
}

/** The same for a request, which may be larger, in steps of 20 ms at most. */
export function* sealSteps(api: DialectName, text: Buffer): Generator<undefined, string[]> {
  if (text.length > maxBytes) return [];
  const ids: string[] = [];
  let places = 0;
  for (const member of members[api])
    for (let from = 0; from < text.length && ids.length < maxSeals;) {
      const until = from + stepBytes;
      const found = text.subarray(from, until + member.length).indexOf(member);
      const id = found < 0 ? null : idBehind(text, from + found + member.length);
      if (id !== null) ids.push(id);
      from = found < 0 ? until : from + found + 1;
      places += 1;
      if (found < 0 || places % placesOfStep === 0) yield;
    }
  return ids;
}

const stepBytes = 4 * 1024 * 1024;
const placesOfStep = 500;

/** The id of the text that is the value behind a name. */
function idBehind(text: Buffer, behindName: number): string | null {
  let at = behindName;
  while (text[at] === space) at += 1;
  if (text[at] !== colon) return null;
  at += 1;
  while (text[at] === space) at += 1;
  if (text[at] !== quote) return null;
  const end = text.indexOf(quote, at + 1);
  if (end < 0) return null;
  const from = Math.max(at + 1, end - idBytes);
  // Google escapes `=`. A piece of an escape at the beginning is beyond the id.
  const tail = text
    .toString('latin1', from, end)
    .replaceAll(/\\u00([0-9a-f]{2})/gi, (_all, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
  return sealId(tail.replaceAll('\\/', '/'));
}

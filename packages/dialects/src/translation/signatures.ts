import { AppError } from '@gatehouse/kit/errors';
import type { Steps } from '@gatehouse/kit/cooperative-steps';
import type { Hasher } from '@gatehouse/secrets/key-ring';
import { CutTexts } from '../wire/cut-texts.ts';
import { isMarked, signatureMark } from '../marked-signatures.ts';
import { signatureId } from '../signatures-in.ts';
import type { ModelFacts } from './api.ts';
import type { Part, ReasoningSignature, Turn } from './conversation.ts';
import type { SignedThought } from './signed-reasoning.ts';
import { maxOriginChars, maxReasoningParts, maxSignatureChars } from '../bounds.ts';

/**
 * Signatures of reasoning in the dialects of clients. A translated one is marked with its origin, so it goes back to no
 * other provider, and with a hash by a key of its tenant, so no other tenant can send it. A signature without a mark is
 * the dialect's own.
 *
 * A mark is `gatehouse.<origin>:<key id>:<hash>.<t or r>.` in front of the signature; dots in the key id are `%2E`.
 */

const mark = /^gatehouse\.([^.:]{1,200})(?::([^.]{1,150}))?\.([tr])\./;

export function markedSignature({ origin, text, isRedacted, mac }: ReasoningSignature): string {
  const hash = typeof mac === 'string' ? `:${mac.replaceAll('.', '%2E')}` : '';
  return `${signatureMark}${origin}${hash}.${isRedacted ? 'r' : 't'}.${text}`;
}

/** The signature in a marked text, as it is or in base64, which is not checked yet; null for any other. */
export function readMarked(encoded: string): ReasoningSignature | null {
  return isMarked(encoded) ? signatureIn(markedText(encoded)) : null;
}

function markedText(encoded: string): string {
  const marked = CutTexts.uncut(encoded);
  return marked.startsWith(signatureMark) ? marked : Buffer.from(marked, 'base64').toString('utf8');
}

function signatureIn(text: string): ReasoningSignature {
  const [begin, origin, hash, kind] = mark.exec(text) ?? [];
  if (begin === undefined || origin === undefined) return changed;
  const mac = hash?.replaceAll('%2E', '.') ?? null;
  return { origin, text: text.slice(begin.length), isRedacted: kind === 'r', mac };
}

/** A mark that fails the check. */
const changed: ReasoningSignature = { origin: '', text: '', isRedacted: false, mac: '' };

/** The beginning of a mark for thoughts with their texts. */
const thoughtsMark = `${signatureMark}thoughts.`;

/**
 * Thoughts as one signature in base64: JSON of each one's text and marked signature. Google's API has one signature in
 * a part, and clients such as Gemini CLI send no thought back.
 */
export function markedThoughts(thoughts: readonly SignedThought[]): string {
  const pairs = thoughts.map(({ text, signature }) => [text, markedSignature(signature)]);
  return Buffer.from(thoughtsMark + JSON.stringify(pairs)).toString('base64');
}

/** The thoughts of a signature by `markedThoughts`, which are not checked yet; null for any other. */
export function readMarkedThoughts(encoded: string): SignedThought[] | null {
  if (!isMarked(encoded)) return null;
  const marked = markedText(encoded);
  if (!marked.startsWith(thoughtsMark)) return null;
  const pairs = encoded.length > maxSignatureChars ? null : pairsIn(marked.slice(thoughtsMark.length));
  if (pairs === null) return [{ text: '', signature: changed }];
  return pairs.map(([text, signature]) => ({ text, signature: signatureIn(signature) }));
}

/** Null for a text that was changed: no answer has more thoughts. */
function pairsIn(json: string): [string, string][] | null {
  try {
    const pairs: unknown = JSON.parse(json);
    const isPair = (each: unknown): each is [string, string] =>
      Array.isArray(each) && each.length === 2 && each.every((text) => typeof text === 'string');
    const isMade = Array.isArray(pairs) && pairs.length > 0 && pairs.length <= maxReasoningParts;
    return isMade && pairs.every(isPair) ? pairs : null;
  } catch {
    return null;
  }
}

/** A signature for a client, with its mark. */
export function withMac(signature: ReasoningSignature, macs: Hasher): ReasoningSignature {
  return { ...signature, mac: macs.hash(hashedText(signature)) };
}

function hashedText({ origin, text, isRedacted }: ReasoningSignature): string {
  return JSON.stringify([origin, isRedacted, text]);
}

/**
 * Checks the marked signatures of a tenant's turns. Leaves out marks without a hash, and marks by a key no longer in
 * the ring. Throws 400 for a changed signature, or another tenant's. `place`: the client's name for it.
 */
export function* checkedTurns(turns: Turn[], macs: Hasher, place: string): Steps<Turn[]> {
  const checked: Turn[] = [];
  for (const turn of turns) {
    const parts: Part[] = [];
    for (const part of turn.parts) {
      if (part.kind === 'thinking' && part.signature?.mac !== undefined) {
        parts.push({ ...part, signature: checkedSignature(part.signature, macs, place) });
        yield;
      } else parts.push(part);
    }
    checked.push({ ...turn, parts });
  }
  return checked;
}

function checkedSignature(
  { mac, ...signature }: ReasoningSignature,
  macs: Hasher,
  place: string,
): ReasoningSignature | null {
  if (mac === null || mac === undefined) return null;
  const isGenuine = mac === '' ? false : macs.matches(hashedText(signature), mac);
  if (isGenuine === false)
    throw new AppError(
      'invalid_encrypted_content',
      `Invalid ${place}: it was changed, or belongs to another tenant. Send reasoning as it was returned, or leave it out.`,
    );
  return isGenuine === null ? null : signature;
}

/** The name of an origin, and of the only account able to read its signatures; null where all accounts are. */
export function originAt(origin: string, account: string | null): string {
  return account === null ? origin : `${origin}=${account}`;
}

/** A provider's signature, with its account. One without a text is only a name of the model, which every account reads. */
export function signatureAt(
  signature: ReasoningSignature | null,
  account: string | null,
): ReasoningSignature | null {
  return signature === null || signature.text === ''
    ? signature
    : { ...signature, origin: originAt(signature.origin, account) };
}

/** The turns for an account. Its own signatures are those of its API; others of the same API are no longer there. */
export function turnsAt(turns: Turn[], account: string | null): Turn[] {
  if (account === null) return turns;
  const partAt = (part: Part): Part => {
    if (part.kind !== 'thinking' || part.signature === null || part.signature.text === '') return part;
    const { origin } = part.signature;
    const suffix = `=${account}`;
    return {
      ...part,
      signature: origin.endsWith(suffix)
        ? { ...part.signature, origin: origin.slice(0, -suffix.length) }
        : null,
    };
  };
  return turns.map((turn) =>
    turn.parts.some(({ kind }) => kind === 'thinking') ? { ...turn, parts: turn.parts.map(partAt) } : turn,
  );
}

/** The turns without the signatures of the model's vendor that are not sent. */
export function readableTurns(turns: Turn[], unreadable: ModelFacts['unreadable']): Turn[] {
  if (unreadable === undefined) return turns;
  const { vendor, count } = unreadable;
  const signatureOf = (part: Part): string | null =>
    part.kind === 'thinking' && part.signature?.origin === vendor
      ? signatureId(CutTexts.uncut(part.signature.text))
      : null;
  const signatures = turns.flatMap(({ parts }) => parts.map(signatureOf).filter((id) => id !== null));
  let left = count(signatures);
  if (left === 0) return turns;
  const readablePart = (part: Part): Part => {
    if (left === 0 || signatureOf(part) === null || part.kind !== 'thinking') return part;
    left -= 1;
    return { ...part, signature: null };
  };
  return turns.map((turn) => ({ ...turn, parts: turn.parts.map(readablePart) }));
}

/** The name for thoughts without signature, of a model reached by chat completions. */
export function chatOrigin(model: string): string {
  return `chat=${encodeURIComponent(model).replaceAll('.', '%2E').slice(0, maxOriginChars)}`;
}

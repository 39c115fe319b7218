import { AppError } from '@gatehouse/kit/errors';
import type { Steps } from '@gatehouse/kit/cooperative-steps';
import type { Hasher } from '@gatehouse/secrets/key-ring';
import { CutTexts } from '../wire/cut-texts.ts';
import { isMarked, signatureMark } from '../marked-signatures.ts';
import type { Part, ReasoningSignature, Turn } from './conversation.ts';
import { maxOriginChars } from '../bounds.ts';

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

/** A marked signature in base64, as Google's API has it. */
export function markedBytes(signature: ReasoningSignature): string {
  return Buffer.from(markedSignature(signature)).toString('base64');
}

/** The signature in a marked text, as it is or in base64, which is not checked yet; null for any other. */
export function readMarked(encoded: string): ReasoningSignature | null {
  if (!isMarked(encoded)) return null;
  const marked = CutTexts.uncut(encoded);
  const text = marked.startsWith(signatureMark) ? marked : Buffer.from(marked, 'base64').toString('utf8');
  const [begin, origin, hash, kind] = mark.exec(text) ?? [];
  if (begin === undefined || origin === undefined)
    return { origin: '', text: '', isRedacted: false, mac: '' };
  const mac = hash?.replaceAll('%2E', '.') ?? null;
  return { origin, text: text.slice(begin.length), isRedacted: kind === 'r', mac };
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

/** A provider's signature, with its account. */
export function signatureAt(
  signature: ReasoningSignature | null,
  account: string | null,
): ReasoningSignature | null {
  return signature === null ? null : { ...signature, origin: originAt(signature.origin, account) };
}

/** The turns for an account. Its own signatures are those of its API; others of the same API are no longer there. */
export function turnsAt(turns: Turn[], account: string | null): Turn[] {
  if (account === null) return turns;
  const partAt = (part: Part): Part => {
    if (part.kind !== 'thinking' || part.signature === null) return part;
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

/** The name for thoughts without signature, of a model reached by chat completions. */
export function chatOrigin(model: string): string {
  return `chat=${encodeURIComponent(model).replaceAll('.', '%2E').slice(0, maxOriginChars)}`;
}

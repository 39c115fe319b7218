import { AppError } from '@gatehouse/kit/errors';
import type { Steps } from '@gatehouse/kit/steps';
import type { Hasher } from '@gatehouse/secrets/key-ring';
import { CutTexts } from '../wire/cut-texts.ts';
import { isMarked, sealMark } from '../marked-seals.ts';
import type { Part, Seal, Turn } from './conversation.ts';

/**
 * Seals of thoughts in the dialects of clients. One that was translated is marked with its maker, so that it goes back to
 * no other provider, and with a hash by a key of its tenant, so that no other tenant can send it. A signature without a
 * mark is the dialect's own.
 *
 * A mark is `gatehouse.<maker>:<key id>:<hash>.<t or r>.` in front of the seal; dots in the key id are `%2E`.
 */

const mark = /^gatehouse\.([^.:]{1,200})(?::([^.]{1,150}))?\.([tr])\./;

export function markedSeal({ maker, text, isRedacted, mac }: Seal): string {
  const hash = typeof mac === 'string' ? `:${mac.replaceAll('.', '%2E')}` : '';
  return `${sealMark}${maker}${hash}.${isRedacted ? 'r' : 't'}.${text}`;
}

/** A marked seal in base64, as Google's API has it. */
export function markedBytes(seal: Seal): string {
  return Buffer.from(markedSeal(seal)).toString('base64');
}

/** The seal in a marked text, as it is or in base64, which is not checked yet; null for any other. */
export function readMarked(given: string): Seal | null {
  if (!isMarked(given)) return null;
  const marked = CutTexts.uncut(given);
  const text = marked.startsWith(sealMark) ? marked : Buffer.from(marked, 'base64').toString('utf8');
  const [begin, maker, hash, kind] = mark.exec(text) ?? [];
  if (begin === undefined || maker === undefined) return { maker: '', text: '', isRedacted: false, mac: '' };
  const mac = hash?.replaceAll('%2E', '.') ?? null;
  return { maker, text: text.slice(begin.length), isRedacted: kind === 'r', mac };
}

/** A seal for a client that gets it marked. */
export function withMac(seal: Seal, macs: Hasher): Seal {
  return { ...seal, mac: macs.hash(hashedText(seal)) };
}

function hashedText({ maker, text, isRedacted }: Seal): string {
  return JSON.stringify([maker, isRedacted, text]);
}

/**
 * Checks the marked seals of a tenant's turns. Leaves out marks without a hash, and marks by a key that has left the ring. Throws 400 for a seal that was changed, or is another tenant's. `place`: the client's name for it.
 */
export function* checkedTurns(turns: Turn[], macs: Hasher, place: string): Steps<Turn[]> {
  const checked: Turn[] = [];
  for (const turn of turns) {
    const parts: Part[] = [];
    for (const part of turn.parts) {
      if (part.kind === 'thinking' && part.seal?.mac !== undefined) {
        parts.push({ ...part, seal: checkedSeal(part.seal, macs, place) });
        yield;
      } else parts.push(part);
    }
    checked.push({ ...turn, parts });
  }
  return checked;
}

function checkedSeal({ mac, ...seal }: Seal, macs: Hasher, place: string): Seal | null {
  if (mac === null || mac === undefined) return null;
  const isGenuine = mac === '' ? false : macs.matches(hashedText(seal), mac);
  if (isGenuine === false)
    throw new AppError(
      'invalid_encrypted_content',
      `Invalid ${place}: it was changed, or belongs to another tenant. Send reasoning as it was returned, or leave it out.`,
    );
  return isGenuine === null ? null : seal;
}

/** The name of a maker, and of the account that alone reads its seals; null where all accounts do. */
export function makerAt(maker: string, account: string | null): string {
  return account === null ? maker : `${maker}=${account}`;
}

/** A seal that a provider has made, with the account that it is of. */
export function sealedAt(seal: Seal | null, account: string | null): Seal | null {
  return seal === null ? null : { ...seal, maker: makerAt(seal.maker, account) };
}

/** The turns for an account, whose own seals are those of its API; others of the same API are no longer there. */
export function turnsAt(turns: Turn[], account: string | null): Turn[] {
  if (account === null) return turns;
  const partAt = (part: Part): Part => {
    if (part.kind !== 'thinking' || part.seal === null) return part;
    const { maker } = part.seal;
    const own = `=${account}`;
    return {
      ...part,
      seal: maker.endsWith(own) ? { ...part.seal, maker: maker.slice(0, -own.length) } : null,
    };
  };
  return turns.map((turn) =>
    turn.parts.some(({ kind }) => kind === 'thinking') ? { ...turn, parts: turn.parts.map(partAt) } : turn,
  );
}

/** The name for thoughts without signature of a model that is reached by chat completions. */
export function chatMaker(model: string): string {
  return `chat=${encodeURIComponent(model).replaceAll('.', '%2E').slice(0, maxNameChars)}`;
}

const maxNameChars = 150;

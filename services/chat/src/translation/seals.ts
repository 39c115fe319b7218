import { sealMark } from '../dialects/marked-seals.ts';
import type { Part, Seal, Turn } from './conversation.ts';

/**
 * Seals of thoughts in the dialects of clients. One that was translated is marked with its maker, so that it goes back to
 * no other provider; a signature without a mark is the dialect's own.
 */

const mark = /^gatehouse\.([^.]{1,200})\.([tr])\./;

export function markedSeal({ maker, text, isRedacted }: Seal): string {
  return `${sealMark}${maker}.${isRedacted ? 'r' : 't'}.${text}`;
}

/** The seal in a marked text; null for any other. */
export function readMarked(text: string): Seal | null {
  const [begin, maker, kind] = mark.exec(text) ?? [];
  if (begin === undefined || maker === undefined) return null;
  return { maker, text: text.slice(begin.length), isRedacted: kind === 'r' };
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

import { sealMark } from '../dialects/marked-seals.ts';
import type { Seal } from './conversation.ts';

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

/** The name for thoughts without signature of a model that is reached by chat completions. */
export function chatMaker(model: string): string {
  return `chat=${encodeURIComponent(model).replaceAll('.', '%2E').slice(0, maxNameChars)}`;
}

const maxNameChars = 150;

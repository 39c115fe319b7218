import { AppError } from '@gatehouse/kit/errors';
import { objectMembers, type Member } from './json-members.ts';
import type { Pieces } from './pieces.ts';
import { maxMembers } from '../bounds.ts';

const maxNameChars = 64;

function twice(name: string): AppError {
  return new AppError('invalid_value', 'The request body has two members of this name.', { param: name });
}

/**
 * The members of a request, a JSON object. Throws a 400 for one with too many, or two of one name: providers may read
 * another one than limits and prices count (RFC 8259, section 4).
 */
export function membersOnce(body: Buffer): readonly Member[] {
  const members = objectMembers(body, { max: maxMembers });
  if (members.length > maxMembers)
    throw new AppError('invalid_value', `The request body has more than ${maxMembers} members.`);
  const names = new Set<string>();
  for (const { name } of members) {
    if (names.has(name)) throw twice(name.slice(0, maxNameChars));
    names.add(name);
  }
  return members;
}

/** Writes a request anew, by its text and the places of its members. */
export type RewriteText<Rewrite> = (body: Buffer, rewrite: Rewrite, members: readonly Member[]) => Pieces;

/** The share of a text in the memory for request bodies. */
export interface Share {
  release: () => void;
  /** Sets how many bytes of copies of the text are in memory. */
  copied?: (bytes: number) => void;
}

/** A request as the client wrote it, and where its members are. */
export class RequestText<Rewrite> {
  #text: { body: Buffer; members: readonly Member[] } | null;
  readonly #share: Share;
  readonly #rewrite: RewriteText<Rewrite>;

  /** `body`: a JSON object, already parsed. Throws as `membersOnce` does. */
  constructor(body: Buffer, share: Share, rewrite: RewriteText<Rewrite>) {
    this.#text = { body, members: membersOnce(body) };
    this.#share = share;
    this.#rewrite = rewrite;
  }

  get bytes(): number {
    return this.#text?.body.length ?? 0;
  }

  rewritten(rewrite: Rewrite): Pieces {
    if (this.#text === null) throw new Error('the request was released already');
    return this.#rewrite(this.#text.body, rewrite, this.#text.members);
  }

  copied(bytes: number): void {
    this.#share.copied?.(bytes);
  }

  release(): void {
    this.#text = null;
    this.#share.release();
  }
}

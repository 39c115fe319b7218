import { AppError } from '@gatehouse/kit/errors';
import { objectMembers, type Member } from '../../wire/json-members.ts';
import type { RequestSource, Rewrite, Share } from '../dialect.ts';
import { rewriteRequest } from './request-rewrite.ts';

/** OpenAI's API has about forty. Each provider call goes through all of them. */
const maxMembers = 1_000;

/** A request as the client wrote it, and where its members are. */
export class RequestText implements RequestSource {
  #text: { body: Buffer; members: readonly Member[] } | null;
  readonly #share: Share;

  /** `body`: a JSON object that was parsed already. Throws a 400 for one with too many members. */
  constructor(body: Buffer, share: Share) {
    const members = objectMembers(body, { max: maxMembers });
    if (members.length > maxMembers)
      throw new AppError('invalid_value', `The request body has more than ${maxMembers} members.`);
    this.#text = { body, members };
    this.#share = share;
  }

  rewritten(rewrite: Rewrite): Buffer {
    if (this.#text === null) throw new Error('the request was released already');
    return rewriteRequest(this.#text.body, rewrite, this.#text.members);
  }

  release(): void {
    this.#text = null;
    this.#share.release();
  }
}

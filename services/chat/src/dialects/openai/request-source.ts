import { AppError } from '@gatehouse/kit/errors';
import { objectMembers, type Member } from '../../wire/json-members.ts';
import { rewriteRequest, type Rewrite } from './request-rewrite.ts';

/** OpenAI's API has about forty. Each provider call goes through all of them. */
const maxMembers = 1_000;

/** The share of the text in the memory for request bodies. */
interface Share {
  release(): void;
}

/** The text of a request, for as long as another provider call may need it. */
export class RequestSource {
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

  /** The body for a provider. Throws once the text has been released. */
  rewritten(rewrite: Rewrite): Buffer {
    if (this.#text === null) throw new Error('the request was released already');
    return rewriteRequest(this.#text.body, rewrite, this.#text.members);
  }

  /** Frees the text: the answer has begun, and no further provider call follows. */
  release(): void {
    this.#text = null;
    this.#share.release();
  }
}

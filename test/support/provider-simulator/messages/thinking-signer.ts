import { createHmac } from 'node:crypto';

/** The text that the data of redacted thinking signs; no thinking has it. */
export const redacted = '\0redacted';

/** Signs thinking, so that a client that changes it or takes it elsewhere is found out. */
export class ThinkingSigner {
  readonly #secret: string;

  /** The same secret in two simulators lets each verify the thinking of the other. */
  constructor(secret: string) {
    this.#secret = secret;
  }

  /** The signature of a block of thinking in the answer with this id. */
  sign(answerId: string, thinking: string): string {
    const code = createHmac('sha256', this.#secret).update(`${answerId} ${thinking}`).digest('base64url');
    return Buffer.from(`${answerId} ${code}`).toString('base64');
  }

  /** Whether this simulator has made the signature, for exactly this thinking. */
  verifies(signature: string, thinking: string): boolean {
    const [answerId = ''] = Buffer.from(signature, 'base64').toString().split(' ', 1);
    return signature === this.sign(answerId, thinking);
  }
}

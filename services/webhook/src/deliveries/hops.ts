import { AppError } from '@gatehouse/kit/errors';
import type { KeyRing } from '@gatehouse/secrets/key-ring';
import { maxHops } from '../bounds.ts';

/** The header of a result or reply for how often it was sent on. Sealed: no receiver can lower it. */
export const hopsHeader = 'gatehouse-hops';

/** The header's value in the response to a request sent on too often: its sender need not try again. */
const exceeded = 'exceeded';

const context = 'webhook.hops';

/** Counts how often one thing led to another, over endpoints and channels of all tenants. */
export class Hops {
  readonly #keyRing: KeyRing;

  constructor(keyRing: KeyRing) {
    this.#keyRing = keyRing;
  }

  /** The headers of what is sent on the `hops`th time. */
  headersOf(hops: number): Record<string, string> {
    return { [hopsHeader]: this.#keyRing.seal(Buffer.from(String(hops)), context).toString('base64url') };
  }

  /**
   * How often a delivery was sent on, by the values of its header; 0 unless a gateway with these keys has sent it.
   * Throws `limit_reached` beyond 8.
   */
  read(values: readonly string[]): number {
    const hops = Math.max(0, ...values.map((value) => this.#open(value)));
    if (hops > maxHops)
      throw new AppError('limit_reached', `Results and replies are sent on ${maxHops} times at most.`, {
        headers: { [hopsHeader]: exceeded },
      });
    return hops;
  }

  /** Whether a receiver refuses what was sent to it because it was sent on too often, by its response's headers. */
  isExceeded(headers: Readonly<Record<string, string>>): boolean {
    return headers[hopsHeader] === exceeded;
  }

  #open(value: string): number {
    try {
      return Number(this.#keyRing.open(Buffer.from(value, 'base64url'), context).toString());
    } catch {
      return 0;
    }
  }
}

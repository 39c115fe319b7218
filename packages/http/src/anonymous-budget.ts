import { isIP } from 'node:net';
import { networkOf } from '@gatehouse/kit/client-network';
import { AppError, type ErrorCode } from '@gatehouse/kit/errors';
import { OpenList } from '@gatehouse/kit/open-list';
import type { BodyShare } from '@gatehouse/kit/body-budget';

const MiB = 1024 * 1024;

/** Bytes of one IPv6 address, of one IPv4 address or /64, and of all. */
const limits = { address: 2 * MiB, network: 4 * MiB, all: 32 * MiB };

/** Charged for a request without its body: its headers, its buffers and its connection. So a network has 256 at most. */
const requestBytes = 16 * 1024;

/** Share of a request nothing vouches for yet. */
export interface AnonymousShare extends BodyShare {
  /**
   * The body arrives from now on until the returned function is called. `drop` is called if others need its room, and
   * must lead to that call at once.
   */
  arriving(drop: (error: AppError) => void): () => void;
}

/**
 * Limits the requests without a key, and their bytes, in memory before anything proves their sender: per address, per
 * network and in total. When the total is reached, the body arriving for the longest time makes room: a genuine
 * sender's body takes a moment, and slow ones must not shut others out.
 */
export class AnonymousBudget {
  readonly #held = new Map<string, number>();
  /** Each frees the share of an arriving body; the oldest comes first. */
  readonly #arriving = new OpenList<() => void>();
  readonly #onRefusal: (code: ErrorCode) => void;
  #total = 0;

  /** `onRefusal` is called for each refusal with the error code. */
  constructor(onRefusal: (code: ErrorCode) => void = () => undefined) {
    this.#onRefusal = onRefusal;
  }

  /** Bytes charged in total, and the number of addresses and networks with charged bytes. */
  get inUse(): { bytes: number; payers: number } {
    return { bytes: this.#total, payers: this.#held.size };
  }

  /**
   * Opens the share of one request. `announcedBytes` is its `Content-Length`, or null. Throws `rate_limit_exceeded`
   * when its address or network has too much in memory.
   */
  open(address: string, announcedBytes: number | null): AnonymousShare {
    const payers = payersOf(address);
    this.#check(payers, requestBytes + (announcedBytes ?? 0));
    const state = { own: 0, open: true };
    const isOpen = (): boolean => state.open;
    const share: AnonymousShare = {
      grow: (bytes) => {
        if (!isOpen()) return;
        this.#check(payers, bytes);
        this.#makeRoom(bytes);
        // Its own body may have made the room.
        if (!isOpen()) return;
        state.own += bytes;
        this.#charge(payers, bytes);
      },
      release: () => {
        if (!isOpen()) return;
        state.open = false;
        this.#charge(payers, -state.own);
      },
      arriving: (drop) => {
        const remove = this.#arriving.add(() => {
          share.release();
          drop(this.#full());
        });
        let listed = true;
        return () => {
          if (listed) remove();
          listed = false;
        };
      },
    };
    share.grow(requestBytes);
    return share;
  }

  #check(payers: readonly Payer[], bytes: number): void {
    for (const { key, limit } of payers) {
      if ((this.#held.get(key) ?? 0) + bytes <= limit) continue;
      this.#onRefusal('rate_limit_exceeded');
      throw new AppError(
        'rate_limit_exceeded',
        'Too many requests of your network are in flight. Try again shortly.',
        { retryAfterMs: 1_000 },
      );
    }
  }

  #makeRoom(bytes: number): void {
    while (this.#total + bytes > limits.all) {
      const [dropOldest] = this.#arriving;
      if (dropOldest === undefined) throw this.#full();
      dropOldest();
    }
  }

  #charge(payers: readonly Payer[], bytes: number): void {
    for (const { key } of payers) {
      const held = (this.#held.get(key) ?? 0) + bytes;
      if (held === 0) this.#held.delete(key);
      else this.#held.set(key, held);
    }
    this.#total += bytes;
  }

  #full(): AppError {
    this.#onRefusal('service_unavailable');
    return new AppError(
      'service_unavailable',
      'Too many requests without a key are in flight. Try again shortly.',
      { retryAfterMs: 1_000 },
    );
  }
}

interface Payer {
  key: string;
  limit: number;
}

function payersOf(address: string): readonly Payer[] {
  const network = { key: networkOf(address), limit: limits.network };
  return isIP(address) === 6 ? [{ key: address, limit: limits.address }, network] : [network];
}

import { hourMs } from '@gatehouse/kit/bounds';
import type { IncomingMessage } from 'node:http';
import { monotonicMs } from '@gatehouse/kit/clock';
import type { Logger } from '@gatehouse/kit/log';
import type { IsTrustedProxy } from './client-ip.ts';

export interface UntrustedProxiesOptions {
  isTrusted: IsTrustedProxy;
  /** Proxies named by the operator. */
  count: number;
  /** Whether the settings show that clients come through a proxy. */
  isProxied: boolean;
  log: Logger;
}

const effect = 'all clients behind it have its address: one network for limits, logins and the audit log';

/**
 * Warns the operator of a proxy in front but not in `TRUSTED_PROXIES`. Clients may forge the header, so it changes
 * nothing but the log, once an hour.
 */
export class UntrustedProxies {
  readonly #options: UntrustedProxiesOptions;
  readonly #now: () => number;
  #warnedAt: number | null = null;

  constructor(options: UntrustedProxiesOptions, now: () => number = monotonicMs) {
    this.#options = options;
    this.#now = now;
  }

  start(): void {
    const { count, isProxied, log } = this.#options;
    if (count === 0 && isProxied)
      log.warn(`TRUSTED_PROXIES is empty, and PUBLIC_URL is https, so a proxy is in front: ${effect}`);
  }

  /** Warns if an untrusted peer says whom it forwards for. */
  check({ headers, socket }: IncomingMessage): void {
    if (headers['x-forwarded-for'] === undefined) return;
    const { isTrusted, log } = this.#options;
    const peer = socket.remoteAddress ?? '';
    if (isTrusted(peer, 0) || this.#now() - (this.#warnedAt ?? -hourMs) < hourMs) return;
    this.#warnedAt = this.#now();
    log.warn(
      { peer },
      `X-Forwarded-For from a peer that TRUSTED_PROXIES doesn't name; if it is yours, ${effect}`,
    );
  }
}

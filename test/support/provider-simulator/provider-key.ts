import type { IncomingHttpHeaders } from 'node:http';
import type { KeyHeader } from './answer-format.ts';

/** The key that clients must send; without one, the provider accepts any key. */
export class ProviderKey {
  readonly #expected: Record<KeyHeader, string> | null;

  constructor(apiKey: string | undefined) {
    this.#expected =
      apiKey === undefined
        ? null
        : { authorization: `Bearer ${apiKey}`, 'x-api-key': apiKey, 'x-goog-api-key': apiKey };
  }

  /** Whether one of these headers has the key. */
  admits(headers: IncomingHttpHeaders, names: readonly KeyHeader[]): boolean {
    const expected = this.#expected;
    return expected === null || names.some((name) => headers[name] === expected[name]);
  }

  /** The headers with credentials replaced by `matched`, `mismatched` or, without a key, `present`. */
  redact(headers: IncomingHttpHeaders): IncomingHttpHeaders {
    const redacted = { ...headers };
    for (const name of ['authorization', 'x-api-key', 'x-goog-api-key'] as const) {
      if (headers[name] !== undefined) redacted[name] = this.#judge(name, headers[name]);
    }
    for (const name of ['api-key', 'cookie']) {
      if (headers[name] !== undefined) redacted[name] = 'present';
    }
    return redacted;
  }

  #judge(name: KeyHeader, value: string | string[]): string {
    if (this.#expected === null) return 'present';
    return value === this.#expected[name] ? 'matched' : 'mismatched';
  }
}

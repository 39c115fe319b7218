import { createHash } from 'node:crypto';
import { countTokens } from './input-segments.ts';
import type { InputSegment } from './input-segments.ts';

/** The input tokens of a request, by the price that each has. */
export interface InputCharge {
  /** Neither read from the cache nor written to it. */
  uncached: number;
  read: number;
  written5m: number;
  written1h: number;
}

const maxEntries = 20_000;

/**
 * Remembers the prefixes that requests marked with `cache_control`, and what they hold is read from the cache the next
 * time. Entries don't expire, and have no minimal length.
 */
export class PromptCache {
  readonly #entries = new Set<string>();

  /** Charges the input of a request, and stores its marked prefixes. */
  charge(model: string, segments: readonly InputSegment[]): InputCharge {
    const marked = segments.findLastIndex(({ cached }) => cached !== null) + 1;
    const charge = { uncached: countTokens(segments.slice(marked)), read: 0, written5m: 0, written1h: 0 };
    const keys = prefixKeys(model, segments.slice(0, marked));
    const known = keys.findLastIndex((key) => this.#entries.has(key)) + 1;
    charge.read = countTokens(segments.slice(0, known));
    // A part is written for as long as the next mark says.
    let cached: InputSegment['cached'] = null;
    for (let index = marked - 1; index >= known; index--) {
      const segment = segments[index];
      cached = segment?.cached ?? cached;
      charge[cached === '1h' ? 'written1h' : 'written5m'] += segment?.tokens ?? 0;
    }
    for (const [index, key] of keys.entries()) if (segments[index]?.cached !== null) this.#store(key);
    return charge;
  }

  clear(): void {
    this.#entries.clear();
  }

  #store(key: string): void {
    this.#entries.delete(key); // moves it to the end, so that the oldest entries are deleted first
    this.#entries.add(key);
    const [oldest] = this.#entries.size > maxEntries ? this.#entries.keys() : [];
    if (oldest !== undefined) this.#entries.delete(oldest);
  }
}

/** A key for the prefix that ends with each part. */
function prefixKeys(model: string, segments: readonly InputSegment[]): string[] {
  const hash = createHash('sha256').update(model);
  return segments.map(({ text }) => {
    hash.update(`\n${text.length} ${text}`);
    return hash.copy().digest('base64');
  });
}

import type { Fields } from '@gatehouse/kit/fields';
import type { CachePoint, Part } from '../translation/conversation.ts';

/** The member of a block, a tool or a request by which a client asks for the prompt up to its end to be cached. */
export const cacheHint = 'cache_control';

export function cachePointOf(value: unknown): CachePoint {
  const hint = (Object(value) as Fields)[cacheHint];
  if (typeof hint !== 'object' || hint === null) return {};
  return { cacheTtl: (hint as Fields)['ttl'] === '1h' ? '1h' : '5m' };
}

/** The parts of a block, or of a turn, of which the last one ends what is cached. Thoughts can't. */
export function withCachePoint(parts: readonly Part[], value: unknown): Part[] {
  const point = cachePointOf(value);
  const last = parts.at(-1);
  if (point.cacheTtl === undefined || last === undefined) return [...parts];
  return last.kind === 'thinking' || last.kind === 'refusal'
    ? [...parts]
    : [...parts.slice(0, -1), { ...last, ...point }];
}

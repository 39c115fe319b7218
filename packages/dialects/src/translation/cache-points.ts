import type { Fields } from '@gatehouse/kit/fields';
import type { CachePoint, Conversation, Part, Turn } from './conversation.ts';
import type { DroppedFields } from './dropped-fields.ts';

/** The member of an object in a request by which a client asks for the prompt up to its end to be cached. */
export const cacheHint = 'cache_control';

export function cachePointOf(value: unknown): CachePoint {
  const hint = (Object(value) as Fields)[cacheHint];
  if (typeof hint !== 'object' || hint === null) return {};
  return { cacheTtl: (hint as Fields)['ttl'] === '1h' ? '1h' : '5m' };
}

/** The parts of a block, a message or a request, of which the last one with a place ends what is cached. */
export function withCachePoint<Kind extends Part>(parts: readonly Kind[], value: unknown): Kind[] {
  return withPoint(parts, cachePointOf(value));
}

/** Thoughts and refusals have no place. */
export function withPoint<Kind extends Part>(parts: readonly Kind[], point: CachePoint): Kind[] {
  const last = point.cacheTtl === undefined ? -1 : parts.findLastIndex(takesPoint);
  return parts.map((part, index) => (index === last ? { ...part, ...point } : part));
}

export function takesPoint(part: Part): part is Part & CachePoint {
  return part.kind !== 'thinking' && part.kind !== 'refusal';
}

export function isMarked<Value extends object>(value: Value): value is Value & Required<CachePoint> {
  return 'cacheTtl' in value;
}

/** The point of a result, which ends at its last marked part. */
export function pointIn(parts: readonly Part[]): CachePoint {
  const marked = parts.findLast(isMarked);
  return marked === undefined ? {} : { cacheTtl: marked.cacheTtl };
}

/** The turns with a mark of the whole request, which is at its end. */
export function withFinalPoint(turns: readonly Turn[], request: unknown): Turn[] {
  return turns.map((turn, index) =>
    index === turns.length - 1 ? { ...turn, parts: withCachePoint(turn.parts, request) } : turn,
  );
}

/** The maximum for a request, at Anthropic and in Converse. */
const maxPoints = 4;

/** The places for cache points of a model. */
export interface PointPlaces {
  /** Whether tools have a place. */
  inTools: boolean;
  /** Whether a cache can last an hour. */
  isHourly: boolean;
  /** Whether it caches what is marked and nothing else. */
  needsMarks: boolean;
}

/**
 * The cache points of one request, in the order of the prompt: tools, system text, messages. The last four reach
 * farthest. One of an hour behind one of five minutes is refused.
 *
 * - https://platform.claude.com/docs/en/build-with-claude/prompt-caching#mixing-different-ttls
 * - https://docs.aws.amazon.com/bedrock/latest/userguide/prompt-caching.html
 */
export class CachePoints {
  readonly #places: PointPlaces | null;
  readonly #dropped: DroppedFields;
  #surplus: number;
  #hasShort = false;

  /** `places`: null for a model without any. */
  constructor(
    { tools, turns }: Pick<Conversation, 'tools' | 'turns'>,
    places: PointPlaces | null,
    dropped: DroppedFields,
  ) {
    const marked = [...(places?.inTools === true ? tools : []), ...turns.flatMap(({ parts }) => parts)];
    this.#places = places;
    this.#surplus = marked.filter(isMarked).length - (places === null ? 0 : maxPoints);
    this.#dropped = dropped;
  }

  /** The life of the point behind a tool; null without one. */
  behindTool(tool: CachePoint): '5m' | '1h' | null {
    if (this.#places?.inTools === true || tool.cacheTtl === undefined) return this.behind(tool);
    this.#dropped.ignore(cacheHint);
    return null;
  }

  /** The same for a part. */
  behind({ cacheTtl }: CachePoint): '5m' | '1h' | null {
    if (cacheTtl === undefined) return null;
    if (this.#surplus > 0) {
      this.#surplus -= 1;
      this.#dropped.ignore(cacheHint);
      return null;
    }
    if (cacheTtl === '1h' && this.#places?.isHourly === true && !this.#hasShort) return '1h';
    if (cacheTtl === '1h') this.#dropped.ignore(`${cacheHint}.ttl`);
    this.#hasShort = true;
    return '5m';
  }
}

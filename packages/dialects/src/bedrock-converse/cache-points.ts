import type { Fields } from '@gatehouse/kit/fields';
import type { ModelFacts } from '../translation/api.ts';
import type { CachePoint, Conversation } from '../translation/conversation.ts';
import type { DroppedFields } from '../translation/dropped-fields.ts';
import { factsOf, familyOf, type FactsOverlay } from '../model-facts.ts';

/** The maximum for a request. */
const maxPoints = 4;

/** https://docs.aws.amazon.com/bedrock/latest/userguide/prompt-caching.html */
export function hasCachePoints(facts: Pick<ModelFacts, 'name'> & FactsOverlay): boolean {
  return factsOf(facts).cachePoints !== 'none';
}

/** Writes the cache points of one request, in the order of the prompt: tools, system text, messages. */
export class CachePoints {
  readonly #isHourly: boolean;
  readonly #takesTools: boolean;
  /** Points to leave out: the last ones reach farthest. */
  #surplus: number;
  readonly #dropped: DroppedFields;

  constructor(
    { tools, turns }: Pick<Conversation, 'tools' | 'turns'>,
    facts: ModelFacts,
    dropped: DroppedFields,
  ) {
    const isClaude = familyOf(facts) === 'claude';
    const places = [...(isClaude ? tools : []), ...turns.flatMap(({ parts }) => parts)];
    const known = hasCachePoints(facts) ? maxPoints : 0;
    this.#surplus = places.filter((place) => 'cacheTtl' in place).length - known;
    this.#takesTools = isClaude;
    this.#isHourly = factsOf(facts).cachePoints === '1h';
    this.#dropped = dropped;
  }

  behindTool(tool: CachePoint): Fields[] {
    if (this.#takesTools || tool.cacheTtl === undefined) return this.behind(tool);
    this.#dropped.ignore('cache_control');
    return [];
  }

  /** The point behind a block, if it has one. */
  behind({ cacheTtl }: CachePoint): Fields[] {
    if (cacheTtl === undefined) return [];
    if (this.#surplus > 0) {
      this.#surplus -= 1;
      this.#dropped.ignore('cache_control');
      return [];
    }
    const isHourly = cacheTtl === '1h' && this.#isHourly;
    if (cacheTtl === '1h' && !isHourly) this.#dropped.ignore('cache_control.ttl');
    return [{ cachePoint: { type: 'default', ...(isHourly && { ttl: '1h' }) } }];
  }
}

import type { Random } from '@gatehouse/test/random';

/** APIs that a conversation moves between. */
export const apis = ['chat', 'responses', 'messages', 'gemini'] as const;
export type Api = (typeof apis)[number];

/** A model that a conversation may move to: its name decides the rules by which its provider refuses requests. */
export interface Place {
  api: Api;
  model: string;
  /** Whether a client of the model's own API asks it to think, and how at Anthropic. */
  thinks: false | 'effort' | 'budget';
}

export const places: readonly Place[] = [
  { api: 'chat', model: 'gpt-4.1', thinks: false },
  { api: 'chat', model: 'kimi-k2.5', thinks: false },
  { api: 'responses', model: 'gpt-5.4', thinks: 'effort' },
  { api: 'responses', model: 'gpt-5.6-luna', thinks: 'effort' },
  { api: 'messages', model: 'claude-sonnet-4-5', thinks: 'budget' },
  { api: 'messages', model: 'claude-opus-4-7', thinks: 'effort' },
  { api: 'messages', model: 'claude-opus-5-5', thinks: 'effort' },
  { api: 'gemini', model: 'gemini-2.5-pro', thinks: 'effort' },
  { api: 'gemini', model: 'gemini-3.1-pro', thinks: 'effort' },
];

/** Turns of a conversation, each at another place. */
export type Walk = readonly Place[];

/** A conversation's length in requests. */
export const walkLength = 8;

/**
 * Walks that have each API directly behind each other one at least once: the pieces of a circuit through all ordered
 * pairs. Models of an API take turns, beginning with one that the random numbers choose.
 */
export function coveringWalks(random: Random, count: number): Walk[] {
  const circuit = circuitOf(apis);
  const turns = new Map(apis.map((api) => [api, random.between(0, places.length - 1)]));
  const next = (api: Api): Place => {
    const ofApi = places.filter((place) => place.api === api);
    const turn = turns.get(api) ?? 0;
    turns.set(api, turn + 1);
    const place = ofApi[turn % ofApi.length];
    if (place === undefined) throw new Error(`no model of ${api}`);
    return place;
  };
  return Array.from({ length: count }, (_, walk) =>
    Array.from({ length: walkLength }, (_each, step) => {
      const api = circuit[(walk * (walkLength - 1) + step) % circuit.length];
      return next(api ?? 'chat');
    }),
  );
}

/** A closed walk that takes each ordered pair once, without its end: Hierholzer's algorithm. */
function circuitOf(names: readonly Api[]): Api[] {
  const open = new Map(names.map((from) => [from, names.filter((to) => to !== from)]));
  const path: Api[] = ['chat'];
  const circuit: Api[] = [];
  for (let at = path.at(-1); at !== undefined; at = path.at(-1)) {
    const to = open.get(at)?.pop();
    if (to === undefined) circuit.unshift(...path.splice(-1));
    else path.push(to);
  }
  return circuit.slice(0, -1);
}

/** The ordered pairs of APIs in walks, such as `chat>gemini`. */
export function pairsIn(walks: readonly Walk[]): Set<string> {
  const pairs = walks.flatMap((walk) =>
    walk.slice(1).map(({ api }, index) => `${walk[index]?.api ?? ''}>${api}`),
  );
  return new Set(pairs);
}

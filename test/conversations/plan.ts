import { profileOf } from '@gatehouse/test/provider-simulator/rules/model-name';
import type { Random } from '@gatehouse/test/random';

/** APIs that a conversation moves between. */
export const apis = ['chat', 'responses', 'messages', 'gemini', 'converse'] as const;
export type Api = (typeof apis)[number];

/** A model that a conversation may move to: its name decides the rules by which its provider refuses requests. */
export interface Place {
  api: Api;
  /** In the catalogue. */
  model: string;
  /** At the provider; by default as in the catalogue. */
  upstream?: string;
  /** By default the vendor of the API. */
  host?: 'bedrock' | 'vertex';
  /** The operator's word for the model behind a name that doesn't show it. */
  family?: string;
  /** Whether a client of the model's own API asks it to think, and how at Anthropic; or not to, since it has tools. */
  thinks: false | 'effort' | 'budget' | 'never';
}

export const places: readonly Place[] = [
  { api: 'chat', model: 'gpt-4.1', thinks: false },
  { api: 'chat', model: 'kimi-k2.5', thinks: false },
  { api: 'chat', model: 'deepseek-v4', thinks: false },
  { api: 'chat', model: 'gpt-5.6-sol', thinks: 'never' },
  { api: 'responses', model: 'gpt-5.4', thinks: 'effort' },
  { api: 'responses', model: 'gpt-5.6-luna', thinks: 'effort' },
  { api: 'messages', model: 'claude-sonnet-4-5', thinks: 'budget' },
  { api: 'messages', model: 'claude-opus-4-7', thinks: 'effort' },
  { api: 'messages', model: 'claude-opus-5-5', thinks: 'effort' },
  {
    ...{ api: 'messages', model: 'invoked-opus-4-7', upstream: 'eu.anthropic.claude-opus-4-7' },
    ...{ host: 'bedrock', thinks: 'effort' },
  },
  {
    ...{ api: 'messages', model: 'vertex-opus-4-7', upstream: 'claude-opus-4-7@20260416' },
    ...{ host: 'vertex', thinks: 'effort' },
  },
  ...converse('bedrock-sonnet-4-5', 'us.anthropic.claude-sonnet-4-5-20250929-v1:0'),
  ...converse('bedrock-opus-4-7', 'us.anthropic.claude-opus-4-7'),
  ...converse('bedrock-opus-5-5', 'us.anthropic.claude-opus-5-5'),
  ...converse('bedrock-arn', profileOf('anthropic.claude-opus-4-8'), 'claude-opus-4-8'),
  ...converse('bedrock-nova', 'us.amazon.nova-2-lite-v1:0'),
  { api: 'gemini', model: 'gemini-2.5-pro', thinks: 'effort' },
  { api: 'gemini', model: 'gemini-3.1-pro', thinks: 'effort' },
  {
    ...{ api: 'gemini', model: 'vertex-gemini-2.5', upstream: 'gemini-2.5-flash' },
    ...{ host: 'vertex', thinks: 'effort' },
  },
  {
    ...{ api: 'gemini', model: 'vertex-gemini-3.1', upstream: 'gemini-3.1-pro-preview' },
    ...{ host: 'vertex', thinks: 'effort' },
  },
];

function converse(model: string, upstream: string, family?: string): Place[] {
  return [{ api: 'converse', model, upstream, ...(family !== undefined && { family }), thinks: false }];
}

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

/** Walks that have each model directly behind each other one, also those of one API. */
export function placeWalks(random: Random): Walk[] {
  const circuit = circuitOf(random.shuffle(places));
  const pieces = Math.ceil(circuit.length / (walkLength - 1));
  return Array.from({ length: pieces }, (_, walk) =>
    Array.from({ length: walkLength }, (_each, step) => walk * (walkLength - 1) + step).flatMap(
      (at) => circuit[at % circuit.length] ?? [],
    ),
  );
}

/** A closed walk that takes each ordered pair once, without its end: Hierholzer's algorithm. */
function circuitOf<Node>(nodes: readonly Node[]): Node[] {
  const open = new Map(nodes.map((from) => [from, nodes.filter((to) => to !== from)]));
  const path = nodes.slice(0, 1);
  const circuit: Node[] = [];
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
  return new Set(pairs.filter((pair) => !/^(.*)>\1$/.test(pair)));
}

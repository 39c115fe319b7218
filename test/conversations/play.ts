import { dialectNames } from '@gatehouse/contract/dialects';
import type { ProviderSimulator } from '@gatehouse/test/provider-simulator/simulator';
import type { Client, ClientKind } from './client.ts';
import { ignoredNames, namesIn } from './ignored.ts';
import { places, type Place, type Walk } from './plan.ts';
import { calls, firstStrange, hosted, resultText, turnsOf, type Reply, type Turn } from './turns.ts';

/** A conversation to play: its client, and where each of its turns goes. */
export interface Conversation {
  seed: number;
  /** The number of the walk. */
  number: number;
  walk: Walk;
  client: ClientKind;
  stream: boolean;
}

/** The gateway and the provider of conversations. */
export interface Stage {
  url: string;
  key: string;
  simulator: ProviderSimulator;
  /** Sends requests of clients, one of them several times if it is cut; by default the global one. */
  fetch?: typeof fetch;
}

/** Plays a conversation. Returns what was wrong, with the bodies of its requests; null if nothing was. */
export async function play(stage: Stage, conversation: Conversation): Promise<string | null> {
  const { number, walk, stream } = conversation;
  const sent: string[] = [];
  let ignored = '';
  const client = conversation.client.open({
    ...{ url: stage.url, key: stage.key, stream },
    fetch: async (input, init) => {
      sent.push(typeof init?.body === 'string' ? init.body : '');
      const response = await (stage.fetch ?? fetch)(input, init);
      ignored = response.headers.get('x-gateway-ignored') ?? '';
      return response;
    },
  });
  const played: Played = { texts: [], ids: [] };
  const turns = turnsOf(number);
  for (const [index, walked] of walk.entries()) {
    const turn = turns[index];
    if (turn === undefined) throw new Error('a walk is longer than its turns');
    const place = isHole(conversation.client, walked) ? (substitute ?? walked) : walked;
    const { dialect, isRaw } = conversation.client;
    const hasHints = isRaw === true && number < firstStrange;
    const problem =
      (await playTurn(stage, { client, turn, place, played })) ??
      (hasHints
        ? problemOfIgnored(namesIn(ignored, place, dialect), ignoredNames(turn, place, dialect))
        : null);
    if (problem !== null)
      return `${nameOf(conversation, index)}, ${turn.feature}: ${problem}\n  client: ${sent.at(-1) ?? ''}`;
  }
  return null;
}

/** Servers that refuse calls without reasoning, also those of other models. */
const wantsReasoning = /^(?:kimi|deepseek)/;
const substitute = places.find(({ model }) => model === 'gpt-4.1');

/**
 * Whether the gateway passes a client's bytes as they are, which miss the reasoning that the server wants, or, of SDKs,
 * the word that a model with tools must not think.
 */
function isHole({ name, dialect }: ClientKind, { api, model, thinks }: Place): boolean {
  const missesWord = thinks === 'never' && !rawKinds.has(name);
  return dialect === 'chat' && api === 'chat' && (missesWord || wantsReasoning.test(model));
}

/** Names of clients without an SDK. */
const rawKinds: ReadonlySet<string> = new Set(dialectNames);

/** The name of a conversation, or of one of its turns. */
export function nameOf({ client, stream, seed, number, walk }: Conversation, turn?: number): string {
  const places = walk.map(({ api, model }, index) => `${index === turn ? '→ ' : ''}${api} ${model}`);
  const name = `${client.name} ${stream ? 'streamed' : 'whole'}`;
  return `${name}, CONVERSATION=${seed}:${number}, ${places.join(', ')}`;
}

/** Texts and ids of a conversation so far. */
interface Played {
  texts: string[];
  ids: string[];
}

interface PlayedTurn {
  client: Client;
  turn: Turn;
  place: Place;
  played: Played;
}

async function playTurn({ simulator, fetch: repeating }: Stage, { client, turn, place, played }: PlayedTurn) {
  simulator.setFault(turn.fault);
  const before = simulator.requests.at(-1)?.seq ?? 0;
  const reply = await client.say(turn, place).catch((error: unknown) => String(error));
  const sent = simulator.requests.filter(({ seq }) => seq > before);
  const bodies = sent.map(({ raw_bytes: bytes }) => bytes.toString()).slice(repeating === undefined ? 0 : -1);
  if (turn.text !== null) played.texts.push(turn.text);
  if (turn.feature === 'hosted') played.texts.push(hosted.text, hosted.answer);
  if (turn.feature === 'results') played.texts.push(...calls.map((_, index) => resultText(index)));
  const problem =
    typeof reply === 'string'
      ? reply
      : (problemOfBodies(bodies, played) ?? problemOfReply(reply, { turn, place, played }));
  if (turn.expected !== null && turn.expected !== '') played.texts.push(turn.expected);
  if (problem === null) return null;
  return `${problem}\n  provider: ${sent[0]?.path ?? ''} ${bodies.join('\n  again: ')}\n  answer: ${JSON.stringify(reply)}`;
}

function problemOfIgnored(names: readonly string[], expected: readonly string[]): string | null {
  const [named, wanted] = [names.join(', '), expected.join(', ')];
  return named === wanted ? null : `the header names "${named}" instead of "${wanted}"`;
}

function problemOfBodies(bodies: readonly string[], { texts }: Played): string | null {
  if (bodies.length !== 1) return `${bodies.length} requests`;
  const lost = texts.find((each) => !heldIn(bodies[0] ?? '', each));
  return lost === undefined ? null : `the provider didn't get "${lost}"`;
}

/** Whether a body has a text, also as JSON inside of JSON, or in pieces. */
function heldIn(body: string, text: string): boolean {
  const escaped = JSON.stringify(text).slice(1, -1);
  const texts = Array.from(body.matchAll(/"text":"((?:[^"\\]|\\.)*)"/g), ([, piece = '']) => piece);
  return [text, escaped].some((each) => body.includes(each)) || texts.join('').includes(escaped);
}

function problemOfReply(reply: Reply, { turn, place, played }: Omit<PlayedTurn, 'client'>): string | null {
  // The simulator's Gemini has no limit of tokens.
  const isCut = turn.feature === 'severed' || (turn.feature === 'cut' && place.api !== 'gemini');
  if (isCut && !/length|incomplete|max_tokens|MAX_TOKENS/.test(reply.stop))
    return `the answer stopped by ${reply.stop}`;
  if (turn.expected !== null && turn.expected !== reply.texts.join(''))
    return `the text is ${JSON.stringify(reply.texts)}`;
  if (reply.texts.length > 1) return `${reply.texts.length} blocks of text`;
  const wanted = turn.feature === 'calls' ? calls : [];
  const got = reply.calls.map(({ name, input }) => ({ name, input }));
  if (JSON.stringify(got) !== JSON.stringify(wanted)) return `the calls are ${JSON.stringify(got)}`;
  played.ids.push(...reply.ids, ...reply.calls.map(({ id }) => id).filter((id) => id !== ''));
  const twice = played.ids.find((id, index) => id === '' || played.ids.indexOf(id) !== index);
  if (twice !== undefined) return `the id "${twice}" comes twice`;
  return null;
}

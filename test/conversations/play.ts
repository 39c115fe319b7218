import type { DialectName } from '@gatehouse/contract/dialects';
import { isFields, type Fields } from '@gatehouse/kit/fields';
import type { ProviderSimulator } from '@gatehouse/test/provider-simulator/simulator';
import type { Place, Walk } from './plan.ts';
import { rawClients, type RawClient, type Reply } from './raw-clients.ts';
import { calls, turnsOf, type Turn } from './turns.ts';

/** A conversation to play: its dialect, and where each of its turns goes. */
export interface Conversation {
  seed: number;
  /** The number of the walk. */
  number: number;
  walk: Walk;
  dialect: DialectName;
  stream: boolean;
}

/** The gateway and the provider of conversations. */
export interface Stage {
  url: string;
  key: string;
  simulator: ProviderSimulator;
}

/** Plays a conversation. Returns what was wrong, with the bodies of its requests; null if nothing was. */
export async function play(stage: Stage, conversation: Conversation): Promise<string | null> {
  const client = rawClients[conversation.dialect]();
  const played: Played = { texts: [], ids: [] };
  const turns = turnsOf(conversation.number);
  for (const [index, place] of conversation.walk.entries()) {
    const turn = turns[index];
    if (turn === undefined) throw new Error('a walk is longer than its turns');
    const problem = await playTurn(stage, { conversation, client, turn, place, played });
    if (problem !== null) return `${nameOf(conversation, index)}, ${turn.feature}: ${problem}`;
  }
  return null;
}

/** The name of a conversation, or of one of its turns. */
export function nameOf({ dialect, stream, seed, number, walk }: Conversation, turn?: number): string {
  const places = walk.map(({ api, model }, index) => `${index === turn ? '→ ' : ''}${api} ${model}`);
  return `${dialect} ${stream ? 'streamed' : 'whole'}, CONVERSATION=${seed}:${number}, ${places.join(', ')}`;
}

/** Texts and ids of a conversation so far. */
interface Played {
  texts: string[];
  ids: string[];
}

interface PlayedTurn {
  conversation: Conversation;
  client: RawClient;
  turn: Turn;
  place: Place;
  played: Played;
}

async function playTurn(stage: Stage, { conversation, client, turn, place, played }: PlayedTurn) {
  const { simulator, url, key } = stage;
  const { path, body } = client.request(turn, place, conversation.stream);
  simulator.setFault(turn.fault);
  const before = simulator.requests.at(-1)?.seq ?? 0;
  const headers = {
    ...{ 'content-type': 'application/json', authorization: `Bearer ${key}` },
    ...(conversation.dialect === 'messages' && { 'anthropic-version': '2023-06-01' }),
  };
  const response = await fetch(url + path, { method: 'POST', headers, body: JSON.stringify(body) });
  const text = await response.text();
  const sent = simulator.requests.filter(({ seq }) => seq > before);
  const arrived = sent.map(({ raw_bytes: bytes }) => bytes.toString());
  if (turn.text !== null) played.texts.push(turn.text);
  const problem = problemWith({ response, text, arrived, client, turn, place, played });
  if (turn.expected !== null && turn.expected !== '') played.texts.push(turn.expected);
  if (problem === null) return null;
  return `${problem}\n  client: ${path} ${JSON.stringify(body)}\n  provider: ${sent[0]?.path ?? ''} ${arrived.join('\n  again: ')}\n  answer: ${response.status} ${text.slice(0, 3_000)}`;
}

interface Got {
  response: Response;
  text: string;
  arrived: readonly string[];
  client: RawClient;
  turn: Turn;
  place: Place;
  played: Played;
}

function problemWith({ response, text, arrived, client, turn, place, played }: Got): string | null {
  if (response.status !== 200) return `status ${response.status}`;
  if (arrived.length !== 1) return `${arrived.length} requests`;
  const lost = played.texts.find((each) => !heldIn(arrived[0] ?? '', each));
  if (lost !== undefined) return `the provider didn't get "${lost}"`;
  const isStream = response.headers.get('content-type')?.startsWith('text/event-stream') === true;
  const reply = client.answered(isStream ? eventsIn(text) : (JSON.parse(text) as Fields));
  // The simulator's Gemini has no limit of tokens.
  const isCut = turn.feature === 'cut' && place.api !== 'gemini';
  if (isCut && !/length|incomplete|max_tokens|MAX_TOKENS/.test(reply.stop))
    return `the answer stopped by ${reply.stop}`;
  return problemOfReply(reply, turn, played);
}

/** Whether a body has a text, also as JSON inside of JSON. */
function heldIn(body: string, text: string): boolean {
  const escaped = JSON.stringify(text).slice(1, -1);
  return body.includes(text) || body.includes(escaped);
}

function problemOfReply(reply: Reply, turn: Turn, played: Played): string | null {
  if (turn.expected !== null && turn.expected !== reply.texts.join(''))
    return `the text is ${JSON.stringify(reply.texts)}`;
  if (reply.texts.length > 1) return `${reply.texts.length} blocks of text`;
  const wanted = turn.feature === 'calls' ? calls : [];
  const got = reply.calls.map(({ name, input }) => ({ name, input }));
  if (JSON.stringify(got) !== JSON.stringify(wanted)) return `the calls are ${JSON.stringify(got)}`;
  const ids = reply.calls.map(({ id }) => id).filter((id) => id !== '');
  played.ids.push(...ids);
  if (new Set(played.ids).size !== played.ids.length) return 'ids of calls come twice';
  return null;
}

function eventsIn(stream: string): Fields[] {
  return stream
    .split('\n')
    .filter((line) => line.startsWith('data:') && !line.includes('[DONE]'))
    .map((line) => JSON.parse(line.slice('data:'.length)) as unknown)
    .filter(isFields);
}

import type { DialectName } from '@gatehouse/contract/dialects';
import type { Fault } from '@gatehouse/test/provider-simulator/faults';
import type { Place } from './plan.ts';

type Feature =
  | 'text'
  | 'calls'
  | 'results'
  | 'picture'
  | 'structured'
  | 'cut'
  | 'system'
  | 'recall'
  | StrangeFeature;

/** Traits of histories that began elsewhere, which clients by `fetch` alone have. */
type StrangeFeature = 'hosted' | 'empty' | 'severed';

/** One request of a conversation, in no API's words. */
export interface Turn {
  feature: Feature;
  /** Whether the client has the model call a tool, whatever it thinks of it. */
  isForced?: true;
  /** The user's text; null where results of tools are sent alone. */
  text: string | null;
  /** How the provider answers. */
  fault: Fault;
  /** The answer's text; null where the provider's own is taken. */
  expected: string | null;
}

/** The system prompt of all conversations. */
export const system = 'You are a guard.';

/** The most tokens of the answer to a turn. */
export function limitOf({ feature }: Turn): number {
  return feature === 'cut' ? 16 : 4_096;
}

/** Whether a client asks the model to think in a turn. */
export function wantsThoughts({ feature }: Turn): boolean {
  return feature === 'calls' || feature === 'recall';
}

/** The effort that a client of chat completions, which knows the models of its own API, asks for; null for no word of it. */
export function chatEffort(turn: Turn, { api, thinks }: Place): 'high' | 'none' | null {
  if (api === 'chat' && thinks === 'never') return 'none';
  return wantsThoughts(turn) && (api !== 'chat' || thinks !== false) ? 'high' : null;
}

/** Whether a client forces a call: newest models of Anthropic refuse it, as a client of Anthropic's API knows. */
export function forcesCall({ isForced }: Turn, { api, model }: Place, dialect: DialectName): boolean {
  return isForced === true && !(api === dialect && refusesForcedCalls.test(model));
}

/** Claude that chooses its calls itself (https://platform.claude.com/docs/en/models/opus-5-5/whats-new-opus-5-5). */
export const refusesForcedCalls = /opus-5-5/;

/** The type that a client says of the picture: OpenAI takes a wrong one, Anthropic and Google refuse it. */
export function pictureType(dialect: DialectName): string {
  return dialect === 'chat' || dialect === 'responses' ? 'image/png' : 'image/jpeg';
}

/** Whether all models of the dialect's own API take a system text in the middle. */
export function takesSystemInMiddle(dialect: DialectName): boolean {
  return dialect === 'chat' || dialect === 'responses';
}

/** The configuration by which a client of Google's, which knows the model's rules, has it think. */
export function thinkingConfigFor(model: string): {
  includeThoughts: boolean;
  thinkingBudget?: number;
  thinkingLevel?: 'high';
} {
  const size = /gemini-[3-9]/.test(model) ? ({ thinkingLevel: 'high' } as const) : { thinkingBudget: 2_048 };
  return { includeThoughts: true, ...size };
}

/** The answer to a turn, as a client reads it. */
export interface Reply {
  /** Texts of the answer by block, in order. */
  texts: string[];
  calls: { id: string; name: string; input: unknown }[];
  /** Why the answer ended, in the dialect's words. */
  stop: string;
  /** Ids of the answer and of what it has, by which clients distinguish answers. */
  ids: string[];
}

/** The text in the result of a call by its number. */
export function resultText(index: number): string {
  return `Result ${index} of the tool.`;
}

/** Results of the calls of an answer, the last call's first. */
export function resultsOf(answered: Reply['calls']): { id: string; name: string; text: string }[] {
  return answered.map(({ id, name }, index) => ({ id, name, text: resultText(index) })).reverse();
}

/** A question and its answer by a hosted tool, which stand in the history before the turn `hosted`. */
export const hosted = { text: 'Search for the gate.', answer: 'The gate is old, says a page.' };

/** Calls in the turn `calls`, whose results come in the opposite order. */
export const calls = [
  { name: 'look', input: { at: 'the "gate"\n', times: 2 } },
  { name: 'look', input: { at: 'the house é', times: 1 } },
];

/** Arguments of `calls`, as a schema. */
export const lookSchema = {
  type: 'object' as const,
  properties: { at: { type: 'string', description: 'A place.' }, times: { type: 'integer' } },
  required: ['at'],
  additionalProperties: false as const,
};

/** The document of the turn `structured`. */
export const documentSchema = {
  type: 'object' as const,
  properties: { colour: { type: 'string' }, doors: { type: 'array', items: { type: 'string' } } },
  required: ['colour' as const, 'doors' as const],
  additionalProperties: false as const,
};

/** A picture of a byte, as JPEG. */
export const jpeg =
  '/9j/4AAQSkZJRgABAQEAYABgAAD/2wBDAAMCAgICAgMCAgIDAwMDBAYEBAQEBAgGBgUGCQgKCgkICQkKDA8MCgsOCwkJDRENDg8QEBEQCgwSExIQEw8QEBD/wAALCAABAAEBAREA/8QAFAABAAAAAAAAAAAAAAAAAAAACf/EABQQAQAAAAAAAAAAAAAAAAAAAAD/2gAIAQEAAD8AVN//2Q==';

const document = JSON.stringify({ colour: 'green', doors: ['east'] });

/** The number of the first walk with histories that are strange. */
export const firstStrange = 100;

function forced(turn: Turn): Turn {
  return turn.feature === 'calls' ? { ...turn, isForced: true } : turn;
}

/**
 * Turns of a conversation. Walks have features in another order by their numbers, and every other one calls twice, the
 * second time because it is forced to.
 */
export function turnsOf(walk: number): Turn[] {
  const say = (feature: Turn['feature'], text: string, fault: Fault = {}): Turn => {
    const expected = `The answer to ${feature}.`;
    return { feature, text, fault: { content: expected, ...fault }, expected };
  };
  const called: Turn[] = [
    {
      ...{ feature: 'calls', text: 'Use the tools, please.', expected: '' },
      fault: {
        ...{ thinking: 3, tool_rounds: 100 },
        tool_calls: calls.map(({ name, input }) => ({ name, arguments: input })),
      },
    },
    { ...say('results', ''), text: null },
  ];
  const structured = [{ ...say('structured', 'As a document.', { content: document }), expected: document }];
  const severed: Turn = {
    ...{ feature: 'severed', text: 'Use a tool at length.', expected: '' },
    fault: {
      ...{ thinking: 0, tool_rounds: 100, calls_cut: true },
      tool_calls: [{ name: 'look', arguments: '{"at":"the ga' }],
    },
  };
  const strange = [
    [say('hosted', 'What does the page say?')],
    [{ ...say('empty', 'Say nothing.', { content: '' }), expected: '' }],
    ...[[severed], called, structured],
  ];
  const cut: Turn[] = [{ feature: 'cut', text: 'A long story.', fault: { chunks: 40 }, expected: null }];
  const groups =
    walk >= firstStrange
      ? strange
      : walk % 2 === 0
        ? [
            called,
            [say('picture', 'A picture of it.', { thinking: 2 })],
            structured,
            cut,
            [say('system', 'Another rule.')],
          ]
        : [called, called.map(forced), structured, cut];
  const turned = groups.map((_, index) => groups[(index + walk) % groups.length] ?? []);
  return [
    say('text', 'The gate is green.'),
    ...turned.flat(),
    say('recall', 'Which colour has the gate?', { thinking: 2, usage: { cached_tokens: 7 } }),
  ];
}

import type { Fault } from '@gatehouse/test/provider-simulator/faults';

/** One request of a conversation, in no API's words. */
export interface Turn {
  feature: 'text' | 'calls' | 'results' | 'picture' | 'structured' | 'cut' | 'system' | 'recall';
  /** The user's text; null where results of tools are sent alone. */
  text: string | null;
  /** How the provider answers. */
  fault: Fault;
  /** The answer's text; null where the provider's own is taken. */
  expected: string | null;
}

/** Calls in the turn `calls`, whose results come in the opposite order. */
export const calls = [
  { name: 'look', input: { at: 'the "gate"\n', times: 2 } },
  { name: 'look', input: { at: 'the house é', times: 1 } },
];

/** Arguments of `calls`, as a schema. */
export const lookSchema = {
  type: 'object',
  properties: { at: { type: 'string', description: 'A place.' }, times: { type: 'integer' } },
  required: ['at'],
  additionalProperties: false,
};

/** The document of the turn `structured`. */
export const documentSchema = {
  type: 'object',
  properties: { colour: { type: 'string' }, doors: { type: 'array', items: { type: 'string' } } },
  required: ['colour', 'doors'],
  additionalProperties: false,
};

/** A picture of a byte, as JPEG. */
export const jpeg =
  '/9j/4AAQSkZJRgABAQEAYABgAAD/2wBDAAMCAgICAgMCAgIDAwMDBAYEBAQEBAgGBgUGCQgKCgkICQkKDA8MCgsOCwkJDRENDg8QEBEQCgwSExIQEw8QEBD/wAALCAABAAEBAREA/8QAFAABAAAAAAAAAAAAAAAAAAAACf/EABQQAQAAAAAAAAAAAAAAAAAAAAD/2gAIAQEAAD8AVN//2Q==';

const document = JSON.stringify({ colour: 'green', doors: ['east'] });

/** Turns of a conversation; walks with different numbers have features in another order. */
export function turnsOf(walk: number): Turn[] {
  const say = (feature: Turn['feature'], text: string, fault: Fault = {}): Turn => {
    const expected = `The answer to ${feature}.`;
    return { feature, text, fault: { content: expected, ...fault }, expected };
  };
  const groups: Turn[][] = [
    [
      {
        ...{ feature: 'calls', text: 'Use the tools, please.', expected: '' },
        fault: { thinking: 3, tool_calls: calls.map(({ name, input }) => ({ name, arguments: input })) },
      },
      { ...say('results', ''), text: null },
    ],
    [say('picture', 'A picture of it.', { thinking: 2 })],
    [{ ...say('structured', 'As a document.', { content: document }), expected: document }],
    [{ feature: 'cut', text: 'A long story.', fault: { chunks: 40 }, expected: null }],
    [say('system', 'Another rule.')],
  ];
  const turned = groups.map((_, index) => groups[(index + walk) % groups.length] ?? []);
  return [
    say('text', 'The gate is green.'),
    ...turned.flat(),
    say('recall', 'Which colour has the gate?', { thinking: 2, usage: { cached_tokens: 7 } }),
  ];
}

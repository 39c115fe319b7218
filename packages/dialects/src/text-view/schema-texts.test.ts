import type { DialectName } from '@gatehouse/contract/dialects';
import { atOnce } from '@gatehouse/kit/cooperative-steps';
import { describe, expect, it } from '@jest/globals';
import { dialects } from '../dialects.ts';
import { TextView } from './text-view.ts';

type Fields = Record<string, unknown>;

const schema = {
  type: 'object',
  properties: {
    to: { type: 'integer', enum: [41, 42], default: 43, examples: [44], minimum: 1, maximum: 100 },
    from: { const: 45, default: { n: 46 } },
    list: { type: 'array', items: { type: 'string', minLength: 2 }, minItems: 3 },
  },
};

const tools: Record<DialectName, Fields> = {
  chat: { type: 'function', function: { name: 'send', parameters: schema } },
  responses: { type: 'function', name: 'send', parameters: schema },
  messages: { name: 'send', input_schema: schema },
  gemini: { functionDeclarations: [{ name: 'send', parameters: schema }] },
};

/** The numbers among the texts of a tool, each with `=` before it if it can't be rewritten. */
const numbersIn = (name: DialectName, tool: Fields): string[] =>
  atOnce(TextView.read(Buffer.from(JSON.stringify({ tools: [tool] })), dialects[name].texts.request))
    .texts.filter(({ value }) => /^\d+$/.test(value))
    .map(({ value, isFixed }) => (isFixed ? `=${value}` : value));

describe('numbers in the definition of a tool', () => {
  it.each(Object.entries(tools) as [DialectName, Fields][])('are texts but bounds in %s', (name, tool) => {
    expect(numbersIn(name, tool)).toEqual(['=41', '=42', '43', '44', '=45', '=46']);
  });

  it('are texts in examples of input', () => {
    expect(numbersIn('messages', { name: 'send', input_examples: [{ to: 41, list: [42] }] })).toEqual([
      ...['41', '42'],
    ]);
  });
});

describe('the forms of values in schemas', () => {
  const moved = (name: DialectName, body: Fields): unknown => {
    const view = atOnce(TextView.read(Buffer.from(JSON.stringify(body)), dialects[name].texts.request));
    return JSON.parse(atOnce(view.rewritten([], { movesForms: true })).whole.toString());
  };
  const [format, pattern, description] = ['email', '^a"$', 'An address.'];
  const forms = 'format: email; pattern: ^a"$';
  const cases: [Fields, Fields][] = [
    [
      { type: 'string', format, pattern },
      { type: 'string', description: forms },
    ],
    [
      { format, type: 'string', pattern },
      { description: forms, type: 'string' },
    ],
    [
      { description, format, pattern, type: 'string' },
      { description: `${description} (${forms})`, type: 'string' },
    ],
    [
      { format, description, type: 'string', pattern },
      { description: `${description} (${forms})`, type: 'string' },
    ],
    [{ description: '', format }, { description: 'format: email' }],
    [
      { pattern, items: { format } },
      { description: 'pattern: ^a"$', items: { description: 'format: email' } },
    ],
    [
      { anyOf: [{ format }, { pattern }] },
      { anyOf: [{ description: 'format: email' }, { description: 'pattern: ^a"$' }] },
    ],
    [{ $defs: { format: { format } } }, { $defs: { format: { description: 'format: email' } } }],
    ...[{ default: { format } }, { enum: [{ format }] }, { examples: [{ pattern }] }, { format: 1 }].map(
      (same): [Fields, Fields] => [same, same],
    ),
  ];

  it.each(Object.keys(tools) as DialectName[])('move to descriptions in %s', (name) => {
    for (const [before, after] of cases) {
      const bodyOf = (parameters: Fields): Fields => ({
        tools: [
          JSON.parse(
            JSON.stringify(tools[name]).replace(JSON.stringify(schema), () => JSON.stringify(parameters)),
          ),
        ],
      });
      const parameters = { type: 'object', properties: { pattern: before } };
      expect(moved(name, bodyOf(parameters))).toEqual(
        bodyOf({ type: 'object', properties: { pattern: after } }),
      );
      expect(moved(name, bodyOf(before))).toEqual(bodyOf(after));
    }
  });

  it('move beside changes of their descriptions', () => {
    const body = Buffer.from(
      JSON.stringify({ tools: [{ name: 'f', input_schema: { description, format } }] }),
    );
    const view = atOnce(TextView.read(body, dialects.messages.texts.request));
    const changes = view.texts
      .filter(({ value }) => value === description)
      .map((viewText) => ({ viewText, from: 3, until: description.length, text: 'x' }));
    expect(atOnce(view.rewritten(changes, { movesForms: true })).whole.toString()).toContain(
      '{"description":"An x (format: email)"}',
    );
  });
});

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

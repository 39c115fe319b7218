import { expect, it } from '@jest/globals';
import fc from 'fast-check';
import { estimateTokens } from './usage/token-estimate.ts';
import { isTokens } from './usage/tokens.ts';
import { dialects } from './dialects.ts';

const tool = { name: 'look', description: 'Looks something up.' };
const parameters = { type: 'object', properties: {} };

/** Requests of each dialect with a prompt, and that many tools of the client. */
const requests = {
  chat: (text: string, tools: number) => ({
    ...{ model: 'm', messages: [{ role: 'user', content: text }] },
    tools: Array.from({ length: tools }, () => ({ type: 'function', function: { ...tool, parameters } })),
  }),
  messages: (text: string, tools: number) => ({
    ...{ model: 'm', max_tokens: 16, messages: [{ role: 'user', content: text }] },
    tools: Array.from({ length: tools }, () => ({ ...tool, input_schema: parameters })),
  }),
  responses: (text: string, tools: number) => ({
    ...{ model: 'm', input: text },
    tools: Array.from({ length: tools }, () => ({ type: 'function', ...tool, parameters })),
  }),
  gemini: (text: string, tools: number) => ({
    contents: [{ role: 'user', parts: [{ text }] }],
    tools: [{ functionDeclarations: Array.from({ length: tools }, () => ({ ...tool, parameters })) }],
  }),
} as const;

const prompts = fc.oneof(
  fc.integer({ min: 0, max: 200 }),
  fc.integer({ min: 49_800, max: 50_200 }),
  fc.integer({ min: 60_000, max: 120_000 }),
);

it.each(Object.keys(requests) as (keyof typeof requests)[])(
  'the tokens of a prompt in %s can be estimated, whatever its length and its tools',
  async (name) => {
    await fc.assert(
      fc.asyncProperty(prompts, fc.integer({ min: 0, max: 6 }), async (chars, tools) => {
        const body = requests[name]('ab '.repeat(chars / 3), tools);
        const read = (parsed: object) =>
          dialects[name].readRequest('chat', Buffer.from(JSON.stringify(parsed)), parsed, {
            model: 'm',
            stream: false,
          });
        const sample = read(body).promptSample();
        expect(Number.isSafeInteger(sample.chars)).toBe(true);
        const tokens = await estimateTokens(sample, 't');
        expect(isTokens(tokens)).toBe(true);
        const without = await estimateTokens(
          read(requests[name]('ab '.repeat(chars / 3), 0)).promptSample(),
          't',
        );
        if (tools > 0) expect(tokens).toBeGreaterThan(without);
      }),
      { numRuns: 40 },
    );
  },
  120_000,
);

import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { Catalogue, type Model } from '../catalogue/catalogue.ts';
import { modelTarget } from '../catalogue/target.ts';
import { dialects } from '@gatehouse/dialects/dialects';
import { mostTokens } from './upper-bounds.ts';
import { answerBounds, hiddenTokens, type AnswerBounds, type Unseen } from './hidden-tokens.ts';

const bounds = (fields: Partial<AnswerBounds> = {}): AnswerBounds => ({
  ...{ thoughts: null, choices: 1, outputOf: () => 0 },
  ...fields,
});
const unseen = (fields: Partial<Unseen> = {}): Unseen => ({
  ...{ text: 0, generated: 1e9, reservedTokens: 1e9 },
  ...fields,
});
const owner = { reasoning: true, api: 'responses' as const };
const unknown = { reasoning: undefined, api: 'chat' as const };

describe('thoughts that no provider reported', () => {
  it.each<[string, Parameters<typeof hiddenTokens>, number]>([
    ['the budget of the request', [owner, bounds({ thoughts: 500 }), unseen({ text: 30 })], 500],
    [
      'no more than the deployment makes in the time',
      [owner, bounds({ thoughts: 500 }), unseen({ text: 30, generated: 130 })],
      100,
    ],
    [
      'none where all that was made has been seen',
      [owner, bounds({ thoughts: 500 }), unseen({ text: 300, generated: 130 })],
      0,
    ],
    [
      'no more than is reserved for the answer',
      [owner, bounds({ thoughts: 500 }), unseen({ text: 30, reservedTokens: 400 })],
      370,
    ],
    ['the usual effort of a model that thinks', [owner, bounds(), unseen()], 12_288],
    ['that for each choice', [owner, bounds({ choices: 2 }), unseen()], 24_576],
    [
      'none of a model that does not think',
      [{ ...unknown, reasoning: false }, bounds({ thoughts: 500 }), unseen()],
      0,
    ],
    ['none of a model of an unknown kind', [unknown, bounds(), unseen()], 0],
    ['those that are asked of one', [unknown, bounds({ thoughts: 500 }), unseen()], 500],
    [
      'none of a model that was not asked to think, and does so only then',
      [{ reasoning: true, api: 'messages' }, bounds(), unseen()],
      0,
    ],
  ])('are %s', (_what, asked, expected) => {
    expect(hiddenTokens(...asked)).toBe(expected);
  });
});

describe('the estimate of an answer that a client leaves', () => {
  const amount = fc.constantFrom(0, 1, 1_024, 8_192, 1e12, 1e308, Infinity);
  const fieldsOfRequest = {
    max_tokens: amount,
    thinking_budget: amount,
    thinking: fc.constantFrom({ type: 'enabled', budget_tokens: 1e12 }),
    reasoning_effort: fc.constantFrom('low', 'high', 'max'),
    n: fc.constantFrom(1, 3, 1e12),
  };
  const fieldsOfModel = {
    max_output_tokens: fc.constantFrom(1_000, 128_000),
    reasoning: fc.constantFrom(true, false),
  };
  const request = fc.record(fieldsOfRequest, { requiredKeys: [] });
  const ofModel = fc.record(fieldsOfModel, { requiredKeys: [] });
  const ofCall = fc.record({
    text: fc.nat({ max: 1e6 }),
    generated: fc.constantFrom(0, 500, 1e6, 1e12),
    lowered: fc.option(fc.integer({ min: 4_096, max: 20_000 })),
  });

  it('is never above what was seen and what was reserved', () => {
    fc.assert(
      fc.property(request, ofModel, ofCall, (fields, model, { text, generated, lowered }) => {
        const catalogue = Catalogue.parse({
          providers: [{ name: 'p', kind: 'openai', base_url: 'http://localhost/v1' }],
          models: [{ id: 'm', provider: 'p', ...model }],
        });
        const target = modelTarget(catalogue, 'm', null);
        const [called] = target.chain as [Model];
        const body = { model: 'm', messages: [{ role: 'user', content: 'hello' }], ...fields };
        // JSON has no Infinity, and parsers make one of 1e999.
        const asked = dialects.chat.readRequest('chat', Buffer.from(JSON.stringify(body)), body);
        const [most] = mostTokens(asked, target);
        const reservedEach = lowered ?? Infinity;
        const reserved = Math.min(most?.output ?? 0, Math.ceil((most?.choices ?? 1) * reservedEach));
        const made = answerBounds(asked, target, {});
        const call = { text, generated, reservedTokens: made.outputOf(called, lowered) };
        expect(call.reservedTokens).toBe(reserved);
        expect(text + hiddenTokens(called, made, call)).toBeLessThanOrEqual(Math.max(text, reserved));
      }),
    );
  });
});

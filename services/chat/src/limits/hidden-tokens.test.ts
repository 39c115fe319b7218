import { describe, expect, it } from '@jest/globals';
import { hiddenTokens, type ThoughtBounds } from './hidden-tokens.ts';

const bounds = (fields: Partial<ThoughtBounds> = {}): ThoughtBounds => ({
  ...{ thoughts: null, output: null, choices: 1 },
  ...fields,
});
const thinker = { reasoning: true, api: 'responses' as const };

describe('thoughts that no provider reported', () => {
  it.each<[string, Parameters<typeof hiddenTokens>, number]>([
    ['the budget of the request', [thinker, bounds({ thoughts: 500 }), { text: 30, generated: null }], 500],
    [
      'no more than the deployment makes in the time',
      [thinker, bounds({ thoughts: 500 }), { text: 30, generated: 130 }],
      100,
    ],
    [
      'none where all that was made has been seen',
      [thinker, bounds({ thoughts: 500 }), { text: 300, generated: 130 }],
      0,
    ],
    [
      'no more than the answer may have',
      [thinker, bounds({ thoughts: 500, output: 400 }), { text: 30, generated: null }],
      370,
    ],
    ['the usual effort of a model that thinks', [thinker, bounds(), { text: 0, generated: null }], 12_288],
    ['that for each choice', [thinker, bounds({ choices: 2 }), { text: 0, generated: 1e9 }], 24_576],
    [
      'none of a model that does not think',
      [{ reasoning: false, api: 'chat' }, bounds({ thoughts: 500 }), { text: 0, generated: 1e9 }],
      0,
    ],
    [
      'none of a model that may not think, unless its time shows it',
      [{ reasoning: undefined, api: 'chat' }, bounds(), { text: 0, generated: null }],
      0,
    ],
    [
      'the time of a model that may think',
      [{ reasoning: undefined, api: 'chat' }, bounds(), { text: 20, generated: 90 }],
      70,
    ],
    [
      'none of a model that was not asked to think, and does so only then',
      [{ reasoning: undefined, api: 'messages' }, bounds(), { text: 0, generated: 1e9 }],
      0,
    ],
  ])('are %s', (_what, asked, expected) => {
    expect(hiddenTokens(...asked)).toBe(expected);
  });
});

import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { AllowedModels } from './allowed-models.ts';

describe('the models that a tenant may use', () => {
  it.each([
    [[], 'gpt', false],
    [['gpt'], 'gpt', true],
    [['gpt'], 'gpt-4', false],
    [['gpt'], 'GPT', false],
    [['claude-*'], 'claude-opus', true],
    [['claude-*'], 'claude-', true],
    [['claude-*'], 'claude', false],
    [['claude-*'], 'my-claude-opus', false],
    [['claude-*'], 'claude-*', true],
    [['*'], 'anything', true],
    [['a*', 'c*', 'b'], 'bc', false],
    [['claude-opus-*', 'claude-*'], 'claude-sonnet', true],
    [['.*'], 'anything', false],
  ])('by %j, %s: %s', (entries, id, expected) => {
    expect(new AllowedModels(entries).has(id)).toBe(expected);
  });

  it('are those of which an entry is the id or the beginning, however many there are', () => {
    const name = fc.string({ unit: fc.constantFrom('a', 'b', '-', '\u{1f600}', '\ue000'), maxLength: 6 });
    const entry = fc.tuple(name, fc.constantFrom('', '*')).map((parts) => parts.join(''));
    fc.assert(
      fc.property(fc.array(entry, { maxLength: 30 }), name, (entries, id) => {
        const expected = entries.some((given) =>
          given.endsWith('*') ? id.startsWith(given.slice(0, -1)) : id === given,
        );
        expect(new AllowedModels(entries).has(id)).toBe(expected);
      }),
    );
  });
});

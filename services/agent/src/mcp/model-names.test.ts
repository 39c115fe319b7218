import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { modelNames } from './model-names.ts';

const one = (server: string, tool: string): string => modelNames([{ server, tool }])[0] ?? '';

describe('the names that models get for tools', () => {
  it.each([
    ['mail', 'send', 'mail__send'],
    ['my-server', 'Read_File-2', 'my-server__Read_File-2'],
    ['21st', 'search', 't_21st__search'],
  ])('of %s and %s are readable', (server, tool, name) => expect(one(server, tool)).toBe(name));

  it.each([
    ['mail', 'send mail'],
    ['mail', 'gửi'],
    ['mail', 'x'.repeat(100)],
    ['a'.repeat(64), 'send'],
  ])('of %s and %s have a digest', (server, tool) => {
    expect(one(server, tool)).toMatch(/^[a-zA-Z0-9_-]{1,55}_[0-9a-f]{8}$/);
  });

  it('of an agent and of a tool with the same parts differ', () => {
    const [agent, tool] = modelNames([
      { server: 'agent', tool: 'clerk', isAgent: true },
      { server: 'agent', tool: 'clerk' },
    ]);
    expect(agent).not.toBe(tool);
    for (const name of [agent, tool]) expect(name).toMatch(/^agent__clerk_[0-9a-f]{8}$/);
  });

  it('are unique, are accepted by providers, and do not depend on the order', () => {
    const text = fc.string({ unit: 'binary', minLength: 1, maxLength: 80 });
    const slug = fc.stringMatching(/^[a-z0-9]([a-z0-9-]{0,62}[a-z0-9])?$/);
    const tool = fc.oneof(text, fc.constantFrom('a', 'a_', '_a', 'a b', 'a.b', 'a_b', 'a__b', 'a/b'));
    const refs = fc.uniqueArray(fc.record({ server: slug, tool }), {
      selector: ({ server, tool: name }) => JSON.stringify([server, name]),
      maxLength: 30,
    });
    fc.assert(
      fc.property(refs, (tools) => {
        const names = modelNames(tools);
        expect(new Set(names).size).toBe(tools.length);
        for (const name of names) expect(name).toMatch(/^[a-zA-Z_][a-zA-Z0-9_-]{0,63}$/);
        expect(modelNames(tools.toReversed())).toEqual(names.toReversed());
      }),
    );
  });
});

import { expect, it } from '@jest/globals';
import fc from 'fast-check';
import type { Tool } from '@gatehouse/proto/agent/v1/agent';
import { dialects } from '@gatehouse/dialects/dialects';
import { ToolSet } from './tool-set.ts';

const toolOf = (name: string, description = ''): Tool => ({
  ...{ name, description, schemaJson: '{"type":"object","n":1.0}', serverId: 's', tool: 't' },
  ...{ repeatable: false, timeoutMs: 1, executor: 'agent' },
});
const setOf = (tools: readonly Tool[]): ToolSet =>
  ToolSet.forDialect({ tools: [...tools], missing: ['mail/read'] }, dialects.chat);
const textOf = (set: ToolSet): string => set.definitions.text.toString();
const namesIn = (set: ToolSet): string[] =>
  (JSON.parse(`[${textOf(set)}]`) as { function: { name: string } }[]).map((each) => each.function.name);

it('gives models the description as it is, and the schema byte for byte', () => {
  const set = setOf([toolOf('a', 'Says "chào".')]);
  expect(textOf(set)).toBe(
    '{"type":"function","function":{"name":"a","description":"Says \\"chào\\".","parameters":{"type":"object","n":1.0}}}',
  );
  expect(set.byName.get('a')).toMatchObject({ serverId: 's', tool: 't', timeoutMs: 1 });
});

it('leaves out the names that a client has, and no others', () => {
  const texts = fc.string({ unit: 'grapheme', maxLength: 20 });
  const tools = fc.uniqueArray(fc.tuple(texts, texts), { selector: ([name]) => name, maxLength: 12 });
  fc.assert(
    fc.property(tools, fc.array(fc.oneof(texts, fc.nat(11), fc.constant(null))), (named, other) => {
      const all = named.map(([name, description]) => toolOf(name, description));
      const names = other.map((each) => (typeof each === 'number' ? all[each]?.name : each));
      const left = all.filter(({ name }) => !names.includes(name));
      const set = setOf(all).without(names);
      expect(namesIn(set)).toEqual(left.map(({ name }) => name));
      expect(textOf(set)).toBe(textOf(setOf(left)));
      expect(set.missing).toEqual(['mail/read']);
      expect([...set.byName.keys()]).toEqual(left.map(({ name }) => name));
      // Names can be left out again.
      expect(textOf(set.without([left[0]?.name]))).toBe(textOf(setOf(left.slice(1))));
    }),
  );
});

it('knows the beginning and the length of its text', () => {
  const set = setOf([toolOf('a', 'é'.repeat(60_000))]);
  expect(set.definitions.sample.chars).toBe(textOf(set).length);
  expect(textOf(set).startsWith(set.definitions.sample.beginning)).toBe(true);
  expect(set.definitions.sample.beginning.length).toBeGreaterThan(40_000);
});

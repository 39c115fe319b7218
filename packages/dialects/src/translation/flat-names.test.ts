import fc from 'fast-check';
import { describe, expect, it } from '@jest/globals';
import type { Fields } from '@gatehouse/kit/fields';
import { atOnce } from '@gatehouse/kit/cooperative-steps';
import { flatNames } from './tool-names.ts';
import { facts } from '@gatehouse/test/translation-samples';
import { writtenIn } from '../../test/translating.ts';
import { translationBetween } from './translation.ts';
import { Pieces } from '../wire/pieces.ts';

const name = fc.oneof(
  fc.stringMatching(/^[ab_]{1,5}$/),
  fc.string({ maxLength: 100 }),
  fc.stringMatching(/^mcp__\w{60,80}$/),
);
const tool = fc.record({ name, namespace: fc.option(name) });

/** Google's rule. */
const google = /^[A-Za-z_][\w-]{0,63}$/;

describe('names of tools for a provider', () => {
  it('fit, and are one for each tool', () => {
    fc.assert(
      fc.property(fc.array(tool, { maxLength: 30 }), fc.constantFrom(undefined, google), (tools, rule) => {
        const nameOf = atOnce(flatNames(tools, rule));
        const flat = new Map(tools.map((each) => [nameOf(each), JSON.stringify(each)]));
        expect(flat.size).toBe(new Set(tools.map((each) => JSON.stringify(each))).size);
        for (const each of flat.keys()) if (each !== '') expect(each).toMatch(rule ?? /^[\w-]{1,64}$/);
      }),
    );
  });

  it.each([
    ['1password_get', 't_1password_get'],
    ['-x', 't_-x'],
    ['1', 't_1'],
    ['_x', '_x'],
    ['21st.dev', expect.stringMatching(/^t_21st_dev_[0-9a-f]{24}$/)],
    ['é', expect.stringMatching(/^__[0-9a-f]{24}$/)],
    ['7'.repeat(64), expect.stringMatching(/^t_7{37}_[0-9a-f]{24}$/)],
  ])('begin with a letter where the API wants one: %s', (called, expected) => {
    const taken = { name: 't_taken', namespace: null };
    const nameOf = atOnce(flatNames([{ name: called, namespace: null }, taken], google));
    expect(nameOf({ name: called, namespace: null })).toEqual(expected);
    const both = atOnce(
      flatNames(
        [
          { name: 'taken', namespace: '1' },
          { name: 't_1__taken', namespace: null },
        ],
        google,
      ),
    );
    expect(both({ name: 'taken', namespace: '1' })).toMatch(/^t_1__taken_[0-9a-f]{24}$/);
  });

  it('stay as they are where they fit', () => {
    const nameOf = atOnce(
      flatNames([
        { name: 'a__b', namespace: null },
        { name: 'b', namespace: 'a' },
        { name: 'c', namespace: 'a' },
      ]),
    );
    expect(nameOf({ name: 'a__b', namespace: null })).toBe('a__b');
    expect(nameOf({ name: 'c', namespace: 'a' })).toBe('a__c');
    expect(nameOf({ name: 'b', namespace: 'a' })).toMatch(/^a__b_[0-9a-f]{24}$/);
  });

  const plain = (called: string): Fields => ({ type: 'function', name: called, parameters: {} });
  const group = (called: string, ...tools: Fields[]): Fields => ({ type: 'namespace', name: called, tools });
  const long = 'x'.repeat(62);

  it.each([
    ['a plain name like that of a group', [plain('a__b'), group('a', plain('b'))]],
    ['long names of two groups', [group('crm_prod', plain(long)), group('crm_test', plain(long))]],
    ['a name that is too long', [plain('mcp__'.padEnd(90, 'y')), plain('mcp__'.padEnd(91, 'y'))]],
    ['names with dots and colons', [plain('a.b:c'), plain('a_b_c')]],
  ])('come back as the client has them: %s', async (_, tools) => {
    const translation = translationBetween('responses', 'chat', facts);
    const asked = Buffer.from(JSON.stringify({ input: 'Go', tools }));
    const { body } = await translation.request(Pieces.from(asked), { tenantId: null });
    const sent = (JSON.parse(body.toString()) as { tools: { function: { name: string } }[] }).tools;
    const calls = sent.map((each, at) => ({
      ...{ id: `c${at}`, type: 'function' },
      function: { name: each.function.name, arguments: '{}' },
    }));
    const answer = { id: 'c', choices: [{ message: { tool_calls: calls }, finish_reason: 'tool_calls' }] };
    const bytes = writtenIn(await translation.whole(Buffer.from(JSON.stringify(answer)), null));
    const { output } = JSON.parse(bytes.toString()) as { output: Fields[] };
    const named = tools.flatMap((each): unknown[] =>
      each['type'] === 'namespace'
        ? (each['tools'] as Fields[]).map((inner) => [each['name'], inner['name']])
        : [[undefined, each['name']]],
    );
    expect(output.map((item) => [item['namespace'], item['name']])).toEqual(named);
  });
});

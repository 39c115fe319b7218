import { atOnce } from '@gatehouse/kit/cooperative-steps';
import type { Fields } from '@gatehouse/kit/fields';
import { blockPairs, chatPairs, itemPairs, pairedEdits, type PairForm } from './paired-history.ts';
import { applyEdits } from './wire/json-edits.ts';
import { elementsOf } from './wire/json-members.ts';

function paired(list: readonly Fields[], form: PairForm): Fields[] {
  const text = Buffer.from(JSON.stringify(list, null, 1));
  return JSON.parse(
    applyEdits(text, atOnce(pairedEdits(text, elementsOf(text, 0), form))).toString(),
  ) as Fields[];
}

const user = { role: 'user', content: 'Go on.' };

describe('messages of chat completions', () => {
  const called = (...ids: string[]): Fields => ({
    role: 'assistant',
    content: null,
    tool_calls: ids.map((id) => ({ id, type: 'function', function: { name: 'f', arguments: '{}' } })),
  });
  const result = (id: string, content = 'x'): Fields => ({ role: 'tool', tool_call_id: id, content });
  const missing = (id: string): Fields => result(id, 'No result.');
  const freed = { role: 'user', content: 'x' };

  it.each([
    ['no result', [user, called('a'), user], [user, called('a'), missing('a'), user]],
    [
      'one of two results',
      [called('a', 'b'), result('b'), user],
      [called('a', 'b'), result('b'), missing('a'), user],
    ],
    ['the end', [user, called('a', 'b')], [user, called('a', 'b'), missing('a'), missing('b')]],
    [
      'another call',
      [called('a'), called('b'), result('b')],
      [called('a'), missing('a'), called('b'), result('b')],
    ],
    ['a result without a call', [user, result('z'), user], [user, { role: 'user', content: 'x' }, user]],
    [
      'a second result',
      [called('a'), result('a'), result('a')],
      [called('a'), result('a'), { role: 'user', content: 'x' }],
    ],
    [
      'results behind one without a call',
      [called('a', 'b'), result('z'), result('a'), result('a'), result('b'), user],
      [called('a', 'b'), result('a'), result('b'), freed, freed, user],
    ],
  ])('get what is missing: %s', (_name, given, want) => {
    expect(paired(given, chatPairs)).toEqual(want);
  });

  it('stay with all results in any order', () => {
    const given = [user, called('a', 'b'), result('b'), result('a'), user, called('c'), result('c')];
    expect(paired(given, chatPairs)).toEqual(given);
    expect(paired([], chatPairs)).toEqual([]);
  });
});

describe('items of responses', () => {
  const call = (call_id: string, type = 'function_call'): Fields => ({ type, call_id, name: 'f' });
  const output = (call_id: string, text = 'x'): Fields => ({
    ...{ type: 'function_call_output', call_id, output: text },
  });
  const missing = (id: string): Fields => output(id, 'No result.');
  const freed = { type: 'message', role: 'user', content: 'x' };

  it.each([
    [
      'no output, and an output without a call',
      [call('a'), user, call('p', 'custom_tool_call'), call('b'), output('a'), output('z'), output('b')],
      [
        ...[call('a'), user, call('p', 'custom_tool_call')],
        { type: 'custom_tool_call_output', call_id: 'p', output: 'No result.' },
        ...[call('b'), output('a'), freed, output('b')],
      ],
    ],
    ['an output before its call', [output('a'), call('a'), user], [freed, call('a'), missing('a'), user]],
    [
      'one output for two calls of one id',
      [call('a'), call('a'), output('a')],
      [call('a'), missing('a'), call('a'), output('a')],
    ],
    [
      'an output behind the first of two calls of one id',
      [call('a'), output('a'), user, call('a')],
      [call('a'), output('a'), user, call('a'), missing('a')],
    ],
  ])('get what is missing: %s', (_name, given, want) => {
    expect(paired(given, itemPairs)).toEqual(want);
  });

  it('stay where their results come later', () => {
    const given = [call('a'), user, call('b'), user, output('b'), output('a'), call('a'), output('a')];
    expect(paired(given, itemPairs)).toEqual(given);
  });
});

describe('messages of Anthropic', () => {
  const use = (...ids: string[]): Fields => ({
    role: 'assistant',
    content: ids.map((id) => ({ type: 'tool_use', id, name: 'f', input: {} })),
  });
  const result = (tool_use_id: string, content: unknown = 'x'): Fields => ({
    type: 'tool_result',
    tool_use_id,
    content,
  });
  const said = { type: 'text', text: 'Go on.' };
  const freed = (text: string, isError = false): Fields[] => [
    { type: 'text', text: `Result of an earlier call${isError ? ' (an error)' : ''}:` },
    { type: 'text', text },
  ];
  const of = (...content: Fields[]): Fields => ({ role: 'user', content });
  const missing = (id: string): Fields => of({ ...result(id, 'No result.'), is_error: true });

  it.each([
    [
      'a result, and a call without one',
      [user, use('a', 'b'), of(result('b'), result('z', [said]), said), use('c'), user, use('d')],
      [
        ...[user, use('a', 'b'), of(result('b')), missing('a')],
        of({ type: 'text', text: 'Result of an earlier call:' }, said, said),
        ...[use('c'), missing('c'), user, use('d'), missing('d')],
      ],
    ],
    [
      'results before words',
      [use('a', 'b'), of(result('b'), said)],
      [use('a', 'b'), missing('a'), of(result('b'), said)],
    ],
    [
      'one of three results in messages of their own',
      [use('a', 'b', 'c'), of(result('a')), of(result('c')), user],
      [use('a', 'b', 'c'), of(result('a')), of(result('c')), missing('b'), user],
    ],
    [
      'results of messages of their own, with one without a call between',
      [use('a', 'b'), of(result('a'), result('z')), of(result('y')), of(result('b')), user],
      [use('a', 'b'), of(result('a')), of(result('b')), of(...freed('x')), of(...freed('x')), user],
    ],
    [
      'a second result in the same message',
      [use('a'), of(result('a'), result('a', 'y'))],
      [use('a'), of(result('a')), of(...freed('y'))],
    ],
    ['an empty result', [of(result('z', '')), of(result('z', []))], Array(2).fill(of(...freed('(nothing)')))],
    ['a failure', [of({ ...result('z'), is_error: true })], [of(...freed('x', true))]],
  ])('get what is missing: %s', (_name, given, want) => {
    expect(paired(given, blockPairs)).toEqual(want);
  });

  it('stay with results in messages of their own', () => {
    const given = [use('a', 'b'), of(result('a')), of(result('b')), user, use('c'), of(result('c'), said)];
    expect(paired(given, blockPairs)).toEqual(given);
  });

  it('get an image of a result without a call as one, with its point of the cache', () => {
    const image = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'iVBO' } };
    const point = { cache_control: { type: 'ephemeral' } };
    const [intro] = freed('');
    expect(paired([of({ ...result('z', [said, image]), ...point })], blockPairs)).toEqual([
      of(intro ?? {}, said, { ...image, ...point }),
    ]);
    expect(paired([of({ ...result('z'), ...point })], blockPairs)).toEqual([
      of(intro ?? {}, { type: 'text', text: 'x', ...point }),
    ]);
    const pointBefore = { ...image, cache_control: { type: 'ephemeral', ttl: '1h' } };
    expect(paired([of({ ...result('z', [pointBefore]), ...point })], blockPairs)).toEqual([
      of(intro ?? {}, pointBefore),
    ]);
  });
});

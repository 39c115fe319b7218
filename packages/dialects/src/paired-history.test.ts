import { atOnce } from '@gatehouse/kit/cooperative-steps';
import type { Fields } from '@gatehouse/kit/fields';
import { blockPairs, chatPairs, itemPairs, pairedEdits, type PairForm } from './paired-history.ts';
import { applyEdits } from './wire/json-edits.ts';

function paired(list: readonly Fields[], form: PairForm): Fields[] {
  const text = Buffer.from(JSON.stringify(list, null, 1));
  return JSON.parse(applyEdits(text, atOnce(pairedEdits(text, 0, form))).toString()) as Fields[];
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
  ])('get what is missing: %s', (_name, given, want) => {
    expect(paired(given, chatPairs)).toEqual(want);
  });

  it('stay with all results in any order', () => {
    const given = [user, called('a', 'b'), result('b'), result('a'), user, called('c'), result('c')];
    expect(paired(given, chatPairs)).toEqual(given);
    expect(paired([], chatPairs)).toEqual([]);
  });
});

it('items of responses get what is missing, and stay where their results come later', () => {
  const call = (call_id: string, type = 'function_call'): Fields => ({ type, call_id, name: 'f' });
  const output = (call_id: string, type = 'function_call_output'): Fields => ({ type, call_id, output: 'x' });
  const given = [
    call('a'),
    user,
    call('p', 'custom_tool_call'),
    call('b'),
    output('a'),
    output('z'),
    output('b'),
  ];
  expect(paired(given, itemPairs)).toEqual([
    ...[call('a'), user, call('p', 'custom_tool_call')],
    { type: 'custom_tool_call_output', call_id: 'p', output: 'No result.' },
    ...[call('b'), output('a'), { type: 'message', role: 'user', content: 'x' }, output('b')],
  ]);
});

it('messages of Anthropic get what is missing, before the results that are there', () => {
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
  const missing = (id: string): Fields => ({
    role: 'user',
    content: [{ ...result(id, 'No result.'), is_error: true }],
  });
  const given = [
    ...[user, use('a', 'b'), { role: 'user', content: [result('b'), result('z', [said]), said] }],
    ...[use('c'), user, use('d')],
  ];
  expect(paired(given, blockPairs)).toEqual([
    ...[user, use('a', 'b'), missing('a')],
    {
      role: 'user',
      content: [
        result('b'),
        { type: 'text', text: 'Result of an earlier call: [{"type":"text","text":"Go on."}]' },
        said,
      ],
    },
    ...[use('c'), missing('c'), user, use('d'), missing('d')],
  ]);
});

import fc from 'fast-check';
import type { DialectName } from '@gatehouse/contract/dialects';
import { describe, expect, it } from '@jest/globals';
import type { Fields } from '@gatehouse/kit/fields';
import { marked } from '@gatehouse/test/translation-samples';
import { translator } from '../../test/translating.ts';
import { withResultsBehindCalls } from './ordered-turns.ts';
import type { Part, Turn } from './conversation.ts';

const targets: readonly DialectName[] = ['chat', 'responses', 'messages', 'gemini'];
const call = (id: string): Fields => ({ type: 'function_call', call_id: id, name: 'f', arguments: '{}' });
const output = (id: string, said: unknown = 'r'): Fields => ({
  ...{ type: 'function_call_output', call_id: id, output: said },
});
const image = { type: 'input_image', image_url: 'https://a.example/b.png' };
const user = { role: 'user', content: 'q' };

/** Messages of chat completions, in short: the ids of calls and results, otherwise the role. */
function shortened({ messages }: Fields): string[] {
  const list = messages as { role: string; tool_calls?: { id: string }[]; tool_call_id?: string }[];
  return list.map(({ role, tool_calls: calls, tool_call_id: id }) =>
    calls === undefined
      ? [role, ...(id === undefined ? [] : [id])].join(' ')
      : `calls ${calls.map((each) => each.id).join()}`,
  );
}

describe('results in chat completions', () => {
  const toChat = translator('responses', 'chat');
  const both = ['user', 'calls A,B', 'tool A', 'tool B'];

  it.each([
    [
      'a system text',
      [user, call('A'), call('B'), { role: 'developer', content: 'D' }, output('A'), output('B')],
    ],
    ['a message of the user', [user, call('A'), call('B'), output('A'), user, output('B')]],
    ['an image of another result', [user, call('A'), call('B'), output('A', [image]), output('B')]],
    ['another order', [user, call('A'), call('B'), output('B'), output('A')]],
  ])('follow their calls, in spite of %s', async (_, input) => {
    const { body } = await toChat({ input });
    expect(shortened(body).slice(0, 4)).toEqual(both);
  });

  it('stay together where another turn has an image', async () => {
    const { body } = await translator(
      'messages',
      'chat',
    )({
      max_tokens: 1,
      messages: [
        {
          role: 'assistant',
          content: ['A', 'B'].map((id) => ({ type: 'tool_use', id, name: 'f', input: {} })),
        },
        {
          role: 'user',
          content: [
            {
              type: 'tool_result',
              tool_use_id: 'A',
              content: [{ type: 'image', source: { type: 'url', url: 'https://a.example/b.png' } }],
            },
          ],
        },
        { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'B', content: 'r' }] },
      ],
    });
    expect(shortened(body)).toEqual(['calls A,B', 'tool A', 'tool B', 'user']);
  });
});

it('every part of a conversation stays, and each result stands behind its call', () => {
  const id = fc.constantFrom('a', 'b', 'c');
  const part: fc.Arbitrary<Part> = fc.oneof(
    fc.record({ kind: fc.constant('text' as const), text: fc.string() }),
    id.map((callId): Part => ({ kind: 'result', callId, parts: [], isError: false })),
  );
  const turn: fc.Arbitrary<Turn> = fc.record({
    role: fc.constantFrom('system' as const, 'user' as const),
    parts: fc.array(part, { maxLength: 3 }),
  });
  const calls: Turn = {
    role: 'assistant',
    parts: ['a', 'b'].map((each): Part => ({
      ...{ kind: 'call', id: each, name: 'f', argumentsText: '{}', isFreeform: false, namespace: null },
    })),
  };
  fc.assert(
    fc.property(fc.array(turn), fc.array(turn), (before, after) => {
      const written = withResultsBehindCalls([...before, calls, ...after]);
      const parts = (turns: readonly Turn[]): unknown[] =>
        turns.flatMap((each) => each.parts).map((each) => JSON.stringify(each));
      expect(parts(written).toSorted()).toEqual(parts([...before, calls, ...after]).toSorted());
      const results = after
        .flatMap((each) => each.parts)
        .filter((each) => each.kind === 'result' && each.callId !== 'c');
      const place = written.indexOf(written.find(({ role }) => role === 'assistant') ?? calls);
      const behind = written.slice(place + 1).flatMap((each) => each.parts);
      const ids = behind.slice(0, results.length).map((each) => (each.kind === 'result' ? each.callId : ''));
      expect(ids).toEqual(ids.toSorted());
      expect(ids.every((each) => each === 'a' || each === 'b')).toBe(true);
    }),
  );
});

describe('for Anthropic, a turn of thoughts alone', () => {
  it.each([
    [
      'of OpenAI',
      'responses',
      {
        reasoning: { effort: 'high' },
        input: [user, { type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: 'x' }, user],
      },
    ],
    [
      'of Google',
      'gemini',
      {
        contents: [
          { role: 'user', parts: [{ text: 'a' }] },
          { role: 'model', parts: [{ text: 't', thought: true }] },
          { role: 'user', parts: [{ text: 'b' }] },
        ],
      },
    ],
    [
      'of Anthropic',
      'responses',
      {
        reasoning: { effort: 'high' },
        input: [
          user,
          { type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: marked('anthropic', 'x') },
          user,
        ],
      },
    ],
  ] as const)('%s is left out', async (_, from, request) => {
    const { body } = await translator(from, 'messages')(request, { name: 'claude-opus-5' });
    expect(body['messages']).toMatchObject([{ role: 'user', content: [{}, {}] }]);
  });
});

describe('an image in a system text', () => {
  const url = 'https://a.example/b.png';
  const inChat = { type: 'image_url', image_url: { url } };
  const system: readonly [DialectName, Fields, string][] = [
    [
      'chat',
      { messages: [{ role: 'system', content: [{ type: 'text', text: 'S' }, inChat] }, user] },
      'messages[0].content[1]',
    ],
    ['responses', { input: [user, { role: 'developer', content: [image] }, user] }, 'input[1].content[0]'],
    [
      'gemini',
      {
        systemInstruction: { parts: [{ inlineData: { mimeType: 'image/png', data: 'AAAA' } }] },
        contents: [{ parts: [{ text: 'a' }] }],
      },
      'systemInstruction.parts[0]',
    ],
  ];

  it.each(
    system.flatMap(([from, request, at]) =>
      targets.filter((to) => to !== from).map((to) => [from, to, request, at] as const),
    ),
  )('from %s to %s is refused by its place', async (from, to, request, param) => {
    await expect(translator(from, to)(request)).rejects.toMatchObject({
      code: 'unsupported_parameter',
      param,
    });
  });
});

it("Google's system instruction may be a text", async () => {
  const request = { systemInstruction: 'Be brief.', contents: [{ parts: [{ text: 'a' }] }] };
  const { body } = await translator('gemini', 'chat')(request);
  expect(body['messages']).toMatchObject([{ role: 'system', content: 'Be brief.' }, {}]);
});

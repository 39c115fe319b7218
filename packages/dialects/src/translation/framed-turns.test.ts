import fc from 'fast-check';
import type { DialectName } from '@gatehouse/contract/dialects';
import { describe, expect, it } from '@jest/globals';
import type { Fields } from '@gatehouse/kit/fields';
import { translator } from '../../test/translating.ts';
import type { ModelFacts } from './api.ts';

const [claude45, claude46, claude48] = ['claude-sonnet-4-5', 'claude-opus-4-6', 'claude-opus-4-8'];
const bedrock = (name: string): string => `us.anthropic.${name}-v1:0`;
const nova = 'amazon.nova-pro-v1:0';

type Target = Parameters<typeof translator>[1];
interface Model extends Partial<ModelFacts> {
  to: Target;
}

const models: Record<string, Model> = {
  'Claude 4.5': { to: 'messages', name: claude45, isAtVendor: true },
  'Claude 4.8': { to: 'messages', name: claude48, isAtVendor: true },
  'Claude 4.8 at Vertex': { to: 'messages', name: claude48, isAtVendor: false },
  'Claude 4.5 by Converse': { to: 'converse', name: bedrock(claude45) },
  'Claude 4.8 by Converse': { to: 'converse', name: bedrock(claude48) },
  Nova: { to: 'converse', name: nova },
  'Gemini 3': { to: 'gemini', name: 'gemini-3-pro' },
};
const names = Object.keys(models);

const say = (role: string, content: string): Fields => ({ role, content });
const mark = (text: string): string => `<system-reminder>\n${text}\n</system-reminder>`;

interface Message {
  role: string;
  content?: Fields[];
  parts?: Fields[];
}

/** The messages of a written request: its roles with the texts and kinds of its blocks. */
function shortened(body: Fields): string[] {
  const list = (body['messages'] ?? body['contents']) as Message[];
  return list.map(({ role, content, parts }) => {
    const blocks = (content ?? parts ?? []).map(({ type, text, ...other }) =>
      [text, type, Object.keys(other)[0]].find((each) => typeof each === 'string'),
    );
    return `${role === 'model' ? 'assistant' : role}: ${blocks.join('|')}`;
  });
}

async function written(
  model: string,
  messages: readonly Fields[],
  more: Fields = {},
  from: DialectName = 'chat',
) {
  const { to, ...facts } = models[model] ?? { to: 'messages' };
  const { body, text, ignored } = await translator(from, to)({ messages, ...more }, facts);
  return { turns: shortened(body), text, ignored, body };
}

describe('system text in the middle', () => {
  it.each(names)('before the newest question, for %s', async (model) => {
    const { turns, ignored, text } = await written(model, [
      say('system', 'You are a clerk.'),
      say('user', 'Hi.'),
      say('assistant', 'Hello.'),
      say('developer', 'Mind the time.'),
      say('user', 'Where am I?'),
    ]);
    const reminder = mark('Mind the time.');
    expect(turns).toEqual(['user: Hi.', 'assistant: Hello.', `user: ${reminder}|Where am I?`]);
    expect(text).toContain('You are a clerk.');
    expect(ignored).toEqual([]);
  });

  it.each(names)('at the end, for %s', async (model) => {
    const { turns } = await written(model, [say('user', 'Hi.'), say('system', 'In French.')]);
    expect(turns).toEqual(
      model === 'Claude 4.8' ? ['user: Hi.', 'system: In French.'] : [`user: Hi.|${mark('In French.')}`],
    );
  });

  it.each(names)('between calls and results, twice, for %s', async (model) => {
    const call = { id: 'a', type: 'function', function: { name: 'f', arguments: '{}' } };
    const { turns } = await written(model, [
      say('user', 'Hi.'),
      { role: 'assistant', tool_calls: [call] },
      say('system', 'One.'),
      say('system', 'Two.'),
      { role: 'tool', tool_call_id: 'a', content: 'R' },
    ]);
    const result = { messages: 'tool_result', converse: 'toolResult', gemini: 'functionResponse' };
    const kind = result[models[model]?.to as keyof typeof result];
    expect(turns.at(-1)).toBe(
      model === 'Claude 4.8' ? 'system: One.|Two.' : `user: ${kind}|${mark('One.')}|${mark('Two.')}`,
    );
  });

  it.each(['chat', 'responses'] as const)('stays for %s', async (to) => {
    const messages = [say('user', 'a'), say('assistant', 'b'), say('system', 'c'), say('user', 'd')];
    const { text } = await translator('messages', to)({ max_tokens: 1, messages });
    expect(text).toContain('"system"');
    expect(text).not.toContain('system-reminder');
  });

  it('is the message of a request of nothing else', async () => {
    const { turns } = await written('Claude 4.5', [say('system', 'One.'), say('system', 'Two.')]);
    expect(turns).toEqual(['user: One.|Two.']);
  });
});

describe('an assistant first', () => {
  const greeted = [say('assistant', 'Hello.'), say('user', 'Hours?')];

  it.each(names)('is taken by %s', async (model) => {
    const { turns, ignored } = await written(model, [say('system', 'S'), ...greeted]);
    const isConverse = models[model]?.to === 'converse';
    expect(turns).toEqual([
      ...(isConverse ? ['user: (The conversation begins here.)'] : []),
      'assistant: Hello.',
      'user: Hours?',
    ]);
    expect(ignored).toEqual([]);
  });

  it('with a call, for Gemini', async () => {
    const call = { id: 'a', type: 'function', function: { name: 'f', arguments: '{}' } };
    const { turns } = await written('Gemini 3', [
      { role: 'assistant', tool_calls: [call] },
      { role: 'tool', tool_call_id: 'a', content: 'R' },
    ]);
    expect(turns).toEqual([
      'user: (The conversation begins here.)',
      'assistant: functionCall',
      'user: functionResponse',
    ]);
  });
});

describe('an assistant last', () => {
  const begun = [say('user', 'Tell.'), say('assistant', 'Once upon \n')];

  it.each([claude46, claude48, 'claude-opus-5-5'])(
    'is answered by %s behind a turn of the user',
    async (name) => {
      for (const to of ['messages', 'converse'] as const) {
        const model = { name: to === 'converse' ? bedrock(name) : name };
        const { body, ignored } = await translator('chat', to)({ messages: begun }, model);
        expect(shortened(body)).toEqual(['user: Tell.', 'assistant: Once upon \n', 'user: Continue.']);
        expect(ignored).toEqual(['messages']);
      }
    },
  );

  it('loses the white space at its end for older ones, and is a turn where they think', async () => {
    const { turns, ignored } = await written('Claude 4.5', begun);
    expect(turns).toEqual(['user: Tell.', 'assistant: Once upon']);
    expect(ignored).toEqual([]);
    const thinking = await written('Claude 4.5', begun, { reasoning_effort: 'high' });
    expect(thinking.turns.at(-1)).toBe('user: Continue.');
  });

  it.each(['gemini-3.5-flash', 'gemini-3.8-flash', 'gemini-flash-latest', 'claude-opus-4-8'])(
    'is answered by %s in the APIs of others',
    async (name) => {
      for (const to of ['chat', 'gemini'] as const) {
        const { text, ignored } = await translator('responses', to)({ input: begun }, { name });
        expect(text).toMatch(/Once upon \\n.*"Continue\."/);
        expect(ignored).toEqual(['input']);
      }
    },
  );

  it('stays for other APIs, also from messages', async () => {
    const { turns } = await written('Gemini 3', begun);
    expect(turns.at(-1)).toBe('assistant: Once upon \n');
    const { body, ignored } = await translator('messages', 'chat')({ max_tokens: 1, messages: begun });
    expect(body['messages']).toMatchObject([{}, { role: 'assistant', content: 'Once upon \n' }]);
    expect(ignored).toEqual([]);
  });
});

describe('calls and results without each other', () => {
  const call = (id: string): Fields => ({ id, type: 'function', function: { name: 'f', arguments: '{}' } });
  const result = (id: string, content = 'R'): Fields => ({ role: 'tool', tool_call_id: id, content });

  it.each(names)('have their pair for %s', async (model) => {
    const { turns, text } = await written(model, [
      result('gone', 'Early.'),
      say('user', 'Go'),
      { role: 'assistant', tool_calls: [call('a'), call('b')] },
      result('a'),
      result('a', 'Twice.'),
      say('user', 'Stop.'),
      { role: 'assistant', content: 'Well.', tool_calls: [call('c')] },
    ]);
    const [use, back] = {
      messages: ['tool_use', 'tool_result'],
      converse: ['toolUse', 'toolResult'],
      gemini: ['functionCall', 'functionResponse'],
    }[models[model]?.to as 'messages' | 'converse' | 'gemini'];
    expect(turns).toEqual([
      'user: Result of an earlier call:|Early.|Go',
      `assistant: ${use}|${use}`,
      `user: ${back}|${back}|Result of an earlier call:|Twice.|Stop.`,
      `assistant: Well.|${use}`,
      `user: ${back}`,
    ]);
    expect(text.match(/No result\./g)).toHaveLength(2);
  });

  it('have their own where two calls of one answer have the same id', async () => {
    const messages = [
      say('user', 'Go'),
      { role: 'assistant', tool_calls: [call('a'), call('a')] },
      result('a', 'One.'),
      say('user', 'Now'),
    ];
    for (const model of ['Claude 4.5', 'Nova']) {
      const { text } = await written(model, messages);
      const ids = [...text.matchAll(/"(?:tool_use_id|toolUseId)":"([^"]+)"/g)].map(([, id]) => id);
      expect(new Set(ids).size).toBe(2);
      for (const each of ['One.', 'No result.', 'Now']) expect(text).toContain(each);
    }
  });

  it('are left out where a limit has cut the call', async () => {
    const cut = { id: 'b', type: 'function', function: { name: 'f', arguments: '{"city": "Bo' } };
    const { turns } = await written('Claude 4.5', [
      say('user', 'Go'),
      { role: 'assistant', content: 'Well.', tool_calls: [call('a'), cut] },
      say('user', 'Go on.'),
      { role: 'assistant', tool_calls: [cut] },
      say('user', 'And on.'),
    ]);
    expect(turns).toEqual(['user: Go', 'assistant: Well.|tool_use', 'user: tool_result|Go on.|And on.']);
  });

  it.each(['chat', 'responses'] as const)('have their pair for %s', async (to) => {
    const messages = [
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'gone', content: 'Early.' }] },
      { role: 'assistant', content: [{ type: 'tool_use', id: 'a', name: 'f', input: {} }] },
      say('user', 'Stop.'),
    ];
    const { text } = await translator('messages', to)({ max_tokens: 1, messages });
    for (const each of ['Early.', 'Error: No result.', 'Stop.']) expect(text).toContain(each);
    expect(text).not.toContain('gone');
  });
});

describe('sequences that stop', () => {
  it.each([
    ['Claude 4.5', 'messages', ['\n', 'END', '', ' '], ['END']],
    ['Claude 4.5 by Converse', 'converse', ['\n', 'END'], ['END']],
    ['Nova', 'converse', ['\n', ''], ['\n']],
    ['Gemini 3', 'gemini', ['1', '2', '3', '4', '5', '6', ''], ['1', '2', '3', '4', '5']],
  ])('are those that %s takes', async (model, _, stop, taken) => {
    const { text, ignored } = await written(model, [say('user', 'Go')], { stop });
    const found = /"stop_?sequences":(\[[^\]]*\])/i.exec(text)?.[1] ?? '[]';
    expect(JSON.parse(found)).toEqual(taken);
    expect(ignored).toEqual(['stop']);
  });

  it('are four for models of OpenAI', async () => {
    const request = {
      max_tokens: 1,
      messages: [say('user', 'a')],
      stop_sequences: ['1', '2', '3', '4', '5'],
    };
    const { body, ignored } = await translator('messages', 'chat')(request, { name: 'gpt-4.1' });
    expect([body['stop'], ignored]).toEqual([['1', '2', '3', '4'], ['stop_sequences']]);
    const other = await translator('messages', 'chat')(request, { name: 'llama-4' });
    expect([other.body['stop'], other.ignored]).toEqual([request.stop_sequences, []]);
  });

  it('that mean nothing are no reason to refuse', async () => {
    const { ignored } = await translator('chat', 'responses')({ messages: [say('user', 'a')], stop: '' });
    expect(ignored).toEqual(['stop']);
  });
});

describe('thoughts alone', () => {
  const thought = { type: 'reasoning', summary: [], encrypted_content: 'x' };

  it.each(names)('are no conversation for %s', async (model) => {
    const { to, ...facts } = models[model] ?? { to: 'messages' };
    const { body } = await translator('responses', to)({ input: [thought] }, facts);
    expect(shortened(body)).toEqual(['user: (no text)']);
    const withSystem = await translator('responses', to)({ instructions: 'S', input: [thought] }, facts);
    expect(shortened(withSystem.body)).toEqual(['user: S']);
  });

  it('leave one content of the user for Gemini', async () => {
    const input = [say('user', 'a'), thought, say('user', 'b')];
    const { body } = await translator('responses', 'gemini')({ input });
    expect(shortened(body)).toEqual(['user: a|b']);
  });
});

/** A model's rules on places of turns, as their providers have them. */
function refusal({ to, name = '', isAtVendor }: Model, body: Fields): string | null {
  const roles = ((body['messages'] ?? body['contents']) as Message[]).map(({ role }) => role);
  const takesMiddle = to === 'messages' && isAtVendor === true && name.includes('4-8');
  const last = roles.at(-1);
  if (to === 'converse' && roles[0] !== 'user') return 'begins with the model';
  for (const [index, role] of roles.entries()) {
    if (to !== 'messages' && role === roles[index - 1]) return 'two turns of one side';
    if (role !== 'system') continue;
    const isPlaced = roles[index - 1] === 'user' && roles[index + 1] !== 'user';
    if (!takesMiddle || !isPlaced) return 'a system text out of place';
  }
  const isNewest = name.includes('4-8');
  return last === 'assistant' && isNewest ? 'ends with the model' : null;
}

it('no order of turns is refused', async () => {
  const roles = fc.array(fc.constantFrom('system', 'user', 'assistant', 'blank'), {
    minLength: 1,
    maxLength: 8,
  });
  await fc.assert(
    fc.asyncProperty(roles, async (list) => {
      const messages = list.map((role, index) =>
        role === 'blank' ? say('assistant', ' ') : say(role, `${role} ${index}.`),
      );
      for (const model of Object.values(models)) {
        const { to, ...facts } = model;
        const { body, text } = await translator('chat', to)({ messages }, facts);
        expect(refusal(model, body)).toBeNull();
        for (const { content } of messages) expect(text).toContain((content as string).trim());
      }
    }),
    { numRuns: 150 },
  );
});

import { describe, expect, it } from '@jest/globals';
import type { Fields } from '@gatehouse/kit/fields';
import { longestBlock } from '@gatehouse/test/longest-block';
import { facts } from '@gatehouse/test/translation-samples';
import { ask, translator } from '../../test/translating.ts';
import { translationBetween } from './translation.ts';
import { Pieces } from '../wire/pieces.ts';

const toChat = translator('messages', 'chat');
const toMessages = translator('chat', 'messages');

describe('a translated request', () => {
  const odd = '{"2": 1, "1": 12345678901234567890, "q": 1.0, "q": "é\\u0041"}';

  const schema = odd.replace('{', '{"type": "object", "properties": {}, ');

  it('keeps arguments and schemas to the letter', async () => {
    const calls = `[{"id":"a","type":"function","function":{"name":"f","arguments":${JSON.stringify(odd)}}}]`;
    const { text } = await toMessages(
      `{"messages":[{"role":"assistant","tool_calls":${calls}}],"tools":[{"type":"function","function":{"name":"f","parameters":${schema}}}]}`,
    );
    expect(text).toContain(`"input":${odd}`);
    expect(text).toContain(`"input_schema":${schema}`);
    const back = await toChat(
      `{"max_tokens":1,"messages":[{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"f","input":${odd}}]}],"tools":[{"name":"f","input_schema":${schema}}]}`,
    );
    expect(back.text).toContain(`"arguments":${JSON.stringify(odd)}`);
    expect(back.text).toContain(`"parameters":${schema}`);
  });

  it('keeps arguments that are no object as a text', async () => {
    const calls = [{ id: 'a', type: 'function', function: { name: 'f', arguments: '{"q":' } }];
    const result = { role: 'tool', tool_call_id: 'a', content: 'Bad JSON.' };
    const { body } = await toMessages({
      messages: [...ask, { role: 'assistant', tool_calls: calls }, result],
    });
    expect(body).toMatchObject({ messages: [{}, { content: [{ input: { arguments: '{"q":' } }] }, {}] });
  });

  it('gives each call an id that the provider takes, the same in each request', async () => {
    const call = (id: string): Fields => ({ id, type: 'function', function: { name: 'f', arguments: '{}' } });
    const messages = [
      ...ask,
      { role: 'assistant', tool_calls: [call('functions.f:0'), call('ok-1')] },
      { role: 'tool', tool_call_id: 'ok-1', content: '1' },
      { role: 'tool', tool_call_id: 'functions.f:0', content: '0' },
      { role: 'assistant', tool_calls: [call('functions.f:0')] },
      { role: 'tool', tool_call_id: 'functions.f:0', content: 'again' },
    ];
    const idsIn = async (count: number): Promise<unknown[]> =>
      ((await toMessages({ messages: messages.slice(0, count) })).body['messages'] as Fields[])
        .flatMap(({ content }) => content as Fields[])
        .flatMap(({ id, tool_use_id: of }) => id ?? of ?? []);
    const ids = await idsIn(6);
    const [first, , , , second] = ids;
    expect(ids).toEqual([first, 'ok-1', first, 'ok-1', second, second]);
    expect(first).not.toBe(second);
    for (const id of ids) expect(id).toMatch(/^[\w-]{1,64}$/);
    expect(await idsIn(4)).toEqual(ids.slice(0, 4));
  });

  it('gives ids that are too long for OpenAI shorter ones', async () => {
    const id = 'toolu_'.padEnd(64, 'x');
    const { body } = await toChat({
      max_tokens: 1,
      messages: [
        { role: 'assistant', content: [{ type: 'tool_use', id, name: 'f', input: {} }] },
        { role: 'user', content: [{ type: 'tool_result', tool_use_id: id, content: 'x' }] },
      ],
    });
    const [said, result] = body['messages'] as Fields[];
    const [call] = said?.['tool_calls'] as Fields[];
    expect(String(call?.['id']).length).toBeLessThanOrEqual(40);
    expect(result?.['tool_call_id']).toBe(call?.['id']);
  });

  it('is translated in pieces of 50 ms, with a picture of 15 MiB', async () => {
    const source = { type: 'base64', media_type: 'image/png', data: 'A'.repeat(15 * 1024 * 1024) };
    const messages = [{ role: 'user', content: [{ type: 'image', source }] }];
    const body = Buffer.from(JSON.stringify({ max_tokens: 1, messages }));
    let written = 0;
    const blocked = await longestBlock(async () => {
      const translation = translationBetween('messages', 'chat', facts);
      written = (await translation.request(Pieces.from(body), { tenantId: 'tenant' })).body.length;
    });
    expect(written).toBeGreaterThan(source.data.length);
    expect(blocked).toBeLessThan(250);
  });
});

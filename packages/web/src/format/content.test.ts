import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { readableInstructions, readableMessage, readableResponse } from './content.ts';

const text = (value: string) => ({ text: value, isJson: false });

describe('a message', () => {
  it.each([
    ['a text', 'Hello', 'user', 'Hello'],
    ['a chat message', { role: 'system', content: 'Be brief.' }, 'system', 'Be brief.'],
    [
      'a chat message of parts',
      { role: 'user', content: [{ type: 'text', text: 'Hello' }] },
      'user',
      'Hello',
    ],
    [
      'an item of responses',
      { id: 'msg_1', status: 'completed', type: 'message', role: 'user', content: [{ text: 'Hello' }] },
      'user',
      'Hello',
    ],
    ['a content of Gemini', { role: 'model', parts: [{ text: 'Hello' }] }, 'model', 'Hello'],
  ])('is read as its role and text: %s', (_name, message, title, part) => {
    expect(readableMessage(message)).toEqual({ title, parts: [text(part)] });
  });

  it.each([
    ['a text', 'Be brief.'],
    ['parts', [{ type: 'text', text: 'Be brief.' }]],
    ['a content of Gemini', { parts: [{ text: 'Be brief.' }] }],
  ])('of the system is read from %s', (_name, instructions) => {
    expect(readableInstructions(instructions)).toEqual({ title: 'system', parts: [text('Be brief.')] });
  });

  it('has all further members as JSON: calls of tools, pictures, results', () => {
    const toolCalls = [{ id: 'call_1', type: 'function', function: { name: 'find', arguments: '{}' } }];
    const called = readableMessage({
      role: 'assistant',
      content: null,
      tool_calls: toolCalls,
      refusal: null,
    });
    expect(called.title).toBe('assistant');
    expect(called.parts.map(({ text: json }): unknown => JSON.parse(json))).toEqual([
      { tool_calls: toolCalls },
    ]);
    const item = { type: 'function_call_output', call_id: 'call_1', output: 'found' };
    const result = readableMessage(item);
    expect(result.title).toBe('function_call_output');
    expect(JSON.parse(result.parts[0]?.text ?? '')).toEqual({ call_id: 'call_1', output: 'found' });
    const picture = { type: 'image', bytes: 12 };
    const { parts } = readableMessage({ role: 'user', content: [picture, { text: 'See?' }] });
    expect(JSON.parse(parts[0]?.text ?? '')).toEqual(picture);
    expect(parts[1]).toEqual(text('See?'));
  });

  it('is read whatever it is', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        for (const { title, parts } of [
          ...[readableMessage(value), readableInstructions(value)],
          ...readableResponse(value),
        ]) {
          expect(typeof title).toBe('string');
          for (const part of parts) expect(typeof part.text).toBe('string');
        }
      }),
    );
  });
});

describe('a response', () => {
  it.each([
    ['chat completions', { choices: [{ index: 0, message: { role: 'assistant', content: 'Hi' } }] }],
    [
      'messages',
      { id: 'msg_1', type: 'message', role: 'assistant', content: [{ type: 'text', text: 'Hi' }] },
    ],
    ['responses', { output: [{ type: 'message', role: 'assistant', content: [{ text: 'Hi' }] }] }],
    ['Gemini', { candidates: [{ content: { role: 'assistant', parts: [{ text: 'Hi' }] } }] }],
  ])('is read as its messages: %s', (_api, response) => {
    expect(readableResponse(response)).toEqual([{ title: 'assistant', parts: [text('Hi')] }]);
  });

  it('without messages is JSON, and no response is nothing', () => {
    expect(readableResponse(null)).toEqual([]);
    const [error] = readableResponse({ error: { code: 'provider_error' } });
    expect(JSON.parse(error?.parts[0]?.text ?? '')).toEqual({ error: { code: 'provider_error' } });
  });
});

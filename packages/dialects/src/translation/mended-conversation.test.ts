import { describe, expect, it } from '@jest/globals';
import { translator } from '../../test/translating.ts';

const targets = ['chat', 'responses', 'messages', 'gemini', 'converse'] as const;
const tool = { type: 'function', function: { name: 'f', parameters: { type: 'object', properties: {} } } };
const call = { id: 'call_1', type: 'function', function: { name: 'f', arguments: '{}' } };
const empty = /"(?:text|content|input_text|output_text)":""|"parts":\[\]|"content":\[\]/u;

describe.each(targets)('empty texts before %s', (target) => {
  const other = target === 'chat' ? 'messages' : 'chat';

  it('are left out of turns', async () => {
    const { text, ignored } = await translator(
      other,
      target,
    )({
      max_tokens: 16,
      messages: [
        {
          role: 'user',
          content: [
            { type: 'text', text: '' },
            { type: 'text', text: 'Go on' },
          ],
        },
        { role: 'assistant', content: '' },
        { role: 'user', content: '' },
        { role: 'assistant', content: [{ type: 'text', text: '' }] },
        { role: 'user', content: 'Now' },
      ],
    });
    expect(text).not.toMatch(empty);
    expect(text).toContain('Go on');
    expect(text).toContain('Now');
    expect(ignored).toEqual([]);
  });

  it('leave a request with a message', async () => {
    const { text } = await translator(
      other,
      target,
    )({ max_tokens: 9, messages: [{ role: 'user', content: '' }] });
    expect(text).toContain('(no text)');
  });
});

it.each(['messages', 'converse'] as const)('texts of white space are empty before %s', async (target) => {
  const { text } = await translator(
    'chat',
    target,
  )({
    tools: [tool],
    messages: [
      { role: 'system', content: '\n' },
      { role: 'user', content: 'Go' },
      { role: 'assistant', content: ' \t', tool_calls: [call] },
      { role: 'tool', tool_call_id: 'call_1', content: ' ' },
    ],
  });
  expect(text).not.toMatch(/"text":"\s*"/u);
  expect(text).not.toContain('"system"');
});

it('texts of white space stay where they are taken', async () => {
  const { body } = await translator(
    'messages',
    'chat',
  )({ max_tokens: 9, messages: [{ role: 'user', content: '  ' }] });
  expect(body['messages']).toEqual([{ role: 'user', content: '  ' }]);
});

it('a place of the cache moves from an empty text to the part before it', async () => {
  const { body } = await translator('messages', 'converse')(
    {
      max_tokens: 9,
      messages: [
        {
          role: 'user',
          content: [
            { type: 'text', text: 'Long' },
            { type: 'text', text: '', cache_control: { type: 'ephemeral' } },
          ],
        },
      ],
    },
    { name: 'anthropic.claude-sonnet-4-5-20250929-v1:0' },
  );
  expect(body['messages']).toEqual([
    { role: 'user', content: [{ text: 'Long' }, { cachePoint: { type: 'default' } }] },
  ]);
});

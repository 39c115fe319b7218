import { describe, expect, it } from '@jest/globals';
import type { Fields } from '@gatehouse/kit/fields';
import { marked } from '@gatehouse/test/translation-samples';
import { translator } from '../../test/translating.ts';
import { markedThoughts } from '../translation/signatures.ts';

describe('a conversation of a client of Gemini', () => {
  it('gives back the thought of a stream, whose pieces SDKs keep as contents', async () => {
    const signature = Buffer.from(marked('anthropic', 'sig')).toString('base64');
    const user = { role: 'user', parts: [{ text: 'Go' }] };
    const functionCall = { id: 'toolu_1', name: 'f', args: {} };
    const thought = (text: string, more = {}) => ({ text, thought: true, ...more });
    const result = {
      role: 'user',
      parts: [{ functionResponse: { id: 'toolu_1', name: 'f', response: {} } }],
    };
    const steps = [
      [
        thought('I '),
        thought(''),
        thought('see'),
        thought('', { thoughtSignature: signature }),
        { functionCall },
      ],
      [thought('I '), thought('see'), { functionCall, thoughtSignature: signature }],
    ];
    for (const parts of steps)
      for (const contents of [
        [{ role: 'model', parts }],
        parts.map((part) => ({ role: 'model', parts: [part] })),
      ]) {
        const fields = {
          contents: [user, ...contents, result],
          generationConfig: { thinkingConfig: { thinkingBudget: 2_048 } },
        };
        const { body } = await translator('gemini', 'messages')(fields, { name: 'claude-sonnet-4-5' });
        expect((body['messages'] as Fields[])[1]).toEqual({
          role: 'assistant',
          content: [
            { type: 'thinking', thinking: 'I see', signature: 'sig' },
            { type: 'tool_use', id: 'toolu_1', name: 'f', input: {} },
          ],
        });
      }
  });

  it('is refused with more thoughts in its signatures than parts of any', async () => {
    const thought = { text: '', signature: { origin: 'a', text: '', isRedacted: false } };
    const thoughtSignature = markedThoughts(Array.from({ length: 1_000 }, () => thought));
    const parts = (count: number) => Array.from({ length: count }, () => ({ text: 'a', thoughtSignature }));
    const sent = (count: number) =>
      translator('gemini', 'messages')({ contents: [{ role: 'model', parts: parts(count) }] });
    await expect(sent(51)).rejects.toMatchObject({ code: 'invalid_value', param: 'contents' });
    await expect(sent(2)).resolves.toBeDefined();
  });

  it('gives back the text of a stream as one, with pieces of white space', async () => {
    const user = { role: 'user', parts: [{ text: 'Go' }] };
    const pieces = ['The', ' ', 'gate.', '\n\n', 'It is green.'].map((text) => ({ text }));
    const code = { executableCode: { language: 'PYTHON', code: 'x' } };
    for (const contents of [
      [{ role: 'model', parts: pieces }],
      pieces.map((part) => ({ role: 'model', parts: [part] })),
    ]) {
      const fields = { contents: [user, ...contents, { role: 'model', parts: [code] }, user] };
      const { body } = await translator('gemini', 'messages')(fields, { name: 'claude-sonnet-4-5' });
      const [text, ...others] = (body['messages'] as { content: unknown[] }[])[1]?.content ?? [];
      expect(text).toEqual({ type: 'text', text: 'The gate.\n\nIt is green.' });
      expect(others).toHaveLength(1);
    }
  });
});

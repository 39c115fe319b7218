import { describe, expect, it } from '@jest/globals';
import type { Fields } from '@gatehouse/kit/fields';
import { translator } from '../../test/translating.ts';

type Target = Parameters<typeof translator>[1];

describe('a part of the history without a place', () => {
  const said = { role: 'model', parts: [{ text: 'Fine.' }] };
  const now = { role: 'user', parts: [{ text: 'Now' }] };
  const earlier = (role: string, part: Fields): Fields => ({
    contents: [{ role, parts: [{ text: 'See' }, part] }, said, now],
  });
  const video = { inlineData: { mimeType: 'video/x-none', data: 'AAAA' } };
  const sound = { fileData: { mimeType: 'audio/wav', fileUri: 'https://a.example/a.wav' } };
  const picture = { inlineData: { mimeType: 'image/png', data: 'iVBORw0KGgo=', displayName: 'cat' } };

  it.each<[string, Fields, Target, string]>([
    ['a video', earlier('user', video), 'chat', 'file'],
    ['a video', earlier('user', video), 'responses', 'file'],
    ['a video', earlier('user', video), 'messages', 'file'],
    ['a video', earlier('user', video), 'converse', 'file'],
    ['a sound', earlier('user', sound), 'responses', 'audio'],
    ['a sound', earlier('user', sound), 'messages', 'audio'],
    ['a sound by its address', earlier('user', sound), 'chat', 'audio'],
  ])('%s: %j for %s is a text', async (_, request, target, name) => {
    const { text, ignored } = await translator('gemini', target)(request);
    for (const each of ['See', 'Fine.', 'Now', `[${name}: not available to this model]`])
      expect(text).toContain(each);
    expect(ignored).toEqual(['contents.parts']);
  });

  it.each(['chat', 'responses', 'messages', 'converse'] as const)(
    'a picture of the model is one of the user behind it for %s',
    async (target) => {
      const { text, ignored } = await translator('gemini', target)(earlier('model', picture));
      expect(text).toMatch(/See.*Fine\..*From the answer before:.*iVBORw0KGgo=.*Now/);
      expect(ignored).toEqual([]);
    },
  );

  it('is refused in the newest turn of the user', async () => {
    const request = { contents: [now, said, { role: 'user', parts: [video] }] };
    for (const target of ['chat', 'responses', 'messages', 'converse'] as const)
      await expect(translator('gemini', target)(request)).rejects.toMatchObject({
        code: 'unsupported_parameter',
        param: 'contents[2].parts[0]',
      });
  });

  it('in a result of a tool is a text', async () => {
    const image = { type: 'image', source: { type: 'url', url: 'https://a.example/a.png' } };
    const messages = [
      { role: 'user', content: 'Go' },
      { role: 'assistant', content: [{ type: 'tool_use', id: 'a', name: 'f', input: {} }] },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'a', content: [image] }] },
      { role: 'assistant', content: 'Fine.' },
      { role: 'user', content: 'Now' },
    ];
    const { text, ignored } = await translator('messages', 'converse')({ max_tokens: 1, messages });
    expect(text).toContain('[image: not available to this model]');
    expect(ignored).toEqual(['messages.content.content']);
  });
});

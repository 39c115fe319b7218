import { describe, expect, it } from '@jest/globals';
import type { Fields } from '@gatehouse/kit/fields';
import { dialects, type ApiName } from './dialects.ts';
import type { PromptParts } from './prompt-parts.ts';
import { maxPromptBytes, maxPromptParts } from './bounds.ts';

const picture = `data:image/png;base64,${'A'.repeat(5_000)}`;

/** Conversations of each API, and a message with a picture. */
const apis: Record<
  ApiName,
  { list: string; head: Fields; texts: (text: string) => Fields; picture: Fields }
> = {
  chat: {
    list: 'messages',
    head: { tools: [{ type: 'function', function: { name: 'read' } }] },
    texts: (content) => ({ role: 'user', content }),
    picture: { role: 'user', content: [{ type: 'image_url', image_url: { url: picture } }] },
  },
  responses: {
    list: 'input',
    head: { instructions: 'Be brief.', tools: [{ type: 'function', name: 'read' }] },
    texts: (content) => ({ role: 'user', content }),
    picture: { role: 'user', content: [{ type: 'input_image', image_url: picture }] },
  },
  messages: {
    list: 'messages',
    head: { max_tokens: 9, system: [{ type: 'text', text: 'Be brief.' }], tools: [{ name: 'read' }] },
    texts: (text) => ({ role: 'user', content: [{ type: 'text', text }] }),
    picture: {
      role: 'user',
      content: [
        { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'A'.repeat(5_000) } },
      ],
    },
  },
  gemini: {
    list: 'contents',
    head: {
      systemInstruction: { parts: [{ text: 'Be brief.' }] },
      tools: [{ functionDeclarations: [{ name: 'read' }] }],
    },
    texts: (text) => ({ role: 'user', parts: [{ text }] }),
    picture: {
      role: 'user',
      parts: [{ inlineData: { mimeType: 'image/png', data: 'A'.repeat(5_000) } }],
    },
  },
};
const names = Object.keys(apis) as ApiName[];

function partsOf(api: ApiName, body: Fields): PromptParts | null {
  const named = { model: 'm', ...body };
  const bytes = Buffer.from(JSON.stringify(named));
  return dialects[api].readRequest('chat', bytes, named, { model: 'm', stream: false }).promptParts();
}

function conversation(api: ApiName, messages: readonly unknown[], fields: Fields = {}): PromptParts {
  const { list, head } = apis[api];
  const parts = partsOf(api, { [list]: messages, ...head, ...fields });
  if (parts === null) throw new Error('the prompt has no parts');
  return parts;
}

const digests = (parts: readonly { digest: string }[]): string[] => parts.map(({ digest }) => digest);

describe.each(names)('the parts of a prompt of %s', (api) => {
  const { texts, picture: withPicture, head } = apis[api];
  const [one, two, three] = ['one', 'two', 'three'].map(texts);

  it('are the same in a request that goes on from it', () => {
    const before = conversation(api, [one, two]);
    const after = conversation(api, [one, two, three], { metadata: { turn: 3 }, temperature: 0 });
    expect(digests(after.messages).slice(0, 2)).toEqual(digests(before.messages));
    expect(after.head).toEqual(before.head);
    expect(after.head.length).toBe(Object.keys(head).filter((name) => name !== 'max_tokens').length);
  });

  it('are others from the first changed message on', () => {
    const before = digests(conversation(api, [one, two, three]).messages);
    const after = digests(conversation(api, [one, texts('changed'), three]).messages);
    expect(after[0]).toBe(before[0]);
    expect(after.slice(1).every((digest) => !before.includes(digest))).toBe(true);
  });

  it('are others where a further field says how to read the prompt', () => {
    const before = conversation(api, [one]);
    const after = conversation(api, [one], { reads: 'differently' });
    expect(after.settings).not.toBe(before.settings);
    expect(digests(after.messages)).not.toEqual(digests(before.messages));
  });

  it('have the bytes of their texts, without those of pictures', () => {
    const { messages } = conversation(api, [one, withPicture]);
    expect(messages.map(({ attachments, linked }) => [attachments, linked])).toEqual([
      [0, 0],
      [1, 0],
    ]);
    expect(messages[0]?.bytes).toBe(JSON.stringify(one).length);
    expect(messages[1]?.bytes).toBeLessThan(200);
  });

  it('are missing in a prompt with too many', () => {
    const { list } = apis[api];
    const many = Array.from({ length: maxPromptParts + 1 }, () => one);
    expect(partsOf(api, { [list]: many })).toBeNull();
    expect(partsOf(api, { [list]: [texts('x'.repeat(maxPromptBytes))] })).toBeNull();
  });
});

describe('the parts of a prompt', () => {
  it('are the same when Claude Code moves its marks for the cache', () => {
    const mark = { cache_control: { type: 'ephemeral', ttl: '1h' } };
    const text = (words: string, marked: boolean): Fields => ({
      role: 'user',
      content: [{ type: 'text', text: words, ...(marked && mark) }],
    });
    const before = conversation('messages', [text('one', true)]);
    const after = conversation('messages', [text('one', false), text('two', true)]);
    expect(digests(after.messages)[0]).toBe(digests(before.messages)[0]);
    const quoted = JSON.stringify({ x: 1, ...mark });
    expect(digests(conversation('messages', [text(quoted, false)]).messages)).not.toEqual(
      digests(conversation('messages', [text('{"x":1}', false)]).messages),
    );
  });

  it('have no tool that a model has to find first', () => {
    const tools = [{ name: 'read' }, { name: 'found', defer_loading: true }];
    const { head } = conversation('messages', [apis.messages.texts('one')], { tools, system: 'Be brief.' });
    expect(head).toHaveLength(2);
  });

  it('say which attachments are behind an address', () => {
    const url = { type: 'image', source: { type: 'url', url: 'https://pictures.example/1' } };
    const file = { type: 'image', source: { type: 'file', file_id: 'file-1' } };
    const { messages } = conversation('messages', [{ role: 'user', content: [url, file] }]);
    expect(messages).toMatchObject([{ attachments: 2, linked: 1 }]);
  });

  it('say which messages are of a model', () => {
    const { messages } = conversation('messages', [
      { role: 'user', content: 'What does "assistant" mean?' },
      { role: 'assistant', content: 'A helper.' },
    ]);
    expect(messages.map(({ isOfModel }) => isOfModel)).toEqual([false, true]);
  });

  it('are missing for embeddings', () => {
    const body = { model: 'm', input: ['one'] };
    const bytes = Buffer.from(JSON.stringify(body));
    expect(dialects.chat.readRequest('embeddings', bytes, body).promptParts()).toBeNull();
  });
});

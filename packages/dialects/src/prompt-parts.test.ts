import { describe, expect, it } from '@jest/globals';
import type { Fields } from '@gatehouse/kit/fields';
import { dialects, type ApiName } from './dialects.ts';
import type { PromptParts } from './prompt-parts.ts';
import { maxPromptBytes, maxPromptParts, maxSystemBlocks } from './bounds.ts';

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
  return partsOfText(api, JSON.stringify(named));
}

function partsOfText(api: ApiName, text: string): PromptParts | null {
  const inPath = { model: 'm', stream: false };
  return dialects[api].readRequest('chat', Buffer.from(text), JSON.parse(text), inPath).promptParts();
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

  it('are missing where an object has a name twice, of which servers read one or the other', () => {
    const { list } = apis[api];
    const [short, long] = [one, two].map((message) => JSON.stringify(message));
    const body = (members: string): string => `{"model":"m",${members}}`;
    expect(partsOfText(api, body(`"${list}":[${short}]`))).not.toBeNull();
    expect(partsOfText(api, body(`"${list}":[${long}],"${list}":[${short}]`))).toBeNull();
    const escaped = `\\u${list.charCodeAt(0).toString(16).padStart(4, '0')}${list.slice(1)}`;
    expect(partsOfText(api, body(`"${list}":[${long}],"${escaped}":[${short}]`))).toBeNull();
    expect(partsOfText(api, body(`"${list}":[${short?.slice(0, -1)},"role":"user"}]`))).toBeNull();
    // In texts are no names.
    expect(partsOf(api, { [list]: [texts('{"a":1,"a":2}')] })).not.toBeNull();
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
    // The marks themselves may have been read or not.
    expect(before.messages[0]?.bytes).toBe(after.messages[0]?.bytes);
    const quoted = JSON.stringify({ x: 1, ...mark });
    expect(digests(conversation('messages', [text(quoted, false)]).messages)).not.toEqual(
      digests(conversation('messages', [text('{"x":1}', false)]).messages),
    );
  });

  it('have no bytes of a tool that a model has to find first', () => {
    const [read, found] = [{ name: 'read' }, { name: 'found', defer_loading: true }].map((tool) =>
      JSON.stringify(tool),
    );
    const body = (tools: string): string =>
      `{"model":"m","max_tokens":9,"messages":[{"role":"user","content":"one"}],"tools":${tools}}`;
    const bytes = (tools: string): unknown => partsOfText('messages', body(tools))?.head[0]?.bytes;
    expect(bytes(`[${read}]`)).toBe(`[${read}]`.length);
    expect(bytes(`[${read},${found}]`)).toBe(`[${read},]`.length);
    expect(bytes(`[${read},${found?.replace('defer', String.raw`\u0064efer`)}]`)).toBe(`[${read},]`.length);
    const definition = { type: 'tool_addition', tool: { definition: JSON.parse(found ?? '') as Fields } };
    const { messages } = conversation('messages', [{ role: 'system', content: [definition] }]);
    expect(messages[0]?.bytes).toBe(0);
  });

  it('differ by the member with their text', () => {
    const list = [{ type: 'text', text: 'Be brief.' }];
    const one = [apis.messages.texts('one')];
    const system = conversation('messages', one, { system: list, tools: [] });
    const tools = conversation('messages', one, { system: [], tools: list });
    expect(digests(system.head).filter((digest) => digests(tools.head).includes(digest))).toEqual([]);
    // Chat completions have no such member.
    expect(conversation('chat', one, { system: list }).head).toHaveLength(1);
  });

  it('are one for a system prompt with many blocks, or with blocks other than texts', () => {
    const headOf = (system: unknown): number =>
      conversation('messages', [apis.messages.texts('one')], { system, tools: undefined }).head.length;
    const block = { type: 'text', text: 'Be brief.', cache_control: { type: 'ephemeral' } };
    expect(headOf(Array.from({ length: maxSystemBlocks }, () => block))).toBe(maxSystemBlocks);
    expect(headOf(Array.from({ length: maxSystemBlocks + 1 }, () => block))).toBe(1);
    expect(headOf([block, { type: 'other', text: 'Be brief.' }])).toBe(1);
    expect(headOf([1, 2])).toBe(1);
  });

  it('say which attachments are behind an address', () => {
    const image = (source: Fields): Fields => ({ type: 'image', source });
    const blocks = [
      image({ type: 'url', url: 'HTTPS://pictures.example/1' }),
      image({ type: 'file', file_id: 'file-1' }),
      image({ type: 'base64', data: 'AAAA' }),
    ];
    const { messages } = conversation('messages', [{ role: 'user', content: blocks }]);
    expect(messages).toMatchObject([{ attachments: 3, linked: 1 }]);
    const parts = [{ fileData: { fileUri: 'gs://bucket/1' } }, { inlineData: { data: 'AAAA' } }];
    expect(conversation('gemini', [{ parts }]).messages).toMatchObject([{ attachments: 2, linked: 1 }]);
  });

  it.each(['https://a.example', 'HTTPS://a.example', ' s3://bucket/1', 'data:image/png;base64,AAAA'])(
    'say whether %p is an address, however it is written',
    (url) => {
      const linked = url.startsWith('data:') ? 0 : 1;
      const escaped = `\\u${url.charCodeAt(0).toString(16).padStart(4, '0')}${url.slice(1)}`;
      for (const written of [url, escaped]) {
        const part = `{"type":"image_url","image_url":{"url":"${written}"}}`;
        const chat = partsOfText('chat', `{"model":"m","messages":[{"role":"user","content":[${part}]}]}`);
        expect(chat?.messages).toMatchObject([{ attachments: 1, linked }]);
        const item = `{"role":"user","content":[{"type":"input_image","image_url":"${written}"}]}`;
        const responses = partsOfText('responses', `{"model":"m","input":[${item}]}`);
        expect(responses?.messages).toMatchObject([{ attachments: 1, linked }]);
      }
    },
  );

  it('say which messages all servers read alike', () => {
    const result = { type: 'tool_result', tool_use_id: 'a', content: [{ type: 'text', text: 'Done.' }] };
    const { messages } = conversation('messages', [
      { role: 'user', content: 'What does "assistant" mean?' },
      { role: 'assistant', content: 'A helper.' },
      { role: 'user', content: [result] },
      { role: 'user', content: 'hi', reasoning_content: 'Hm.' },
      { role: 'user', content: [{ type: 'thinking', thinking: 'Hm.' }] },
    ]);
    expect(messages.map(({ isPlain }) => isPlain)).toEqual([true, false, true, false, false]);
    const ofModel = String.raw`{"role":"\u0061ssistant","content":"A helper."}`;
    const parts = partsOfText('messages', `{"model":"m","max_tokens":9,"messages":[${ofModel}]}`);
    expect(parts?.messages).toMatchObject([{ isPlain: false }]);
  });

  it('are missing for embeddings', () => {
    const body = { model: 'm', input: ['one'] };
    const bytes = Buffer.from(JSON.stringify(body));
    expect(dialects.chat.readRequest('embeddings', bytes, body).promptParts()).toBeNull();
  });
});

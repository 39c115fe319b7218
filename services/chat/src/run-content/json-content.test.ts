import { describe, expect, it } from '@jest/globals';
import { longestBlock } from '@gatehouse/test/longest-block';
import * as fc from 'fast-check';
import { documentContent, requestContent, valueContent } from './json-content.ts';
import { StorableValue } from './storable-value.ts';

const conversation = { messages: ['messages', 'input'], instructions: ['system'] };
const read = (body: unknown) =>
  requestContent(Buffer.from(JSON.stringify(body)), conversation, 'tenant').then((content) => {
    if (content === null) return null;
    const { parameters, instructions, messages, isCut } = content;
    return {
      parameters: JSON.parse(parameters) as unknown,
      instructions: JSON.parse(instructions) as unknown,
      messages: JSON.parse(messages) as unknown,
      isCut,
    };
  });

describe('the content of a request', () => {
  it('has each member once, in its part', async () => {
    const plain = fc.jsonValue({ maxDepth: 3 });
    await fc.assert(
      fc.asyncProperty(
        fc.array(plain),
        plain,
        fc.dictionary(fc.string(), plain),
        async (list, system, others) => {
          const { messages: _messages, input: _input, system: _system, ...parameters } = others;
          const content = await read({ ...parameters, system, messages: list });
          const stored = (value: unknown): unknown =>
            JSON.parse(JSON.stringify(new StorableValue().convert(value)));
          expect(content).toEqual({
            parameters: stored(parameters),
            instructions: stored(system),
            messages: stored(list),
            isCut: false,
          });
        },
      ),
      { numRuns: 100 },
    );
  });

  it('is null for anything but an object', async () => {
    expect(await read([1])).toBeNull();
    expect(await read('x')).toBeNull();
  });

  it('lacks values that are nested too deeply, and says so', async () => {
    const deep = `${'['.repeat(1_000)}${']'.repeat(1_000)}`;
    const body = Buffer.from(`{"messages":[${deep}],"deep":${deep}}`);
    const content = await requestContent(body, conversation, 'tenant');
    expect(content?.isCut).toBe(true);
    expect(content?.messages.length).toBeLessThan(200);
  });

  it('has parameters within their bound, with their names', async () => {
    const names = Array.from({ length: 900 }, (_, n) => `${'n'.repeat(240)}${n}`);
    const body = Object.fromEntries(names.map((name) => [name, 'x'.repeat(100)]));
    const content = await requestContent(Buffer.from(JSON.stringify(body)), conversation, 'tenant');
    expect(content?.isCut).toBe(true);
    expect(content?.parameters.length).toBeGreaterThan(250 * 1024);
    expect(content?.parameters.length).toBeLessThanOrEqual(256 * 1024);
  });

  it.each([
    ['many small', `[${'1,'.repeat(99_999)}1]`],
    ['many texts', JSON.stringify([Array<string>(90_000).fill('x')])],
    ['many numbers', `[["x"${',1'.repeat(450_000)}]]`],
    ['one long', JSON.stringify(['"\n'.repeat(2_000_000)])],
    ['many keys', JSON.stringify([`gwk_0123456789abcdef_${'a'.repeat(43)}`.repeat(150_000)])],
  ])('does not hold the event loop with %s values', async (_, list) => {
    const body = Buffer.from(`{"messages":${list}}`);
    const blocked = await longestBlock(() => requestContent(body, conversation, 'tenant'), 50);
    expect(blocked).toBeLessThan(50);
  });

  it('lacks parameters beyond their bound', async () => {
    const content = await read({
      tools: Array.from({ length: 100_000 }, (_, n) => n + 0.5).map(String),
      n: 1,
    });
    expect(content).toMatchObject({ parameters: { n: 1 }, isCut: true });
  });
});

describe('a part of a content', () => {
  it('has long texts cut where it is too large otherwise', async () => {
    const text = 'word '.repeat(60_000);
    const { text: stored, isCut } = await documentContent(
      Buffer.from(JSON.stringify({ text, n: 1 })),
      'tenant',
    );
    expect(JSON.parse(stored)).toEqual({
      text: expect.stringMatching(/^word .*\[300000 characters, cut\]$/s),
      n: 1,
    });
    expect(isCut).toBe(true);
  });

  it('is null where it is too large all the same', async () => {
    const many = Array.from({ length: 40_000 }, (_, n) => `item ${n}`);
    expect(await valueContent({ many }, 'tenant')).toEqual({ text: 'null', isCut: true });
  });
});

describe('a value to be stored', () => {
  const convert = (value: unknown) => new StorableValue().convert(value);
  const base64 = 'QUJD'.repeat(100);

  it('has type and size in place of files, in each API', () => {
    expect(
      convert([
        { type: 'image', source: { type: 'base64', media_type: 'image/png', data: base64 } },
        { inlineData: { mimeType: 'audio/wav', data: base64 } },
        { type: 'input_audio', input_audio: { format: 'mp3', data: base64 } },
        { type: 'input_file', file_data: `data:application/pdf;base64,${base64}` },
        { type: 'image_generation_call', result: base64 },
        { data: base64 },
      ]),
    ).toEqual([
      { type: 'image', source: { type: 'base64', media_type: 'image/png', data: '[image/png, 300 bytes]' } },
      { inlineData: { mimeType: 'audio/wav', data: '[audio/wav, 300 bytes]' } },
      { type: 'input_audio', input_audio: { format: 'mp3', data: '[mp3, 300 bytes]' } },
      { type: 'input_file', file_data: '[application/pdf, 300 bytes]' },
      { type: 'image_generation_call', result: '[file, 300 bytes]' },
      { data: base64 },
    ]);
  });

  it('has no secrets of servers, and schemas as they are', () => {
    const schema = { properties: { headers: { type: 'object' }, api_key: { type: 'string' } } };
    expect(
      convert({
        mcp_servers: [{ url: 'https://m.example', authorization_token: 'secret' }],
        extra_headers: { Cookie: 'secret' },
        api_key: 'secret',
        parameters: schema,
      }),
    ).toEqual({
      mcp_servers: [{ url: 'https://m.example', authorization_token: '[removed]' }],
      extra_headers: { Cookie: '[removed]' },
      api_key: '[removed]',
      parameters: schema,
    });
  });
});

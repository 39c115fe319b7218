import type { DialectName } from '@gatehouse/contract/dialects';
import { describe, expect, it } from '@jest/globals';
import type { Fields } from '@gatehouse/kit/fields';
import { translator } from '../../test/translating.ts';

const base64 = (latin1: string): string => Buffer.from(latin1, 'latin1').toString('base64');
const bytes = {
  jpeg: base64('\u00ff\u00d8\u00ff\u00e0\u0000\u0010JFIF'),
  png: base64('\u0089PNG\r\n\u001a\n????'),
  gif: base64('GIF89a??'),
  webp: base64('RIFF????WEBPVP8 '),
  tiff: base64('II*\u0000????'),
  bmp: base64('BM??????'),
  pdf: base64('%PDF-1.7 ?'),
  svg: base64('<svg xmlns="http://www.w3.org/2000/svg"/>'),
  html: base64('<p>Hello</p>'),
};

/** A message of the user with data of a type, in each API. */
const withData: Record<DialectName, (type: string, data: string) => Fields> = {
  chat: (type, data) => ({
    messages: [
      {
        role: 'user',
        content: [{ type: 'image_url', image_url: { url: `data:${type};base64,${data}` } }],
      },
    ],
  }),
  responses: (type, data) => ({
    input: [{ role: 'user', content: [{ type: 'input_image', image_url: `data:${type};base64,${data}` }] }],
  }),
  messages: (type, data) => ({
    max_tokens: 1,
    messages: [
      { role: 'user', content: [{ type: 'image', source: { type: 'base64', media_type: type, data } }] },
    ],
  }),
  gemini: (type, data) => ({ contents: [{ parts: [{ inlineData: { mimeType: type, data } }] }] }),
};

const clients = Object.keys(withData) as DialectName[];

describe('a picture has the type of its first bytes', () => {
  const cases = [
    ['image/jpg', bytes.jpeg, 'image/jpeg'],
    ['image/pjpeg', bytes.jpeg, 'image/jpeg'],
    ['image/png', bytes.jpeg, 'image/jpeg'],
    ['IMAGE/PNG', bytes.webp, 'image/webp'],
    ['image/x-png', bytes.png, 'image/png'],
    ['image/jpeg; foo=bar', bytes.gif, 'image/gif'],
    ['application/octet-stream', bytes.png, 'image/png'],
    ['', bytes.png, 'image/png'],
    ['image/x-png', 'AAAA', 'image/png'],
    ['image/jpg', 'AAAA', 'image/jpeg'],
  ] as const;

  it.each(
    clients.flatMap((client) =>
      (['messages', 'converse', 'gemini', 'chat', 'responses'] as const)
        .filter((target) => target !== client)
        .map((target) => [client, target] as const),
    ),
  )('from %s to %s', async (client, target) => {
    for (const [label, data, type] of cases) {
      const { text } = await translator(client, target)(withData[client](label, data));
      const isConverse = target === 'converse';
      expect(text).toContain(isConverse ? `"format":"${type.replace('image/', '')}"` : type);
      expect(text).toContain(data);
    }
  });

  it('in a result of a tool', async () => {
    const image = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: bytes.jpeg } };
    const messages = [
      { role: 'user', content: 'Go' },
      { role: 'assistant', content: [{ type: 'tool_use', id: 'a', name: 'f', input: {} }] },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'a', content: [image] }] },
    ];
    const { text } = await translator('messages', 'converse')({ max_tokens: 1, messages });
    expect(text).toContain('"format":"jpeg"');
  });
});

it.each([
  ['a TIFF', 'image/png', bytes.tiff],
  ['a BMP', 'image/bmp', bytes.bmp],
])('%s is refused for Claude by its place', async (_, type, data) => {
  for (const target of ['messages', 'converse'] as const)
    await expect(translator('chat', target)(withData.chat(type, data))).rejects.toMatchObject({
      code: 'unsupported_parameter',
      param: 'messages[0].content[0]',
    });
});

describe('the kind of a part follows its data', () => {
  it.each(clients.filter((each) => each !== 'messages'))('a PDF as an image from %s', async (client) => {
    const { body } = await translator(client, 'messages')(withData[client]('image/png', bytes.pdf));
    expect(body['messages']).toMatchObject([
      { content: [{ type: 'document', source: { media_type: 'application/pdf', data: bytes.pdf } }] },
    ]);
  });

  it('a picture as a file', async () => {
    const file = { file_data: bytes.jpeg, filename: 'report.pdf' };
    const { body } = await translator(
      'chat',
      'messages',
    )({ messages: [{ role: 'user', content: [{ type: 'file', file }] }] });
    expect(body['messages']).toMatchObject([
      { content: [{ type: 'image', source: { media_type: 'image/jpeg' } }] },
    ]);
  });

  it('a drawing in an address without base64 as text', async () => {
    const url = `data:image/svg+xml;utf8,${encodeURIComponent('<svg id="é"/>')}`;
    const content = [{ type: 'image_url', image_url: { url } }];
    const { text } = await translator('chat', 'gemini')({ messages: [{ role: 'user', content }] });
    expect(text).toContain(String.raw`<svg id=\"é\"/>`);
    const broken = [{ type: 'image_url', image_url: { url: 'data:image/svg+xml,%' } }];
    const other = await translator('chat', 'gemini')({ messages: [{ role: 'user', content: broken }] });
    expect(other.text).toContain('data:image/svg+xml,%');
  });

  it.each(['messages', 'gemini', 'responses'] as const)('a drawing as text for %s', async (target) => {
    const { text } = await translator('chat', target)(withData.chat('image/svg+xml', bytes.svg));
    expect(text).toContain('<svg xmlns=');
  });
});

describe('a text file', () => {
  const file = (name: string, data: string): Fields => ({
    messages: [{ role: 'user', content: [{ type: 'file', file: { filename: name, file_data: data } }] }],
  });

  it.each([
    ['page.html', bytes.html],
    ['page', `data:text/html;base64,${bytes.html}`],
    ['a.yaml', bytes.html],
    ['a.jsonl', bytes.html],
    ['a', `data:application/xml;base64,${bytes.html}`],
    ['a', `data:application/ld+json;base64,${bytes.html}`],
    ['a', `data:application/javascript;base64,${bytes.html}`],
  ])('goes on as its text: %s %s', async (name, data) => {
    for (const target of ['messages', 'gemini', 'responses'] as const) {
      const { text } = await translator('chat', target)(file(name, data));
      expect(text).toContain('<p>Hello</p>');
    }
  });

  it('is a document of its format in Converse', async () => {
    const written = async (name: string): Promise<string> =>
      (await translator('chat', 'converse')(file(name, bytes.html))).text;
    expect(await written('page.html')).toContain('"format":"html"');
    expect(await written('a.yaml')).toContain('"format":"txt"');
  });
});

describe('base64 in the alphabet of addresses', () => {
  const photo = Buffer.concat([
    Buffer.from([0xff, 0xd8, 0xff, 0xe0]),
    Buffer.from(Array.from({ length: 3_000 }, (_, at) => (at * 251) % 256)),
  ]);

  it.each([photo, Buffer.concat(Array.from({ length: 600 }, () => photo))])(
    'becomes standard base64',
    async (data) => {
      const standard = data.toString('base64');
      for (const sent of [
        data.toString('base64url'),
        standard.replaceAll(/.{76}/g, '$&\r\n'),
        ` ${standard}\n`,
      ]) {
        const { body } = await translator('gemini', 'messages')(withData.gemini('image/jpeg', sent));
        const [message] = body['messages'] as {
          content: { source: { media_type: string; data: string } }[];
        }[];
        const source = message?.content[0]?.source;
        expect(source?.media_type).toBe('image/jpeg');
        expect(Buffer.from(source?.data ?? '', 'base64').equals(data)).toBe(true);
        expect(/^[A-Za-z0-9+/]*=*$/.test(source?.data ?? '')).toBe(true);
      }
    },
  );

  it('stays as it is where it is standard, with escaped slashes', async () => {
    const data = Buffer.concat(Array.from({ length: 600 }, () => photo)).toString('base64');
    const request = JSON.stringify(withData.gemini('image/jpeg', `\n${data}`)).replaceAll(
      '/',
      String.raw`\/`,
    );
    const { body } = await translator('gemini', 'messages')(request);
    expect(JSON.stringify(body)).toContain(data);
  });
});

import { describe, expect, it } from '@jest/globals';
import { getBOMEncoding, TextDecoder } from '@exodus/bytes/encoding.js';
import fc from 'fast-check';
import { pageText } from './page-content.ts';
import { pageTypeOf } from './page-type.ts';

const textOf = (contentType: string | undefined, body: Buffer): Promise<string> =>
  pageText('t1', body, pageTypeOf(contentType, body));
const hex = (text: string): Buffer => Buffer.from(text.replaceAll(' ', ''), 'hex');
const utf16be = (text: string): Buffer => Buffer.from(text, 'utf16le').swap16();

/** A page with text in another encoding. */
const page = (head: string, encoded: Buffer): Buffer =>
  Buffer.concat([Buffer.from(`<!DOCTYPE html><html><head>${head}</head><body>`), encoded]);
const latin = Buffer.from('gr\xfcn', 'latin1');
const utf8 = Buffer.from('grün');
const japanese = hex('89c4 96da 9ff9 90ce');

describe('the encoding of a page', () => {
  it.each<[string, string | undefined, Buffer, string]>([
    [
      'a byte order mark before all else',
      'text/html; charset=gbk',
      Buffer.concat([hex('efbbbf'), page('<meta charset=gbk>', utf8)]),
      'grün',
    ],
    [
      'the mark of UTF-16',
      'text/html; charset=utf-8',
      Buffer.concat([hex('fffe'), Buffer.from('grün', 'utf16le')]),
      'grün',
    ],
    [
      'the mark of UTF-16, big-endian, also in plain text',
      'text/plain',
      Buffer.concat([hex('feff'), utf16be('grün')]),
      'grün',
    ],
    ['the header before the page', 'text/html; charset=latin1', page('<meta charset=utf-8>', latin), 'grün'],
    [
      'the page where the header names nothing known',
      'text/html; charset=none',
      page('<meta charset=latin1>', latin),
      'grün',
    ],
    ['a header in quotes', 'text/plain;Charset="windows-1251"', hex('cff0e8e2e5f2'), 'Привет'],
    [
      'a header in single quotes, with spaces',
      "text/plain; charset = 'windows-1251'",
      hex('cff0e8e2e5f2'),
      'Привет',
    ],
    ['no other parameter of the header', 'text/plain; x-charset=latin1', utf8, 'grün'],
    [
      'the last of two headers, with the charset of the first',
      'text/html; charset=latin1, text/html',
      latin,
      'grün',
    ],
    [
      'a meta with http-equiv',
      'text/html',
      page('<META content="text/html; charset=Shift_JIS" http-equiv=Content-Type>', japanese),
      '夏目漱石',
    ],
    ['a meta of any form', 'text/html', page('<meta\n CharSet = "x-sjis"/>', japanese), '夏目漱石'],
    ['UTF-8 where a meta says UTF-16', 'text/html', page('<meta charset=utf-16>', utf8), 'grün'],
    ['windows-1252 for x-user-defined', 'text/html', page('<meta charset=x-user-defined>', latin), 'grün'],
    ['no meta in a comment', 'text/html', page('<!-- <meta charset=latin1> -->', utf8), 'grün'],
    ['no meta in an attribute', 'text/html', page('<p title="<meta charset=latin1>">', utf8), 'grün'],
    ['no content without http-equiv', 'text/html', page('<meta content="charset=latin1">', utf8), 'grün'],
    ['no word of the text', 'text/html', page('<p>Send charset=latin1.</p>', utf8), 'grün'],
    [
      'no meta behind the first kibibyte',
      'text/html',
      page(`${' '.repeat(1_024)}<meta charset=latin1>`, utf8),
      'grün',
    ],
    [
      'the declaration of XML in HTML',
      'text/html',
      Buffer.concat([Buffer.from('<?xml version="1.0" encoding="latin1"?>'), latin]),
      'grün',
    ],
    [
      'the declaration of XML',
      'application/rss+xml',
      Buffer.concat([Buffer.from("<?xml version='1.0' encoding='windows-1251'?><a>"), hex('cff0e8e2e5f2')]),
      'Привет',
    ],
    ['no meta in XML', 'application/xhtml+xml', page('<meta charset="latin1"/>', utf8), 'grün'],
    [
      'UTF-16 of XML without a mark',
      'text/xml',
      Buffer.from('<?xml version="1.0"?><a>grün</a>', 'utf16le'),
      'grün',
    ],
    ['UTF-8 for Markdown that quotes a page', 'text/markdown', page('<meta charset=latin1>', utf8), 'grün'],
    [
      'UTF-8 for JSON that quotes a header',
      'application/json',
      Buffer.from('{"type":"text/html; charset=latin1","a":"grün"}'),
      'grün',
    ],
    ['the header of JSON', 'application/json; charset=latin1', latin, 'grün'],
    ['a meta without a header', undefined, page('<meta charset=latin1>', latin), 'grün'],
    [
      'UTF-8 for a text without a header',
      undefined,
      Buffer.from('# Pages\n`<meta charset=latin1>` grün'),
      'grün',
    ],
  ])('is by %s', async (_what, contentType, body, expected) => {
    expect(await textOf(contentType, body)).toContain(expected);
  });

  it('is decoded as browsers do, beyond the tables of Node', async () => {
    // Syllables of Windows-949, and characters of Hong Kong.
    expect(await textOf('text/plain; charset=euc-kr', hex('8c63 b9e6 b0a2 c7cf'))).toBe('똠방각하');
    expect(await textOf('text/plain; charset=big5', hex('fdd5 8845'))).toBe(
      new TextDecoder('big5').decode(hex('fdd5 8845')),
    );
    expect(await textOf('text/plain; charset=iso-8859-1', hex('80 93'))).toBe('€“');
  });

  it('that browsers refuse gives one replacement character', async () => {
    expect(await textOf('text/html; charset=iso-2022-kr', latin)).toBe('\ufffd');
    expect(await textOf('text/html; charset=iso-2022-kr', Buffer.alloc(0))).toBe('');
  });

  it('loses no text for bytes that it does not have, and for the half of a character at the end', async () => {
    expect(await textOf('text/html', Buffer.concat([latin, utf8]))).toBe('gr\ufffdngrün');
    expect(await textOf('text/plain', utf8.subarray(0, 3))).toBe('gr\ufffd');
    expect(await textOf('text/plain; charset=utf-16le', hex('6100 62'))).toBe('a\ufffd');
  });
});

const encodings = [
  'utf-8',
  'utf-16le',
  'utf-16be',
  'windows-1251',
  'gb18030',
  'big5',
  'euc-jp',
  'shift_jis',
  'euc-kr',
  'iso-2022-jp',
];

it('a long page is decoded in pieces as if it were one', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom(...encodings),
      fc.uint8Array({ minLength: 3, maxLength: 61 }),
      async (encoding, unit) => {
        const body = Buffer.alloc(600 * 1_024, unit);
        // A mark at the beginning wins over the header's charset.
        const whole = new TextDecoder(getBOMEncoding(body) ?? encoding).decode(body);
        expect((await textOf(`text/plain; charset=${encoding}`, body)) === whole).toBe(true);
      },
    ),
    { numRuns: 40 },
  );
});

it('any bytes of any type are some text', async () => {
  const types = fc.constantFrom(
    undefined,
    '',
    'text/html',
    'text/xml',
    'text/plain',
    'application/json',
    ',;',
    'text',
  );
  const labels = fc.oneof(
    fc.string(),
    fc.constantFrom('', ...encodings, 'replacement', 'x-user-defined', 'utf-7'),
  );
  const bodies = fc.oneof(
    fc.uint8Array({ maxLength: 40 }),
    fc
      .array(
        fc.constantFrom(
          '<',
          '!--',
          '-->',
          'meta',
          ' ',
          'charset',
          '=',
          '"',
          'utf-16',
          '<?xml',
          'encoding',
          '?>',
          '/',
        ),
        { maxLength: 30 },
      )
      .map((parts) => Buffer.from(parts.join(''))),
  );
  await fc.assert(
    fc.asyncProperty(types, labels, bodies, async (type, label, body) => {
      const contentType = type === undefined ? undefined : `${type}; charset=${label}`;
      expect(typeof (await textOf(contentType, Buffer.from(body)))).toBe('string');
    }),
    { numRuns: 500 },
  );
});

import type { DialectName } from '@gatehouse/contract/dialects';
import { atOnce } from '@gatehouse/kit/cooperative-steps';
import { describe, expect, it } from '@jest/globals';
import { dialects } from '../dialects.ts';
import { TextView } from './text-view.ts';

const viewOf = (name: DialectName, json: string): TextView =>
  atOnce(TextView.read(Buffer.from(json), dialects[name].texts.request));

/** The texts of a request but types, with `=` before one that can't be rewritten, and `?` for something unreadable. */
const read = (name: DialectName, json: string): string[] => {
  const { texts, unreadable } = viewOf(name, json);
  const values = texts.filter(({ param }) => !/type$/i.test(param));
  return [
    ...values.map(({ value, isFixed }) => (isFixed ? `=${value}` : value)),
    ...unreadable.map(() => '?'),
  ];
};

const base64 = (text: string | Buffer): string => Buffer.from(text).toString('base64');

/** Requests with an address or data in a part, by the members of the part as JSON. */
const inChat = (part: string): string => `{"messages":[{"role":"user","content":[${part}]}]}`;
const inResponses = (part: string): string => `{"input":[{"role":"user","content":[${part}]}]}`;
const source = (members: string): string =>
  `{"messages":[{"role":"user","content":[{"type":"document","source":{${members}}}]}]}`;
const inline = (members: string): string =>
  `{"contents":[{"role":"user","parts":[{"inlineData":{${members}}}]}]}`;

const places: readonly (readonly [DialectName, (address: string) => string])[] = [
  ['chat', (url) => inChat(`{"type":"image_url","image_url":{"url":"${url}"}}`)],
  ['chat', (url) => inChat(`{"type":"image_url","image_url":"${url}"}`)],
  ['chat', (url) => inChat(`{"type":"file","file":{"file_url":"${url}"}}`)],
  ['chat', (url) => inChat(`{"type":"file","file":{"file_data":"${url}"}}`)],
  ['responses', (url) => inResponses(`{"type":"input_image","image_url":"${url}"}`)],
  ['responses', (url) => inResponses(`{"type":"input_file","file_url":"${url}"}`)],
  ['responses', (url) => inResponses(`{"type":"input_file","file_data":"${url}"}`)],
  ['messages', (url) => source(`"type":"url","url":"${url}"`)],
  ['gemini', (url) => `{"contents":[{"role":"user","parts":[{"fileData":{"fileUri":"${url}"}}]}]}`],
];

describe('an address of a file', () => {
  it.each(places)('has the text of its data in %s, %#', (name, request) => {
    const svg = '<svg>Grüße, A</svg>';
    for (const address of [
      `data:text/plain;base64,${base64(svg)}`,
      `DATA:image/svg+xml;charset=utf-8; base64,${base64(svg)}`,
      `data:text/plain;base64,${base64(svg).replace('P', '%50')}`,
      `data:text/plain;a=${'x'.repeat(300)};base64,${base64(svg)}`,
      `data:image/svg+xml;utf8,${encodeURIComponent(svg)}`,
      `data:text/plain,${svg.replace('A', '%41')}`,
      `data:,${svg}`,
      `data:;charset=utf-8;base64,${base64(svg)}`,
      `data:application/octet-stream;base64,${base64(svg)}`,
    ])
      expect(read(name, request(address))).toEqual([svg]);
  });

  it.each(places)('is unreadable without a text in %s, %#', (name, request) => {
    for (const address of [
      'https://example.com/a.txt',
      'data:image/png;base64,iVBORw0KGgo=',
      'data:application/pdf;base64,JVBERi0=',
      `data:application/octet-stream;base64,${base64(Buffer.from([0xff, 0]))}`,
    ])
      expect(read(name, request(address))).toEqual(['?']);
  });

  it('is rewritten in its own encoding', () => {
    const [, request] = places[0] ?? [];
    if (request === undefined) throw new Error('there are no places');
    for (const [before, after] of [
      ['data:text/plain,Say%20ok', 'data:text/plain,Say%20%5BOK%5D'],
      [`data:text/plain;base64,${base64('Say ok')}`, `data:text/plain;base64,${base64('Say [OK]')}`],
    ] as const) {
      const view = viewOf('chat', request(before));
      const [viewText] = view.texts;
      if (viewText === undefined) throw new Error('the view has no text');
      const rewritten = atOnce(view.rewritten([{ viewText, from: 4, until: 6, text: '[OK]' }]));
      expect(rewritten.toString()).toBe(request(after));
    }
  });
});

describe('a file in base64', () => {
  const data = base64('A file.');

  it('is a text by any statement beside it, however it is written', () => {
    expect(read('gemini', inline(`"mimeType":"text\\/plain","data":"${data}"`))).toEqual(['A file.']);
    expect(
      read('gemini', inline(`"mime_type":"image/png","mimeType":"text/plain","data":"${data}"`)),
    ).toEqual(['A file.']);
    expect(read('gemini', inline(`"data":"${data}","mimeType":"text/plain","mimeType":"image/png"`))).toEqual(
      ['A file.'],
    );
    expect(
      read('messages', source(`"type":"b\\u0061se64","media_type":"text/plain","data":"${data}"`)),
    ).toEqual(['A file.']);
  });

  it('is a text by the end of a long name', () => {
    const name = `${'n'.repeat(5000)}.t\\u0078t`;
    const file = `{"type":"input_file","file_data":"data:image/png;base64,${data}","filename":"${name}"}`;
    expect(read('responses', inResponses(file))).toContain('A file.');
  });

  it('is read both ways beside two types', () => {
    const members = `"type":"text","type":"base64","media_type":"text/plain","data":"${data}"`;
    expect(read('messages', source(members))).toEqual(['A file.', `=${data}`]);
  });

  it('is a text with invalid bytes, which stay', () => {
    const bytes = Buffer.concat([Buffer.from('A file.'), Buffer.from([0xff])]);
    const members = `"type":"base64","media_type":"text/plain","data":"${base64(bytes)}"`;
    expect(read('messages', source(members))).toEqual(['=A file.\ufffd']);
  });

  it('is a text in each charset stated for it', () => {
    const wide = base64(Buffer.from('A file.', 'utf16le'));
    const marked = base64(Buffer.from('\ufeffA file.', 'utf16le'));
    expect(read('gemini', inline(`"mimeType":"text/plain;charset=utf-16le","data":"${wide}"`))).toEqual([
      '=A file.',
    ]);
    expect(read('gemini', inline(`"mimeType":"text/plain","data":"${marked}"`))).toEqual(['=\ufeffA file.']);
    const latin = base64(Buffer.from('Grüße', 'latin1'));
    expect(
      read('gemini', inline(`"mimeType":"text/plain; charset=\\"iso-8859-1\\"","data":"${latin}"`)),
    ).toEqual(['=Grüße']);
    expect(read('gemini', inline(`"mimeType":"text/plain;charset=none","data":"${data}"`))).toEqual([
      'A file.',
    ]);
    const two = `"mimeType":"text/plain;charset=utf-8","mimeType":"text/plain;charset=utf-16le","data":"${wide}"`;
    expect(read('gemini', inline(two))).toContain('=A file.');
  });

  it('is a text and unreadable where a text is stated and the bytes begin like another file', () => {
    const members = `"type":"base64","media_type":"text/plain","data":"${base64('%PDF-1.7 A file.')}"`;
    expect(read('messages', source(members))).toEqual(['%PDF-1.7 A file.', '?']);
  });
});

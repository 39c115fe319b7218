import type { DialectName } from '@gatehouse/contract/dialects';
import { describe, expect, it } from '@jest/globals';
import type { Fields } from '@gatehouse/kit/fields';
import { translator } from '../../test/translating.ts';

const inGemini = (part: Fields): Fields => ({ contents: [{ parts: [part] }] });
const inResponses = (part: Fields): Fields => ({
  input: [{ role: 'user', content: [{ type: 'input_file', ...part }] }],
});
const inChat = (file_data: string, filename?: string): Fields => ({
  messages: [{ role: 'user', content: [{ type: 'file', file: { file_data, filename } }] }],
});
const video = { inlineData: { mimeType: 'video/mp4', data: 'AAAA' } };
const film = { fileData: { fileUri: 'https://www.youtube.com/watch?v=1' } };

describe('a file', () => {
  it.each<[string, DialectName, DialectName, Fields]>([
    ['a video for chat', 'gemini', 'chat', inGemini(video)],
    ['a video for responses', 'gemini', 'responses', inGemini(video)],
    ['a video for messages', 'gemini', 'messages', inGemini(video)],
    ['a film by its address for responses', 'gemini', 'responses', inGemini(film)],
    ['a film by its address for messages', 'gemini', 'messages', inGemini(film)],
    [
      'a table by its address for messages',
      'responses',
      'messages',
      inResponses({ file_url: 'https://a.example/t.csv' }),
    ],
    [
      'a document of Word for messages',
      'responses',
      'messages',
      inResponses({ file_data: 'UEsDBA==', filename: 'a.docx' }),
    ],
    ['data of no known type', 'chat', 'responses', inChat('data:application/octet-stream;base64,AAAA')],
  ])('%s is refused', async (_, from, to, request) => {
    await expect(translator(from, to)(request)).rejects.toMatchObject({ code: 'unsupported_parameter' });
  });

  it.each<[string, readonly [DialectName, DialectName], Fields, Fields]>([
    [
      'a PDF without a name',
      ['gemini', 'chat'],
      inGemini({ inlineData: { mimeType: 'application/pdf', data: 'JVBERi0=' } }),
      { filename: 'file.pdf', file_data: 'data:application/pdf;base64,JVBERi0=' },
    ],
    [
      'a PDF without a type',
      ['chat', 'responses'],
      inChat('JVBERi0='),
      { filename: 'file.pdf', file_data: 'data:application/pdf;base64,JVBERi0=' },
    ],
    [
      'a document of Word',
      ['chat', 'gemini'],
      inChat('UEsDBA==', 'a.docx'),
      {
        inlineData: {
          mimeType: 'application/vnd.openxmlformats-officedocument.wordprocessingml.document',
          data: 'UEsDBA==',
        },
      },
    ],
    [
      'a table by its address',
      ['responses', 'gemini'],
      inResponses({ file_url: 'https://a.example/t.csv?x=1' }),
      { fileData: { fileUri: 'https://a.example/t.csv?x=1', mimeType: 'text/csv' } },
    ],
    [
      'a table by its address in place of data',
      ['chat', 'gemini'],
      inChat('HTTPS://a.example/t.csv?x=1'),
      { fileData: { fileUri: 'HTTPS://a.example/t.csv?x=1', mimeType: 'text/csv' } },
    ],
    [
      'a document of another API at chat by its address',
      ['chat', 'messages'],
      {
        messages: [
          { role: 'user', content: [{ type: 'file', file: { file_url: 'https://a.example/a.pdf' } }] },
        ],
      },
      { type: 'document', source: { type: 'url', url: 'https://a.example/a.pdf' } },
    ],
    [
      'a text with its name',
      ['chat', 'gemini'],
      inChat('data:text/plain;base64,QUJD', 'a.txt'),
      { text: 'a.txt:\n\nABC' },
    ],
    [
      'a text in another charset',
      ['chat', 'gemini'],
      inChat('data:text/csv;charset=iso-8859-1;base64,6Q=='),
      { text: 'é' },
    ],
  ])('%s stays that', async (_, pair, request, written) => {
    const { text } = await translator(...pair)(request);
    expect(text).toContain(JSON.stringify(written).slice(1, -1));
  });

  it.each(['data:text/plain;base64,6Q==', 'data:text/plain;charset=none;base64,QUJD'])(
    'that is no text in its charset is refused: %s',
    async (data) => {
      await expect(translator('chat', 'messages')(inChat(data))).rejects.toMatchObject({
        code: 'invalid_value',
      });
    },
  );
});

it('an image by an address without an ending has no type', async () => {
  const image = { type: 'image_url', image_url: { url: 'https://a.example/pic?id=4' } };
  const { body } = await translator('chat', 'gemini')({ messages: [{ role: 'user', content: [image] }] });
  expect(body).toMatchObject({
    contents: [{ parts: [{ fileData: { fileUri: 'https://a.example/pic?id=4' } }] }],
  });
  expect(JSON.stringify(body)).not.toContain('mimeType');
});

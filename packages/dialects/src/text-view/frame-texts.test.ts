import type { DialectName } from '@gatehouse/contract/dialects';
import type { Fields } from '@gatehouse/kit/fields';
import { describe, expect, it } from '@jest/globals';
import { called, chunk, dataOf, frameOf, GatheredTexts, part } from '../../test/gathered-texts.ts';
import { dialects } from '../dialects.ts';
import { FrameReader } from './frame-reader.ts';

const sent = (
  name: DialectName,
  frames: readonly Fields[],
  [value, by]: readonly [string, string],
): Fields[] => new GatheredTexts(name, frames.map(frameOf)).replace(value, by).written().map(dataOf);

describe('a frame', () => {
  it('has offsets of citations in the changed text', () => {
    const cited = (start: number, end: number): Fields => ({
      annotations: [
        {
          type: 'url_citation',
          url_citation: { url: 'https://example.com', start_index: start, end_index: end },
        },
      ],
    });
    const frames = (texts: readonly string[], places: readonly [number, number][]): Fields[] => [
      ...texts.map((content) => chunk({ content })),
      ...places.map(([start, end]) => chunk(cited(start, end))),
    ];
    const before: [number, number][] = [
      [0, 1],
      [1, 5],
      [3, 5],
      [5, 7],
      [6, 8],
    ];
    const behind: [number, number][] = [
      [0, 1],
      [1, 6],
      [1, 6],
      [6, 8],
      [7, 9],
    ];
    expect(
      sent(
        'chat',
        frames(
          ['é🎉SEC', 'RET😀'],
          [
            [0, 2],
            [2, 5],
            [2, 8],
            [4, 9],
          ],
        ),
        ['SECRET', '[S]'],
      ),
    ).toEqual(
      frames(
        ['é🎉[S]', '😀'],
        [
          [0, 2],
          [2, 5],
          [2, 5],
          [2, 6],
        ],
      ),
    );
    expect(sent('chat', frames(['a12', '345678'], before), ['1234', 'NNNNN'])).toEqual(
      frames(['aNNNNN', '5678'], behind),
    );
    const annotation = { type: 'url_citation', url: 'https://example.com', title: 'A title' };
    const events = (delta: string, start: number, end: number): Fields[] => [
      { type: 'response.output_text.delta', ...part, delta },
      {
        type: 'response.output_text.annotation.added',
        ...part,
        annotation: { ...annotation, start_index: start, end_index: end },
      },
      {
        type: 'response.content_part.done',
        ...part,
        part: {
          type: 'output_text',
          text: delta,
          annotations: [{ ...annotation, start_index: start, end_index: end }],
        },
      },
    ];
    expect(sent('responses', events('The SECRET is here', 14, 18), ['SECRET', '[S]'])).toEqual(
      events('The [S] is here', 11, 15),
    );
    const grounded = (text: string, startIndex: number, endIndex: number): Fields[] => [
      { candidates: [{ content: { parts: [{ text }] } }] },
      { candidates: [{ groundingMetadata: { groundingSupports: [{ segment: { startIndex, endIndex } }] } }] },
    ];
    expect(sent('gemini', grounded('é SECRET é', 9, 12), ['SECRET', '[S]'])).toEqual(
      grounded('é [S] é', 6, 9),
    );
  });

  it('has an excerpt without parts of what was replaced', () => {
    const grounded = (text: string, segments: readonly [number, number, string][]): Fields[] => [
      { candidates: [{ content: { parts: [{ text }] } }] },
      {
        candidates: [
          {
            groundingMetadata: {
              groundingSupports: segments.map(([startIndex, endIndex, excerpt]) => ({
                segment: { startIndex, endIndex, text: excerpt },
              })),
            },
          },
        ],
      },
    ];
    const segments: [number, number, string][] = [
      [0, 4, 'a SE'],
      [0, 8, 'a SECRET'],
      [4, 10, 'CRET b'],
      [9, 10, 'b'],
    ];
    expect(sent('gemini', grounded('a SECRET b', segments), ['SECRET', '[S]'])).toEqual(
      grounded('a [S] b', [
        [0, 5, ''],
        [0, 5, 'a [S]'],
        [2, 7, ''],
        [6, 7, 'b'],
      ]),
    );
    expect(sent('gemini', grounded('a SECRET b', segments), ['other', ''])).toEqual(
      grounded('a SECRET b', segments),
    );
  });

  it('loses the signature of reasoning changed in an earlier one', () => {
    const thinking = (text: string, signature: string): Fields[] => [
      {
        type: 'content_block_start',
        index: 0,
        content_block: { type: 'thinking', thinking: '', signature: '' },
      },
      { type: 'content_block_delta', index: 0, delta: { type: 'thinking_delta', thinking: text } },
      { type: 'content_block_delta', index: 0, delta: { type: 'signature_delta', signature } },
    ];
    expect(sent('messages', thinking('a SECRET', 'c2lnbmVk'), ['SECRET', '[S]'])).toEqual(
      thinking('a [S]', ''),
    );
    expect(sent('messages', thinking('a SECRET', 'c2lnbmVk'), ['other', ''])).toEqual(
      thinking('a SECRET', 'c2lnbmVk'),
    );
    const thought = (text: string, thoughtSignature: string): Fields[] => [
      { candidates: [{ content: { parts: [{ text, thought: true }] } }] },
      {
        candidates: [
          {
            content: {
              parts: [
                { text: 'b', thought: true, thoughtSignature },
                { text: 'c', thoughtSignature: 'cw==' },
              ],
            },
          },
        ],
      },
    ];
    expect(sent('gemini', thought('a SECRET', 'c2lnbmVk'), ['SECRET', '[S]'])).toEqual(thought('a [S]', ''));
  });

  it('has a text that differs from its pieces as a text of its own', () => {
    const frames = [
      { type: 'response.output_text.delta', ...part, delta: 'Hello' },
      { type: 'response.output_text.done', ...part, text: 'Hello a@b.c' },
      {
        type: 'response.completed',
        response: { output: [{ content: [{ type: 'output_text', text: 'Hello' }] }] },
      },
    ];
    const read = new GatheredTexts('responses', frames.map(frameOf));
    expect(read.all).toEqual(['answer Hello', 'answer Hello a@b.c']);
    const message = (content: string): Fields => ({ choices: [{ index: 0, message: { content } }] });
    expect(
      new GatheredTexts('chat', [chunk({ content: 'a' }), message('a'), message('b')].map(frameOf)).all,
    ).toEqual(['answer a', 'answer b']);
    expect(new GatheredTexts('chat', [message('4242'), message('4242')].map(frameOf)).all).toEqual([
      'answer 42424242',
    ]);
  });

  it('is open within an escape and a number of arguments, and has their changes', () => {
    const pieces = ['{"to":"a', '\\u0', '0', '40b","n":4', '2', ',"m":1}'];
    const frames = pieces.map((each) => frameOf(chunk(called(each))));
    const reader = new FrameReader(dialects.chat.texts.frame);
    const open: boolean[] = [];
    const read = frames.map((frame, index) => {
      const texts = reader.read(frame);
      open[index] = texts.isOpen;
      return texts;
    });
    expect(open).toEqual([false, true, true, true, true, false]);
    expect(read.map(({ isOpen }) => isOpen)).toEqual(pieces.map(() => false));
    const written = new GatheredTexts('chat', frames).replace('@', '[AT]').replace('42', 'N').written();
    const args = written.map((frame) => JSON.stringify(dataOf(frame)).split('arguments')[1]);
    expect(args.map((each) => JSON.parse(each?.slice(2, each.indexOf('}}]')) ?? '') as unknown)).toEqual([
      ...['{"to":"a', '[AT]', '', 'b","n":"N', '', '","m":1}'],
    ]);
  });

  it('has the ends of its texts', () => {
    const reader = new FrameReader(dialects.chat.texts.frame);
    const ends = [
      chunk({ content: 'a' }),
      chunk(called('{"a":"b"')),
      chunk({}, { finish_reason: 'stop' }),
    ].map((each) => reader.read(frameOf(each)).ends.length);
    expect(ends).toEqual([0, 2, 1]);
    expect(reader.end()).toEqual([]);
  });

  it('has arguments by the kind of their call, and texts of unknown members', () => {
    const block = (type: string, index: number): Fields[] => [
      {
        type: 'content_block_start',
        index,
        content_block: { type, id: `id_${index}`, name: 'search', input: {} },
      },
      {
        type: 'content_block_delta',
        index,
        delta: { type: 'input_json_delta', partial_json: '{"q":"a b"}' },
      },
    ];
    const frames = [...block('server_tool_use', 0), ...block('tool_use', 1)].map(frameOf);
    expect(new GatheredTexts('messages', frames).all).toEqual([
      ...['answer =search', 'answer =q', 'answer a b', 'tool_call =search', 'tool_call =q', 'tool_call a b'],
    ]);
    const deltas = [chunk({ a_new: 'one ' }), chunk({ a_new: 'text' })].map(frameOf);
    expect(new GatheredTexts('chat', deltas).all).toEqual(['answer =a_new', 'answer one text']);
  });

  it('is refused with too much text', () => {
    const reader = new FrameReader(dialects.chat.texts.frame);
    expect(() => reader.read(frameOf(chunk({ content: 'a'.repeat(2 * 1024 * 1024 + 1) })))).toThrow(
      'a frame of the stream has too much text to be checked',
    );
  });

  it('stays without an object, and is written in one line if it has several', () => {
    const reader = new FrameReader(dialects.chat.texts.frame);
    for (const text of [': waiting\n\n', 'data: [DONE]\n\n', '\n']) {
      const frame = Buffer.from(text);
      expect(reader.read(frame).rewritten()).toBe(frame);
    }
    const several = Buffer.from('id: 1\ndata: {"choices":[{"delta":\ndata: {"content":"a SECRET"}}]}\n\n');
    const [written] = new GatheredTexts('chat', [several]).replace('SECRET', '[S]').written();
    expect(written?.toString()).toBe('id: 1\ndata: {"choices":[{"delta": {"content":"a [S]"}}]}\n\n');
  });
});

import { expect } from '@jest/globals';
import { dialects } from '@gatehouse/dialects/dialects';
import { FrameSplitter } from '@gatehouse/dialects/wire/sse-frames';
import { answerOf, eventsOf, framesOf, messageItem, type Fields } from './response-answers.ts';
import { chunks, message, messageEvents } from './translated-answers.ts';
import { chatAnswer } from './guarded-apis.ts';

/** Answers of a text in each API: whole, and streamed in pieces. */
export interface StreamedApi {
  whole: (text: string) => Fields;
  frames: (pieces: readonly string[]) => string[];
  /** The text in a whole answer. */
  text: (answer: Fields) => string;
  /** Members of an answer ended with a sentence. */
  refusal: (sentence: string) => object;
}

const textIn = ({ text }: Fields): string => (typeof text === 'string' ? text : '');
const first = (value: unknown): Fields => ((value as Fields[] | undefined) ?? [])[0] ?? {};
const candidate = (parts: Fields[], fields: Fields = {}): Fields => ({
  candidates: [{ index: 0, content: { role: 'model', parts }, ...fields }],
  usageMetadata: { promptTokenCount: 5, candidatesTokenCount: 1, totalTokenCount: 6 },
});

export const streamedApis: Record<string, StreamedApi> = {
  chat: {
    whole: (content) => ({
      ...chatAnswer,
      choices: [{ index: 0, message: { role: 'assistant', content }, finish_reason: 'stop' }],
    }),
    frames: (pieces) => chunks(pieces.map((content) => ({ content }))),
    text: ({ choices }) => textIn({ text: (first(choices)['message'] as Fields)['content'] }),
    refusal: (refusal) => ({
      choices: [{ index: 0, message: expectFields({ refusal }), finish_reason: 'content_filter' }],
    }),
  },
  responses: {
    whole: (text) => answerOf([messageItem(text)]),
    frames: (pieces) =>
      framesOf(
        eventsOf([messageItem(pieces.join(''))]).flatMap((event) =>
          event['type'] === 'response.output_text.delta'
            ? pieces.map((delta) => ({ ...event, delta }))
            : [event],
        ),
      ),
    text: ({ output }) =>
      (output as Fields[])
        .flatMap(({ content }) => content as Fields[])
        .map(textIn)
        .join(''),
    refusal: (refusal) => ({
      status: 'completed',
      output: expectLast({ type: 'message', content: [{ type: 'refusal', refusal }] }),
    }),
  },
  messages: {
    whole: (text) => message([{ type: 'text', text }]),
    frames: (pieces) =>
      messageEvents([{ type: 'text', text: '-' }]).flatMap((frame) =>
        frame.includes('text_delta')
          ? pieces.map((text) => frame.replace('"text":"-"', `"text":${JSON.stringify(text)}`))
          : [frame],
      ),
    text: ({ content }) => (content as Fields[]).map(textIn).join(''),
    refusal: (explanation) => ({
      stop_reason: 'refusal',
      stop_details: { type: 'refusal', category: null, explanation },
    }),
  },
  gemini: {
    whole: (text) => candidate([{ text }], { finishReason: 'STOP' }),
    frames: (pieces) => {
      const all = pieces.map((text, index) =>
        candidate([{ text }], index === pieces.length - 1 ? { finishReason: 'STOP' } : {}),
      );
      return all.map((frame) => `data: ${JSON.stringify(frame)}\r\n\r\n`);
    },
    text: ({ candidates }) =>
      (((first(candidates)['content'] as Fields | undefined)?.['parts'] as Fields[] | undefined) ?? [])
        .map(textIn)
        .join(''),
    refusal: (finishMessage) => ({ candidates: [expectFields({ finishReason: 'SAFETY', finishMessage })] }),
  },
};

function expectFields(fields: Fields): unknown {
  return expect.objectContaining(fields);
}

function expectLast(item: Fields): unknown {
  return expect.arrayContaining([expectFields(item)]);
}

/** The frames of a stream as a client got it. */
export function framesIn(body: string): Buffer[] {
  return new FrameSplitter().push(Buffer.from(body.endsWith('\n\n') ? body : `${body}\n\n`));
}

/** The whole answer of a stream, as a client puts it together. */
export function joined(api: string, body: string): Fields {
  const builder = dialects[api as keyof typeof dialects].answerBuilder();
  for (const frame of framesIn(body)) builder.add(frame);
  return JSON.parse(builder.built?.toString() ?? 'null') as Fields;
}

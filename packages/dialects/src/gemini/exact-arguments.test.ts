import { expect, it } from '@jest/globals';
import { JsonSource } from '../wire/json-text.ts';
import { GeminiAnswerBuilder } from './response-mode.ts';
import { ContentToolAnswers } from './tools.ts';
import { ContentToolStream } from './tools.ts';

const isOwn = (name: string): boolean => name.startsWith('own');

it('keeps numbers in arguments that JavaScript would write in another way', () => {
  const args = '{"id":9007199254740993,"ratio":1.0,"big":1e400}';
  for (const name of ['functionCall', 'function_call']) {
    const call = (called: string) => `{"${name}":{"name":"${called}","args":${args}}}`;
    const text = `{"candidates":[{"content":{"parts":[${call('own_a')},${call('theirs')}]},"finishReason":"STOP"}]}`;
    const answers = new ContentToolAnswers(isOwn);
    const said = answers.add(JSON.parse(text) as Record<string, unknown>, new JsonSource(Buffer.from(text)));
    expect(said?.calls.map(({ argumentsJson }) => argumentsJson)).toEqual([args, args]);
    expect(said?.text.split(args)).toHaveLength(3);
    expect(String(answers.shown).split(args)).toHaveLength(2);
    const frames: string[] = [];
    const stream = new ContentToolStream(
      {
        write: (more) => frames.push(...more.map(String)) > 0,
        onDrain: () => undefined,
      },
      isOwn,
    );
    const builder = new GeminiAnswerBuilder();
    builder.add(Buffer.from(`data: ${text}\n\n`));
    expect(String(builder.built).split(args)).toHaveLength(3);
    stream.write([Buffer.from(`data: ${text}\n\n`)]);
    expect(stream.message.text.split(args)).toHaveLength(3);
    expect([...frames, ...stream.endFrames().map(String)].join('').split(args)).toHaveLength(2);
  }
});

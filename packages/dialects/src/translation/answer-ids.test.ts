import { describe, expect, it } from '@jest/globals';
import { dialectNames } from '@gatehouse/contract/dialects';
import { facts } from '@gatehouse/test/translation-samples';
import { writtenIn } from '../../test/translating.ts';
import { frameOf } from '../gemini/stream.ts';
import { translationBetween } from './translation.ts';

/** Answers of Converse, and of some servers, have no id. */
const converse = {
  output: { message: { role: 'assistant', content: [{ text: 'Hi' }] } },
  ...{ stopReason: 'end_turn', usage: { inputTokens: 1, outputTokens: 1, totalTokens: 2 } },
};
const gemini = {
  candidates: [{ content: { role: 'model', parts: [{ text: 'Hi' }] }, finishReason: 'STOP' }],
};

describe.each(dialectNames)('an answer without an id, for a client of %s', (client) => {
  it('has one of its own, that of its run where it has one', async () => {
    const ids = new Set<string>();
    const idsOf = (text: string): void => {
      for (const [, id] of text.matchAll(/"(?:id|responseId)":"([^"]*)"/g)) ids.add(id ?? '');
    };
    const answerOf = async (more: object): Promise<string> => {
      const translation = translationBetween(client, 'converse', { ...facts, ...more });
      return writtenIn(await translation.whole(Buffer.from(JSON.stringify(converse)), null)).toString();
    };
    const [first, second] = [await answerOf({}), await answerOf({})];
    idsOf(first);
    const { size } = ids;
    idsOf(second);
    expect([size > 0, ids.size, ids.has('')]).toEqual([true, 2 * size, false]);
    expect(await answerOf({ answerId: 'run-1_2' })).toMatch(/"(?:id|responseId)":"(?:\w+[-_])?run-1_2"/);
    if (client === 'gemini') return;
    const stream = translationBetween(client, 'gemini', { ...facts, answerId: 'run-1' }).stream();
    const frames = [...stream.frames(frameOf(gemini)), ...stream.end()];
    expect(Buffer.concat(frames).toString()).toMatch(/"id":"(?:\w+[-_])?run-1"/);
  });
});

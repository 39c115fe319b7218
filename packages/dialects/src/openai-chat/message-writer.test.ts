import { atOnce } from '@gatehouse/kit/cooperative-steps';
import { facts } from '@gatehouse/test/translation-samples';
import { expect, it } from '@jest/globals';
import type { Turn } from '../translation/conversation.ts';
import { DroppedFields } from '../translation/dropped-fields.ts';
import { functionCall } from '../translation/call-ids.ts';
import { writeMessages } from './message-writer.ts';
import { fieldNames } from './request-reader.ts';

it('calls of one turn take as long as calls of many', () => {
  const count = 100_000;
  const leastMs = (callsOfTurn: number): number => {
    const turns = Array.from({ length: count / callsOfTurn }, (_turn, index): Turn => {
      const calls = Array.from({ length: callsOfTurn }, (_call, at) =>
        functionCall(`${index} ${at}`, 'f', '{}'),
      );
      return { role: 'assistant', parts: calls };
    });
    const takenMs = Array.from({ length: 3 }, () => {
      const startedAt = performance.now();
      atOnce(writeMessages(turns, { facts, dropped: new DroppedFields(fieldNames) }));
      return performance.now() - startedAt;
    });
    return Math.min(...takenMs);
  };
  const manyMs = leastMs(100);
  // It took 30 times as long.
  expect(leastMs(count)).toBeLessThan(10 * manyMs);
});

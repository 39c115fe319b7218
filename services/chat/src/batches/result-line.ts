import { memberRanges, smallMembers, wholeOf, type Range } from '@gatehouse/dialects/wire/json-parts';
import type { BatchResult } from './batch-api.ts';

/** Lines of results: objects with the name of a request, and a member with its result. */

export type AnswerIn = (line: Buffer, result: Range, tenantId: string) => Promise<Buffer | null>;

/** Reads lines whose result is the member `name`, of which `answerIn` finds the answer. */
export function lineReader(
  name: string,
  answerIn: AnswerIn,
): (line: Buffer, tenantId: string) => Promise<BatchResult> {
  return async (line, tenantId) => {
    const members = await memberRanges(line, wholeOf(line), tenantId);
    const result = members?.get(name);
    const { custom_id: id } = await smallMembers(line, members, { names: ['custom_id'], tenantId });
    return {
      customId: typeof id === 'string' ? id : null,
      answer: result === undefined ? null : await answerIn(line, result, tenantId),
    };
  };
}

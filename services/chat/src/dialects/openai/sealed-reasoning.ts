import { isFields, listOf, type Fields } from '@gatehouse/kit/fields';
import { frameData } from '../../wire/sse-frames.ts';
import type { AnswerView } from '../dialect.ts';

/**
 * The member of an assistant's message, or of a delta, with the seals of its thoughts, which OpenAI's API has no place for.
 * The gateway needs it for the calls of its own tools within a turn. Clients don't get it.
 */
export const sealedReasoningMember = 'gatehouse_reasoning';

/** Shows clients answers without it. A stream has it in chunks of their own. */
export const unsealedView: AnswerView = {
  frame: (frame) => (frame.includes(sealedReasoningMember) && hasSeals(frame) ? Buffer.alloc(0) : frame),
  whole: (bytes) => Promise.resolve(bytes.includes(sealedReasoningMember) ? withoutSeals(bytes) : bytes),
};

function hasSeals(frame: Buffer): boolean {
  const chunk: unknown = JSON.parse(frameData(frame) ?? 'null');
  const choices = isFields(chunk) ? listOf(chunk['choices']).filter(isFields) : [];
  return choices.some(({ delta }) => isFields(delta) && Object.hasOwn(delta, sealedReasoningMember));
}

/** A translated answer is written by the gateway, so writing it again changes nothing else. */
function withoutSeals(bytes: Buffer): Buffer {
  const answer = JSON.parse(bytes.toString()) as Fields;
  const choices = listOf(answer['choices'])
    .filter(isFields)
    .map((choice) => ({
      ...choice,
      ...(isFields(choice['message']) && { message: withoutMember(choice['message']) }),
    }));
  return Buffer.from(JSON.stringify({ ...answer, choices }));
}

function withoutMember({ [sealedReasoningMember]: _seals, ...message }: Fields): Fields {
  return message;
}

import { expect, it } from '@jest/globals';
import type { Turn } from '../translation/conversation.ts';
import { DroppedFields, type FieldNames } from '../translation/dropped-fields.ts';
import { writeInput } from './input-writer.ts';

const thought = { kind: 'thinking', text: '', signature: { origin: 'openai', text: 'x' } };
const text = { kind: 'text', text: 'Yes.' };
const call = { kind: 'call', id: 'c', name: 'f', argumentsText: '{}' };

it.each([
  ['a user', [thought], []],
  ['a message', [thought, text], ['reasoning', 'message']],
  ['a call', [thought, thought, call], ['reasoning', 'reasoning', 'function_call']],
  ['nothing after a message', [text, thought], ['message']],
])('writes reasoning before %s', (_name, parts, types) => {
  const question = { role: 'user', parts: [{ kind: 'text', text: 'Well?' }] };
  const turns = [question, { role: 'assistant', parts }, question] as unknown as Turn[];
  const steps = writeInput(turns, new DroppedFields({} as FieldNames));
  let step = steps.next();
  while (step.done !== true) step = steps.next();
  expect(step.value.input.map(({ type }) => type)).toEqual(['message', ...types, 'message']);
});

import { expect, it } from '@jest/globals';
import { atOnce } from '@gatehouse/kit/cooperative-steps';
import type { Fields } from '@gatehouse/kit/fields';
import type { Turn } from '../translation/conversation.ts';
import { DroppedFields, type FieldNames } from '../translation/dropped-fields.ts';
import { writeInput } from './input-writer.ts';

const thought = { kind: 'thinking', text: '', signature: { origin: 'openai', text: 'x' } };
const text = { kind: 'text', text: 'Yes.' };
const call = { kind: 'call', id: 'c', name: 'f', argumentsText: '{}' };

function inputOf(turns: unknown): Fields[] {
  const steps = writeInput(turns as Turn[], new DroppedFields({} as FieldNames));
  return atOnce(steps).input;
}

it.each([
  ['a user', [thought], []],
  ['a message', [thought, text], ['reasoning', 'message']],
  ['a call', [thought, thought, call], ['reasoning', 'reasoning', 'function_call']],
  ['nothing after a message', [text, thought], ['message']],
])('writes reasoning before %s', (_name, parts, types) => {
  const question = { role: 'user', parts: [{ kind: 'text', text: 'Well?' }] };
  const input = inputOf([question, { role: 'assistant', parts }, question]);
  expect(input.map(({ type }) => type)).toEqual(['message', ...types, 'message']);
});

it('writes reasoning of one id once', () => {
  const of = (text: string): unknown => ({ ...thought, signature: { origin: 'openai', text } });
  const said = { role: 'user', parts: [{ kind: 'text', text: 'Well?' }] };
  const turn = { role: 'assistant', parts: [of('rs_1:x'), call, of('rs_2:y'), of('z'), text] };
  const input = inputOf([said, turn, said, turn]);
  const reasoning = input.filter(({ type }) => type === 'reasoning');
  expect(reasoning.map(({ id }) => id)).toEqual(['rs_1', 'rs_2', undefined, undefined]);
});

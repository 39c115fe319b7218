import { isFields } from '@gatehouse/kit/fields';
import { spokenText } from './message-text.ts';

/** A whole answer for other services, in which what a model says is text: some providers answer with lists of parts. */
export function plainAnswer(answer: Buffer): string {
  const text = answer.toString('utf8');
  const whole: unknown = JSON.parse(text);
  if (!isFields(whole) || !Array.isArray(whole['choices'])) return text;
  const choices = (whole['choices'] as unknown[]).map(plainChoice);
  const isPlain = choices.every((choice, index) => choice === (whole['choices'] as unknown[])[index]);
  return isPlain ? text : JSON.stringify({ ...whole, choices });
}

function plainChoice(choice: unknown): unknown {
  if (!isFields(choice) || !isFields(choice['message'])) return choice;
  const { content } = choice['message'];
  if (typeof content !== 'object' || content === null) return choice;
  return { ...choice, message: { ...choice['message'], content: spokenText(content) } };
}

import { isFields, listOf, type Fields } from '@gatehouse/kit/fields';
import { maxDepth } from '../bounds.ts';

/** Texts in messages, however a provider writes them: OpenAI's text, or lists of parts. */

/** Returns what a reader sees: a content's text, or the texts of its parts without thoughts. */
export function spokenText(content: unknown): string {
  return textOf(content, isSpoken);
}

/** The text of a message or a delta with a cost in tokens: content, reasoning and tool calls. */
export function messageText(message: Fields): string {
  let text = '';
  for (const name of thoughtsIn) if ((text = textOf(message[name])) !== '') break;
  const { transcript } = fieldsOf(message['audio']);
  // Added up, which copies no text.
  text += textOf(message['content']) + textOf(message['refusal']) + textOf(transcript);
  text += callText(message['function_call']);
  for (const call of listOf(message['tool_calls'])) text += callText(fieldsOf(call)['function'] ?? call);
  return text;
}

/** The number of tokens in an array of tokens; 0 for any other value. */
export function tokensIn(value: unknown): number {
  if (!Array.isArray(value)) return 0;
  if (value.every((token) => typeof token === 'number')) return value.length;
  return value.reduce<number>((sum, each) => sum + (Array.isArray(each) ? each.length : 0), 0);
}

/** Names of a model's thoughts. Providers with two of them send the same text twice. */
const thoughtsIn = ['reasoning_content', 'reasoning', 'thinking', 'reasoning_details', 'thinking_blocks'];

function callText(call: unknown): string {
  const { name, arguments: value } = fieldsOf(call);
  const written = typeof value === 'object' && value !== null ? JSON.stringify(value) : textOf(value);
  return textOf(name) + written;
}

function textOf(value: unknown, takes: (part: Fields) => boolean = () => true, depth = 0): string {
  if (typeof value === 'string') return value;
  if (depth > maxDepth || typeof value !== 'object' || value === null) return '';
  if (Array.isArray(value)) return value.map((part) => textOf(part, takes, depth + 1)).join('');
  const part = value as Fields;
  if (!takes(part)) return '';
  for (const name of textsOfParts) {
    const text = textOf(part[name], takes, depth + 1);
    if (text !== '') return text;
  }
  return '';
}

/** Names of the text in a part. */
const textsOfParts = ['text', 'refusal', 'thinking', 'summary', 'content'];

function isSpoken({ type }: Fields): boolean {
  return type === undefined || type === 'text' || type === 'output_text';
}

function fieldsOf(value: unknown): Fields {
  return isFields(value) ? value : {};
}

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

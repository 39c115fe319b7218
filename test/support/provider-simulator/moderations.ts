import { readModel } from './chat-request.ts';
import { RefusedRequest } from './errors.ts';
import { isObject } from './values.ts';

interface ModerationRequest {
  model: string;
  /** One for each verdict: the texts of all parts of an input stand for one. */
  texts: string[];
}

/** Categories of the answers. A text is flagged for those with their names in it. */
const categories = [
  ...['harassment', 'harassment/threatening', 'hate', 'hate/threatening', 'illicit', 'illicit/violent'],
  ...['self-harm', 'self-harm/instructions', 'self-harm/intent', 'sexual', 'sexual/minors'],
  ...['violence', 'violence/graphic'],
];

/** @throws RefusedRequest (400) for inputs that OpenAI rejects. */
export function readModerationRequest(body: unknown): ModerationRequest {
  if (!isObject(body)) throw new RefusedRequest('We could not parse the JSON body of your request.');
  return { model: readModel(body), texts: readTexts(body['input']) };
}

export function moderationBody({ model, texts }: ModerationRequest, id: string): string {
  return JSON.stringify({ id, model, results: texts.map(verdictOf) });
}

function verdictOf(text: string): object {
  const found = categories.filter((name) => text.toLowerCase().includes(name));
  const by = <Value>(value: (name: string) => Value): Record<string, Value> =>
    Object.fromEntries(categories.map((name) => [name, value(name)]));
  return {
    flagged: found.length > 0,
    categories: by((name) => found.includes(name)),
    category_scores: by((name) => (found.includes(name) ? 0.9 : 0.01)),
    category_applied_input_types: by(() => ['text']),
  };
}

function readTexts(input: unknown): string[] {
  if (typeof input === 'string') return [input];
  if (Array.isArray(input) && input.length > 0) {
    if (input.every((entry) => typeof entry === 'string')) return input;
    if (input.every(isObject))
      return [input.map(({ text }) => (typeof text === 'string' ? text : '')).join('\n')];
  }
  throw new RefusedRequest("'input' must be a string, or a list of strings or of parts.", { param: 'input' });
}

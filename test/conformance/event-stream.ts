import { isDeepStrictEqual } from 'node:util';

/** The data of each event of a stream as the gateway writes it: one `data:` line; comments are not events. */
export function dataOf(text: string): string[] {
  return text
    .split(/\r?\n\r?\n/)
    .filter((frame) => frame !== '' && !frame.startsWith(':'))
    .map((frame) => {
      if (!frame.startsWith('data: ') || /[\r\n]/.test(frame)) throw new Error(`not an event: ${frame}`);
      return frame.slice('data: '.length);
    });
}

interface Chunk {
  id?: string;
  model?: string;
  created?: number;
  choices?: { index: number; delta: { role?: string } }[];
  usage?: object | null;
}

const headers: Record<string, string | null> = {
  'content-type': 'text/event-stream',
  'cache-control': 'no-cache',
  'content-length': null,
  'content-encoding': null,
};

/** The problems of a complete stream, by the rules that the schema of a single chunk cannot express. */
export function streamProblems(response: Response, text: string, usageAsked: boolean): string[] {
  const problems: string[] = [];
  const hold = (rule: string, holds: boolean): void => {
    if (!holds) problems.push(rule);
  };
  for (const [name, value] of Object.entries(headers))
    hold(`${name} is ${value ?? 'absent'}`, response.headers.get(name) === value);

  const events = dataOf(text);
  hold('[DONE] comes once, at the end', events.indexOf('[DONE]') === events.length - 1);
  hold('the stream ends with an empty line', text.endsWith('\n\n'));
  const chunks = events.filter((data) => data !== '[DONE]').map((data) => JSON.parse(data) as Chunk);

  const heads = chunks.map(({ id, model, created }) => ({ id, model, created }));
  hold(
    'id, model and created stay the same',
    heads.every((head) => isDeepStrictEqual(head, heads[0])),
  );

  const firsts = new Map(
    chunks
      .flatMap(({ choices = [] }) => choices)
      .reverse()
      .map((choice) => [choice.index, choice.delta.role]),
  );
  hold('there is a choice', firsts.size > 0);
  hold(
    'the first chunk of a choice has its role',
    [...firsts.values()].every((role) => role === 'assistant'),
  );

  const usageChunks = chunks.filter(({ choices }) => choices?.length === 0);
  hold(
    usageAsked ? 'one usage chunk without choices comes last' : 'no chunk is without choices',
    isDeepStrictEqual(usageChunks, usageAsked ? chunks.slice(-1) : []),
  );
  if (usageAsked) hold('the last chunk has the usage', (chunks.at(-1)?.usage ?? null) !== null);
  return problems;
}

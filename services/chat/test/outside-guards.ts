import { chatAnswer } from './guarded-apis.ts';
import type { Fields } from './response-answers.ts';
import { whole, type Script } from './scripted-provider.ts';

/** Answers of the models and servers of guardrails. */

const usage = { prompt_tokens: 100, completion_tokens: 10, total_tokens: 110 };

/** A model answering with a label. */
export function label(word: string): Script {
  const message = { role: 'assistant', content: word };
  return whole({ ...chatAnswer, usage, choices: [{ index: 0, message, finish_reason: 'stop' }] });
}

export function bodyOf({ body }: { body: Buffer }): Fields {
  return JSON.parse(body.toString()) as Fields;
}

/** Changes texts as a server of LiteLLM's API. */
export function changes(change: (text: string) => string): Script {
  return (request) => {
    const texts = (bodyOf(request)['texts'] as string[]).map(change);
    whole({ action: 'GUARDRAIL_INTERVENED', texts })(request);
  };
}

/** Finds a word as Presidio's analyzer. */
export function finds(word: string): Script {
  return (request) => {
    const { text } = bodyOf(request);
    const found = [text].flat().map((each) => {
      const start = String(each).indexOf(word);
      return start < 0 ? [] : [{ entity_type: 'PERSON', start, end: start + word.length, score: 0.9 }];
    });
    whole(Array.isArray(text) ? found : found[0])(request);
  };
}

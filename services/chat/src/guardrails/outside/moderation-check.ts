import type { NewCheck } from '@gatehouse/contract/guardrail-checks';
import { z } from 'zod';
import {
  noMatch,
  OutsideFailure,
  type Answer,
  type OutsideCheck,
  type Question,
  type TextVerdict,
} from './outside-check.ts';
import { answerIn, passing, type ModelCheckOptions } from './model-answers.ts';

type Moderation = Extract<NewCheck, { type: 'moderation' }>;

const result = z.looseObject({
  flagged: z.boolean(),
  categories: z.record(z.string(), z.boolean().nullable()),
  category_scores: z.record(z.string(), z.number().nullable()),
});
type Result = z.output<typeof result>;

/** Asks a provider's moderations for what they flag, or score as high as the guardrail's thresholds. */
export class ModerationCheck implements OutsideCheck {
  readonly #check: Moderation;
  readonly #options: ModelCheckOptions;

  constructor(check: Moderation, options: ModelCheckOptions) {
    this.#check = check;
    this.#options = options;
  }

  ask(question: Question): Promise<Answer> {
    const { model, categories } = this.#check;
    return passing(this.#options, question, async (texts) => {
      const fields = { model, input: texts };
      const { signal } = question;
      const { bytes, costPico } = await question.models.call({ operation: 'moderations', fields, signal });
      const verdicts = resultsIn(bytes, texts.length).map((each) => verdictOf(each, categories));
      return { verdicts, costPico };
    });
  }
}

/** The results, as many as there were texts. */
function resultsIn(bytes: Buffer, texts: number): Result[] {
  const results = answerIn(bytes)['results'];
  const read = Array.isArray(results) && results.length === texts ? z.array(result).safeParse(results) : null;
  if (read?.data === undefined) throw new OutsideFailure('malformed');
  return read.data;
}

function verdictOf(
  { flagged, categories, category_scores: scores }: Result,
  thresholds: Moderation['categories'],
): TextVerdict {
  const named = Object.entries(thresholds);
  if (named.length === 0) {
    const types = Object.keys(categories).filter((name) => categories[name] === true);
    return flagged ? { outcome: 'match', types: types.length > 0 ? types : ['flagged'] } : noMatch;
  }
  // A category unknown to the model would never match.
  const unknown = named.some(([name]) => typeof scores[name] !== 'number');
  if (unknown) throw new OutsideFailure('malformed');
  const types = named.filter(([name, least]) => (scores[name] ?? 0) >= least).map(([name]) => name);
  return types.length > 0 ? { outcome: 'match', types } : noMatch;
}

import { z } from 'zod';
import { setOf, storableForm } from './fields.ts';
import { pick } from './route.ts';

/** Selections of runs, by policies and guardrails. */

/** The most values of a list with a `*`: each request is compared with those of 40 policies, for each of 100 groups. */
const maxPatterns = { ofGroups: 8, ofOthers: 32 };

/** A name or a pattern: `*` stands for any text. */
export const namePattern = storableForm(
  1,
  256,
  new RegExp(String.raw`^[^\x00*]*(\*[^\x00*]*){0,4}$`),
  'must have at most four `*`, and neither NUL nor lone surrogates',
);
const selectedWith = (most: number) =>
  setOf(namePattern)
    .max(200)
    .refine(
      (values) => values.filter((each) => each.includes('*')).length <= most,
      `must have at most ${most} values with a \`*\``,
    );
const selected = selectedWith(maxPatterns.ofOthers);

export const selectFields = {
  users: selected.describe('Ids of users'),
  groups: selectedWith(maxPatterns.ofGroups).describe('Names of groups of the acting user, in any case'),
  agents: selected.describe('Ids or keys of agents'),
  api_keys: selected.describe('Ids of API keys'),
  models: selected.describe('Ids of models; a call counts by the model called'),
};

/** Without users and groups, which are those of one tenant. */
export const ownerSelectFields = pick(selectFields, 'agents', 'api_keys', 'models');

const described =
  'those with one of the values of each field that is not empty. `*` in a value stands for any text: at most four times in a value, and in at most 32 values of a field, of `groups` in 8. All empty: every run';

/** The selection of `thing`, as it is described in documents. */
export const runSelect = (thing: string) =>
  z.strictObject(selectFields).describe(`The runs that the ${thing} is for: ${described}`);
export type RunSelect = z.output<ReturnType<typeof runSelect>>;

/** A selection without names. */
export const everyRun = { users: [], groups: [], agents: [], api_keys: [], models: [] } as const;

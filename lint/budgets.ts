/** Counts that `glossary.ts` allows. */
export const budgets: {
  /** Names that are only a participle or a pronoun, by workspace, 0 in others. They only fall. */
  bareNames: Readonly<Record<string, number>>;
  /** The most uses of a word per 1,000 lines of comments. */
  words: Readonly<Record<string, number>>;
  /** Names of interfaces and classes that three or more files declare. */
  sharedTypeNames: readonly string[];
} = {
  bareNames: {
    'packages/contract': 1,
    'packages/dialects': 11,
    'packages/kit': 1,
    'packages/pg': 1,
    'packages/web': 1,
    'services/agent': 1,
    'services/analytics': 2,
    'services/chat': 38,
    'services/memory': 2,
    'services/tenant': 27,
  },
  words: { that: 30, whose: 3, none: 3, such: 3 },
  sharedTypeNames: [],
};

import type { DefinitionProblem, PatternsDefinition } from './definition.ts';
import { regexRule, type Rule, type RuleError, wordRule } from './rule.ts';

/** Words have no name: this is what their matches are reported as. */
const wordType = 'word';

/** The types of matches: names of patterns, then the one of words. */
export function patternTypes({ patterns, words }: PatternsDefinition): string[] {
  const names = patterns.map(({ name }) => name);
  return words.length === 0 ? names : [...names, wordType];
}

/** The rules of patterns, then those of words. */
export function patternRules({ patterns, words }: PatternsDefinition, wholeText: boolean): Rule[] {
  return [
    ...patterns.map(({ regex, case_sensitive: caseSensitive }, type) =>
      regexRule(regex, { type, caseSensitive, wholeText }),
    ),
    ...words.map((word) => wordRule(word, patterns.length)),
  ];
}

/** The problem of a refused rule, in the words of the API. */
export function problemOf(
  { patterns, words }: PatternsDefinition,
  { code, rule, message }: Pick<RuleError, 'code' | 'rule' | 'message'>,
): DefinitionProblem {
  const pattern = patterns[rule ?? Infinity];
  if (pattern !== undefined) {
    const param = `check.patterns[${rule}].regex`;
    return { code, param, message: `The pattern ${pattern.name} can't be used: ${message}.` };
  }
  const index = rule === null ? -1 : rule - patterns.length;
  const word = words[index];
  if (word !== undefined) {
    return { code, param: `check.words[${index}]`, message: `The word ${word} can't be used: ${message}.` };
  }
  return { code, param: 'check.patterns', message: `The patterns can't be used: ${message}.` };
}

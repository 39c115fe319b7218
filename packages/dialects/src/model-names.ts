import { maxNameChars } from './bounds.ts';

/** Names of models as clients, providers and hosts write them. */

/** Makers of models with rules known by name. `gpt-oss`: OpenAI's open models, which take other fields. */
export const modelFamilies = [
  ...(['claude', 'nova', 'openai', 'gpt-oss', 'gemini', 'kimi', 'deepseek', 'grok'] as const),
];
export type ModelFamily = (typeof modelFamilies)[number] | 'other';

const longMark = '[1m]';

/**
 * A name without the `[1m]` by which clients like Claude Code ask for a context of a million tokens
 * (https://code.claude.com/docs/en/model-config). It is no part of any provider's name.
 */
export function withoutLong(name: string): string {
  if (name.length > maxNameChars) return name;
  let plain = name;
  let end = name.trimEnd();
  while (end.slice(-longMark.length).toLowerCase() === longMark) {
    plain = end.slice(0, -longMark.length).trimEnd();
    end = plain;
  }
  return plain;
}

/**
 * A model's name without the vendor's path, region, version of a host, date and `[1m]`, in lower case:
 * `us.anthropic.claude-opus-4-7-20260101-v1:0`, `anthropic/claude-opus-4-7@20260101` and
 * `arn:aws:bedrock:…:inference-profile/us.anthropic.claude-opus-4-7` are `claude-opus-4-7`.
 * A longer name than any model's has no plain one.
 */
export function plainName(name: string): string {
  if (name.length > maxNameChars) return '';
  return withoutLong(name.toLowerCase().split('/').at(-1) ?? '')
    .replace(/^ft:/, '')
    .replace(/^(?:[a-z][a-z\d-]*\.)+(?=[a-z])/, '')
    .replace(/(?<!claude)-v\d+:\d+$/, '')
    .replace(/(?<=claude.*\d)-v\d+$/, '')
    .replace(/[@:].*$/, '')
    .replace(/-(?:20\d{6}|20\d\d-\d\d-\d\d)$/, '');
}

/** The parts of a plain name by which models of one family differ. */
export interface ModelVersion {
  family: ModelFamily;
  /** Major version times 100 plus the minor one; null for a name without. */
  version: number | null;
}

/** The first group is the major version, the second the minor one. A date or another long number is no version. */
const patterns: readonly (readonly [ModelFamily, ...RegExp[]])[] = [
  [
    'claude',
    /claude-[a-z]+-(\d{1,2})(?:[-.](\d{1,2}))?(?!\d)/,
    /claude-(?:instant-)?v?(\d)(?:[-.](\d))?(?!\d)/,
    /claude/,
  ],
  ['gpt-oss', /gpt-oss/],
  [
    'openai',
    /(?:^|[^a-z\d])gpt-(3)(5)(?!\d)/,
    /(?:^|[^a-z\d])gpt-(\d{1,2})(?:\.(\d{1,2}))?(?!\d)/,
    /^o(\d)(?![a-z\d])/,
    /^(?:codex|chatgpt|openai)(?![a-z\d])/,
  ],
  ['gemini', /gemini-(?:[a-z]+-)*(\d{1,2})(?:\.(\d{1,2}))?(?!\d)/, /gemini/],
  ['nova', /(?:^|[^a-z\d])nova-(\d)(?!\d)/, /(?:^|[^a-z\d])nova(?![a-z\d])/],
  ['kimi', /(?:^|[^a-z\d])kimi-k(\d)(?:\.(\d))?(?!\d)/, /(?:^|[^a-z\d])(?:kimi|moonshot)(?![a-z\d])/],
  ['deepseek', /(?:^|[^a-z\d])deepseek-v(\d)(?:\.(\d))?(?!\d)/, /(?:^|[^a-z\d])deepseek(?![a-z\d])/],
  ['grok', /(?:^|[^a-z\d])grok-(\d)(?:[.-](\d{1,2}))?(?!\d)/, /(?:^|[^a-z\d])grok(?![a-z\d])/],
];

/**
 * Families with names such as `gemini-flash-latest` for the newest model, whichever it is
 * (https://ai.google.dev/gemini-api/docs/models#latest).
 */
const withNewest: ReadonlySet<ModelFamily> = new Set(['claude', 'gemini']);
/** The version of the newest model, above all numbers in names. */
const newest = 9_999;

const unknown: ModelVersion = { family: 'other', version: null };

/**
 * Family and version of a plain name. A name in which several families stand is of the one at its beginning, else of no
 * known family.
 */
export function versionOf(plain: string): ModelVersion {
  const matches = patterns.flatMap(([family, ...known]) => {
    for (const pattern of known) {
      const match = pattern.exec(plain);
      if (match !== null) return [{ family, match }];
    }
    return [];
  });
  const [one] = matches.length > 1 ? matches.filter(({ match }) => match.index === 0) : matches;
  if (one === undefined) return unknown;
  const { family, match } = one;
  const [, major, minor = '0'] = match;
  if (major !== undefined) return { family, version: Number(major) * 100 + Number(minor) };
  return { family, version: plain.endsWith('-latest') && withNewest.has(family) ? newest : null };
}

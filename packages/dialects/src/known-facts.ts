import type { ModelFamily, ModelVersion } from './model-names.ts';
import type { LimitName } from './request-additions.ts';
import type { Effort } from './translation/conversation.ts';

/** The request for an amount of thinking. */
export type ThinkingSize =
  /** Tokens; `off`: the budget that switches thinking off, or the least one where it can't be. */
  | { by: 'budget'; off: number; least: number; most: number }
  /** Words, from the least to the most; the first one stands for a switched-off request. */
  | { by: 'effort'; words: readonly Effort[] };

/** Facts of a model by its name, the same at all of its hosts unless a fact says otherwise. */
export interface KnownFacts extends ModelVersion {
  /** Whether it thinks before it answers; undefined where names don't say. */
  reasoning: boolean | undefined;
  /** Whether sequences may stop its answers. */
  takesStop: boolean;
  /** Parameters of sampling: `offOnly` are taken while it does not think. */
  sampling: 'all' | 'none' | 'offOnly';
  /** Whether it takes penalties for repeated texts. */
  takesPenalties: boolean;
  thinkingSize: ThinkingSize;
  /** Whether it thinks where a request says nothing of it. */
  thinksByDefault: boolean;
  /** The `thinking` by which Anthropic's models don't think: `omit` is none, `never` can't be reached. */
  thinkingOff: 'disabled' | 'between_tools' | 'omit' | 'never';
  /** The field by which chat completions switch its thinking off, with `none` among its efforts: `thinking` at some hosts. */
  offField: 'reasoning_effort' | 'thinking';
  /** Calls that the request forces: taken, taken while it does not think, or never. */
  forcedCalls: 'any' | 'offOnly' | 'never';
  /** Whether calls that wait for their results need the thoughts before them. */
  needsOpenThoughts: boolean;
  /** Whether its thoughts are refused behind a changed conversation. */
  bindsThinking: boolean;
  /** Whether the conversation may end with the beginning of the answer. */
  takesPrefill: boolean;
  /** Whether Anthropic's own API takes system texts in the middle of the conversation. */
  takesSystemInMiddle: boolean;
  /** Whether its answers can be held to a JSON Schema. */
  takesOutputSchema: boolean;
  /** Whether tools and a format of the answer may stand in one request. */
  takesToolsWithFormat: boolean;
  /** Whether chat completions refuse its tools while it thinks. */
  toolsNeedNoEffort: boolean;
  /** Whether it refuses calls in a history without the signatures it gave them. */
  checksCallSignatures: boolean;
  /** Whether it wants its reasoning as text back with the calls behind it. */
  wantsReasoningText: boolean;
  /** The longest life of what cache points keep, for models with such points. */
  cachePoints: 'none' | '5m' | '1h';
  /** A context of a million tokens: without a word, by a beta header, or not at all. */
  context1m: Readonly<Record<'anthropic' | 'bedrock', 'native' | 'beta' | 'none'>>;
  /** The name of the limit of tokens in chat completions at any host; null where the host decides. */
  limitField: LimitName | null;
}

/** Facts of some models of a family. */
export interface FactsRow {
  family: ModelFamily;
  /** The first and the last version; absent for all from the one, or up to the other. Both absent: also without a version. */
  from?: number;
  to?: number;
  /** Plain names, where not all of the versions are meant. */
  names?: RegExp;
  facts: Partial<Omit<KnownFacts, keyof ModelVersion>>;
  /** A public page with the rule. */
  source: string;
  /** The day on which the page was read. */
  read: string;
}

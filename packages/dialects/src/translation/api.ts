import type { Fields } from '@gatehouse/kit/fields';
import type { ProviderError } from '../dialect.ts';
import type { FactsOverlay } from '../model-facts.ts';
import type { Answer } from './answer.ts';
import type { PointPlaces } from './cache-points.ts';
import type { IdRule } from './call-ids.ts';
import type { Conversation } from './conversation.ts';
import type { CutTexts } from '../wire/cut-texts.ts';
import type { JsonSource } from '../wire/json-text.ts';
import type { FieldNames, DroppedFields } from './dropped-fields.ts';
import type { TargetRules } from './mended-conversation.ts';
import type { Steps } from '@gatehouse/kit/cooperative-steps';
import type { LimitName } from '../request-additions.ts';
import type { CountUnreadable } from '../marked-signatures.ts';
import type { ReasoningFill } from '../reasoning-rewrite.ts';
import type { Hasher } from '@gatehouse/secrets/key-ring';
import type { EventSource, EventWriter } from './stream-events.ts';

/** An API of clients and providers: readers and writers of everything passed by translation between two of them. */
export type TranslatedApi = ClientFormat & ProviderFormat;

/** An API as its clients use it. */
export interface ClientFormat {
  fieldNames: FieldNames;
  /** The name of the member for caching of the prompt, in objects of a request; absent without one. */
  cacheHint?: string;
  /** Whether its clients mark what is cached, so that a request without marks wants no cache. */
  marksCache?: boolean;
  /**
   * The ids of calls by which thoughts are known, for clients without a place for signatures; null for clients with
   * one.
   */
  thoughtIds: IdRule | null;
  /** The client's name for the place of a signature; absent without one. */
  signaturePlace?: string;
  /** Reads the request of a client. `fields`: the same as `source`, parsed. Throws 400s with the name of the field. */
  readRequest(fields: Fields, source: JsonSource, dropped: DroppedFields): Steps<Conversation>;
  /** The fields of a request for the echo in its answers; omitted: the API has no echo. `texts`: those of `source`. */
  echoedFields?(fields: Fields, source: JsonSource, texts: CutTexts): Fields;
  /** Writes an answer, but no broken one. `echoed`: the fields of its request for the echo. */
  writeAnswer(answer: Answer, echoed?: Fields): string;
  eventWriter(echoed?: Fields): EventWriter;
  /** Adds the code by which clients of this API react to an error of the request. */
  formatError(error: ProviderError): ProviderError;
  /** Answers as summaries of their conversations; absent where clients can't ask for them. */
  summaries?(seal: SealSummary): SummaryFormat;
}

/** An API as providers have it. */
export interface ProviderFormat {
  /** The forms of requests its models take. */
  rules(facts: ModelFacts): TargetRules;
  /** Names of functions that it takes, of those with up to 64 letters, digits, hyphens and underscores; all if absent. */
  toolNames?: RegExp;
  /** The request for a provider, to be written by `jsonPieces`, which may throw 400s too. */
  writeRequest(conversation: Conversation, facts: ModelFacts, dropped: DroppedFields): Steps<object>;
  /** Reads a provider's whole answer; an error where it is one. Throws if it can't be read. */
  readAnswer(fields: Fields, source: JsonSource, facts: ModelFacts): Answer | ProviderError;
  eventSource(facts: ModelFacts): EventSource;
  /** The places up to which a model caches its prompt on request; null for a model without, absent for an API without. */
  pointPlaces?(facts: ModelFacts): PointPlaces | null;
  /** Whether providers send calls as a whole or not at all, so that a limit of tokens cuts none of them. */
  hasWholeCalls?: true;
  /** Absent where providers count no tokens. */
  counts?: CountedFormat;
}

/** Counts of the tokens of requests, as providers have them. */
export interface CountedFormat {
  /** The request for a count, from one made by `writeRequest`. */
  request(request: Fields, facts: ModelFacts): object;
  /** The name of the number in a provider's answer. */
  tokens: string;
}

/** The members of a request common to a count. */
export function countedMembers(request: Fields, names: readonly string[]): Fields {
  return Object.fromEntries(Object.entries(request).filter(([name]) => names.includes(name)));
}

/** A summary as its client gets it. */
export type SealSummary = (summary: string) => string;

/** Writes the text of a model as a summary. Throws without a text. */
export type SummaryFormat = Pick<ClientFormat, 'writeAnswer' | 'eventWriter'>;

/** The facts of one call of a model with effect on its request. `factsOf` has those known by the model's name. */
export interface ModelFacts extends FactsOverlay {
  /** The only account able to read the signatures of its thoughts; null where all accounts of its API are. */
  account: string | null;
  /** Hashes of marked signatures, by a key of the tenant. */
  macs: Hasher;
  /** The provider's name of it. */
  name: string;
  /** Whether the vendor of the model serves it, and not a cloud, which may take fewer forms of requests. */
  isAtVendor?: boolean;
  /** The most tokens of an answer; null where the catalogue does not say. */
  maxOutputTokens: number | null;
  /** Whether it can think. */
  reasoning: boolean;
  /** The name of the limit of tokens in chat completions. */
  tokenLimit?: LimitName;
  /** Whether requests of clients that mark nothing get cache points. */
  cache?: 'auto' | 'off';
  /** Betas of Anthropic's API sent with the call. */
  betas?: readonly string[];
  /** The id of an answer to which its provider gives none, from its run; absent where no run asks. */
  answerId?: string | undefined;
  /** Counts the signatures of the model's vendor that are not sent; absent where all of them are. */
  unreadable?: { vendor: string; count: CountUnreadable } | undefined;
  /** How missing reasoning is filled in; unless given, beside calls of models known by name to want it. */
  reasoningFill?: ReasoningFill | undefined;
  /** Whether streams of chat completions may be asked for their usage; so they are unless it is false. */
  streamUsage?: boolean;
}

export function isAnswer(read: Answer | ProviderError): read is Answer {
  return 'parts' in read;
}

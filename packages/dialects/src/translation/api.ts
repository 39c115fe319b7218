import type { Fields } from '@gatehouse/kit/fields';
import type { ProviderError } from '../dialect.ts';
import type { Answer } from './answer.ts';
import type { IdRule } from './call-ids.ts';
import type { Conversation } from './conversation.ts';
import type { CutTexts } from '../wire/cut-texts.ts';
import type { JsonSource } from '../wire/json-text.ts';
import type { FieldNames, DroppedFields } from './dropped-fields.ts';
import type { Steps } from '@gatehouse/kit/cooperative-steps';
import type { Hasher } from '@gatehouse/secrets/key-ring';
import type { EventSource, EventWriter } from './stream-events.ts';

/** An API of clients and providers: readers and writers of everything that translation passes between two of them. */
export type TranslatedApi = ClientFormat & ProviderFormat;

/** An API as its clients use it. */
export interface ClientFormat {
  fieldNames: FieldNames;
  /** The name of the member by which objects of a request say that the prompt is to be cached; absent where none do. */
  cacheHint?: string;
  /** The ids of calls that thoughts are known by where clients have no place for signatures; null where they do. */
  thoughtIds: IdRule | null;
  /** The client's name for the place of a signature; absent where there is none. */
  signaturePlace?: string;
  /** Reads the request of a client. `fields`: the same as `source`, parsed. Throws 400s that name the field. */
  readRequest(fields: Fields, source: JsonSource, dropped: DroppedFields): Steps<Conversation>;
  /** The fields of a request that its answers echo; omitted: the API echoes none. `texts`: those of `source`. */
  echoedFields?(fields: Fields, source: JsonSource, texts: CutTexts): Fields;
  /** Writes an answer that is not broken. `echoed`: the fields of its request that it repeats. */
  writeAnswer(answer: Answer, echoed?: Fields): string;
  eventWriter(echoed?: Fields): EventWriter;
  /** Adds the code by which clients of this API react to an error of the request. */
  formatError(error: ProviderError): ProviderError;
  /** Answers that are summaries of their conversations; absent where clients can't ask for them. */
  summaries?(seal: SealSummary): SummaryFormat;
}

/** An API as providers have it. */
export interface ProviderFormat {
  /** The request for a provider, to be written by `jsonPieces`, which may throw 400s too. */
  writeRequest(conversation: Conversation, facts: ModelFacts, dropped: DroppedFields): Steps<object>;
  /** Reads a provider's whole answer; an error where it is one. Throws if it can't be read. */
  readAnswer(fields: Fields, source: JsonSource, facts: ModelFacts): Answer | ProviderError;
  eventSource(facts: ModelFacts): EventSource;
  /** Whether a model takes places up to which its prompt is cached. */
  hasCachePoints?(facts: ModelFacts): boolean;
  /** Absent where providers count no tokens. */
  counts?: CountedFormat;
}

/** Counts of the tokens of requests, as providers have them. */
export interface CountedFormat {
  /** The request for a count of one that `writeRequest` has made. */
  request(request: Fields, facts: ModelFacts): object;
  /** The name of the number in a provider's answer. */
  tokens: string;
}

/** The members of a request that a count has, too. */
export function countedMembers(request: Fields, names: readonly string[]): Fields {
  return Object.fromEntries(Object.entries(request).filter(([name]) => names.includes(name)));
}

/** A summary as its client gets it. */
export type SealSummary = (summary: string) => string;

/** Writes the text of a model as a summary. Throws if it has none. */
export type SummaryFormat = Pick<ClientFormat, 'writeAnswer' | 'eventWriter'>;

/** The facts of a model that its requests depend on. */
export interface ModelFacts {
  /** The account that alone reads the signatures of its thoughts; null where all do that speak its API. */
  account: string | null;
  /** Hashes of marked signatures, by a key of the tenant. */
  macs: Hasher;
  /** The provider's name of it. */
  name: string;
  /** The most tokens of an answer; null where the catalogue does not say. */
  maxOutputTokens: number | null;
  /** Whether it can think. */
  reasoning: boolean;
  /** Whether it takes parameters of sampling. */
  sampling: boolean;
  /** The name of the limit of tokens in chat completions. */
  tokenLimit?: 'max_completion_tokens' | 'max_tokens';
  /** Whether streams of chat completions may be asked for their usage; so they are unless it is false. */
  streamUsage?: boolean;
}

export function isAnswer(read: Answer | ProviderError): read is Answer {
  return 'parts' in read;
}

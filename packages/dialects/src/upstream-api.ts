import type { PairForm } from './paired-history.ts';
import type { IdRule } from './translation/call-ids.ts';
import { dialectNames, type DialectName, type ModelOperation } from '@gatehouse/contract/dialects';

/** The API without clients: Bedrock's Converse. */
const upstreamOnly = ['converse'] as const;

/** The APIs of models. */
export type UpstreamApi = DialectName | (typeof upstreamOnly)[number];
export const upstreamApis: readonly UpstreamApi[] = [...dialectNames, ...upstreamOnly];

/** A call as far as its path depends on it. */
export interface PathCall {
  operation: ModelOperation | 'count' | 'compact';
  /** The provider's name of the model. */
  model: string;
  stream: boolean;
  isBatch?: boolean | undefined;
}

/** The place of a conversation in requests of an API. */
export interface HistoryPlace {
  /** The member with the messages or items. */
  list: string;
  /** The ids of calls that its servers take. */
  ids: IdRule;
  pairs: PairForm;
  /** The type of a text in a message of the user. */
  textType: 'text' | 'input_text';
}

/** Names of members of a request with its conversation. */
export interface ConversationMembers {
  /** The list of messages, items or inputs. */
  messages: readonly string[];
  /** The system prompt, in an API with a member of its own for it. */
  instructions: readonly string[];
}

export interface HistoryFormat {
  /** The members of a request with its conversation; of several, the first that is there counts. */
  readonly conversation: ConversationMembers;
  /** Absent where all servers of the API take the same histories. */
  readonly history?: HistoryPlace;
}

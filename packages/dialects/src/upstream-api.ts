import { dialectNames, type DialectName } from '@gatehouse/contract/dialects';

/** The API without clients: Bedrock's Converse. */
const upstreamOnly = ['converse'] as const;

/** The APIs of models. */
export type UpstreamApi = DialectName | (typeof upstreamOnly)[number];
export const upstreamApis: readonly UpstreamApi[] = [...dialectNames, ...upstreamOnly];

/** A call as far as its path depends on it. */
export interface PathCall {
  operation: 'chat' | 'embeddings' | 'count' | 'compact';
  /** The provider's name of the model. */
  model: string;
  stream: boolean;
  isBatch?: boolean | undefined;
}

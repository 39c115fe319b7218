import type { Fields } from '@gatehouse/kit/fields';
import type { ProviderResources } from '../providers/resources.ts';
import type { Outcome } from './batch-outcomes.ts';

/** The APIs of providers that have batches. */
export type BatchApiName = 'openai' | 'anthropic';

/** A batch whose provider did not say whether it has it. */
export interface LostBatch {
  id: string;
  createdAt: Date;
  /** The provider's id of the file with its requests; empty where they came with it. */
  providerFileId: string;
  /** The number of its requests. */
  requests: number;
}

/** The ways to look for a batch at its provider. */
export interface Looking {
  resources: Pick<ProviderResources, 'json'>;
  /** Makes the time limit of a request. */
  signal: () => AbortSignal;
  /** The provider's ids, among these, of batches that have rows. */
  knownIds: (ids: readonly string[]) => Promise<ReadonlySet<string>>;
  /** Whether the results at a path have a text in some line. */
  haveText: (path: string, text: string) => Promise<boolean>;
}

/** A line of results. */
export interface BatchResult {
  /** The name of its request; null without one. */
  customId: string | null;
  /** Null without one. */
  answer: Buffer | null;
}

/** Numbers of results that were read, each request once. */
export interface ReadResults {
  lines: number;
  /** Those with an answer. */
  answers: number;
}

/** Files and batches as one API of providers has them. Paths are behind the base address. */
export interface BatchApi {
  /** A request that costs nothing, by which a key is tried. */
  readonly trialPath: string;
  readonly pathOf: (providerBatchId: string) => string;
  /** Whether an object describes a batch. */
  readonly isBatch: (object: Fields) => boolean;
  readonly isEnded: (object: Fields) => boolean;
  readonly isCancelling: (object: Fields) => boolean;
  /** The outcome of a batch that has ended. */
  readonly outcomeOf: (object: Fields) => Outcome;
  /** The path of the results of a batch that has ended; null without one. */
  readonly resultsPath: (object: Fields) => string | null;
  readonly resultIn: (line: Buffer, tenantId: string) => Promise<BatchResult>;
  /** Whether these are all results that a batch says it has, of as many requests. */
  readonly isWhole: (object: Fields, read: ReadResults, requests: number) => boolean;
  /** The kind of the files that are kept of a batch that has ended, and the provider's ids of them. */
  readonly resultPurpose: 'batch_output' | 'message_batch';
  readonly resultIds: (object: Fields) => { output: string | null; errors: string | null };
  /** The path at which a file is described and deleted. */
  readonly filePath: (providerFileId: string) => string;
  /** Whether such a file has a description of its own. */
  readonly describesFiles: boolean;
  /** Finds a batch; null if the provider does not have it. Throws while that can't be known. */
  readonly find: (batch: LostBatch, looking: Looking) => Promise<Fields | null>;
}

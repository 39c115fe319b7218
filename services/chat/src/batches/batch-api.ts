import { minuteMs } from '@gatehouse/kit/bounds';
import { type Fields, isFields } from '@gatehouse/kit/fields';
import type { ProviderResources } from '../providers/resources.ts';
import type { RunStatus } from '../runs/run.ts';
import { memberRanges, smallMembers, wholeOf, type Range } from '@gatehouse/dialects/wire/json-parts';
import { maxListPages } from '../bounds.ts';

/** Ids of files and batches begin as those of OpenAI and Anthropic do. */
export const filePrefix = 'file-';
export const batchPrefix = 'batch_';
export const messageBatchPrefix = 'msgbatch_';

/** How a batch ended, as its run has it. */
export interface Outcome {
  status: Exclude<RunStatus, 'blocked'>;
  errorType: string | null;
  errorMessage: string | null;
}

export const outcomes = {
  ok: { status: 'ok', errorType: null, errorMessage: null },
  cancelled: { status: 'cancelled', errorType: null, errorMessage: null },
  expired: {
    status: 'error',
    errorType: 'batch_expired',
    errorMessage: 'The provider did not answer all requests of the batch in time.',
  },
  failed: { status: 'error', errorType: 'batch_failed', errorMessage: 'The provider refused the batch.' },
  unreachable: {
    status: 'error',
    errorType: 'batch_unreachable',
    errorMessage:
      'The provider did not say for three days how the batch ended, or did not have all of its results.',
  },
} as const satisfies Record<string, Outcome>;

/** APIs of providers with batches. */
export type BatchApiName = 'openai' | 'anthropic';

/** A batch of which the provider did not say whether it has it. */
interface LostBatch {
  id: string;
  createdAt: Date;
  /** The provider's id of the file with its requests; empty where they came with it. */
  providerFileId: string;
  requests: number;
}

/** The ways to look for a batch at its provider. */
interface Looking {
  resources: Pick<ProviderResources, 'json'>;
  /** Makes the time limit of a request. */
  signal: () => AbortSignal;
  /** The provider's ids, among these, of batches with rows. */
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

/** Numbers of results already read, each request once. */
export interface ReadResults {
  lines: number;
  /** Those with an answer. */
  answers: number;
}

/** Files and batches as one API of providers has them. Paths are behind the base address. */
export interface BatchApi {
  /** A request without cost, to try a key with. */
  readonly trialPath: string;
  readonly pathOf: (providerBatchId: string) => string;
  /** Whether an object describes a batch. */
  readonly isBatch: (object: Fields) => boolean;
  readonly isEnded: (object: Fields) => boolean;
  readonly isCancelling: (object: Fields) => boolean;
  /** Outcome of an ended batch. */
  readonly outcomeOf: (object: Fields) => Outcome;
  /** Path of the results of an ended batch; null without one. */
  readonly resultsPath: (object: Fields) => string | null;
  readonly resultIn: (line: Buffer, tenantId: string) => Promise<BatchResult>;
  /** Whether these are all results a batch says it has, of as many requests. */
  readonly isWhole: (object: Fields, read: ReadResults, requests: number) => boolean;
  /** Kind of the files kept of an ended batch, and the provider's ids of them. */
  readonly resultPurpose: 'batch_output' | 'message_batch';
  readonly resultIds: (object: Fields) => { output: string | null; errors: string | null };
  /** The path at which a file is described and deleted. */
  readonly filePath: (providerFileId: string) => string;
  /** Whether one of these files has a description of its own. */
  readonly describesFiles: boolean;
  /** Finds a batch; null if the provider does not have it. Throws while it can't be known. */
  readonly find: (batch: LostBatch, looking: Looking) => Promise<Fields | null>;
}

/** Lines of results: objects with the name of a request, and a member with its result. */

type AnswerIn = (line: Buffer, result: Range, tenantId: string) => Promise<Buffer | null>;

/** Reads lines with their result in the member `name`; `answerIn` finds its answer. */
export function lineReader(
  name: string,
  answerIn: AnswerIn,
): (line: Buffer, tenantId: string) => Promise<BatchResult> {
  return async (line, tenantId) => {
    const members = await memberRanges(line, wholeOf(line), tenantId);
    const result = members?.get(name);
    const { custom_id: id } = await smallMembers(line, members, { names: ['custom_id'], tenantId });
    return {
      customId: typeof id === 'string' ? id : null,
      answer: result === undefined ? null : await answerIn(line, result, tenantId),
    };
  };
}

interface ProviderList {
  /** The path, with a query of its own. */
  path: string;
  /** The parameter with the id after which a page begins. */
  cursor: 'after' | 'after_id';
  /** Nothing made earlier is looked at. */
  since: Date;
  /** Whether an object may be one of the list. It has an id. */
  isObject: (object: Fields) => boolean;
  /** Makes the time limit of a page. */
  signal: () => AbortSignal;
}

/** Whether an object is a page of a list, as all providers have them. */
export function isList({ data }: Fields): boolean {
  return Array.isArray(data);
}

/**
 * Looks for an object in a list of a provider, newest first: `find` gets the objects of each page, back to the older
 * ones. Null without one; throws where it can't be known.
 */
export async function findListed(
  resources: Pick<ProviderResources, 'json'>,
  { path, cursor, since, isObject, signal }: ProviderList,
  find: (objects: readonly Fields[]) => Promise<Fields | undefined>,
): Promise<Fields | null> {
  const earliest = since.getTime() - minuteMs;
  const isAnswer = ({ data }: Fields): boolean =>
    Array.isArray(data) && data.every((object) => isFields(object) && isObject(object));
  let after = '';
  for (let page = 0; page < maxListPages; page += 1) {
    const request = { method: 'GET', path: path + after, isAnswer, signal: signal() } as const;
    const { data, has_more: hasMore } = await resources.json(request);
    const objects = data as Fields[];
    const recent = objects.filter((object) => (createdMs(object) ?? Infinity) >= earliest);
    const match = await find(recent);
    if (match !== undefined) return match;
    const last = objects.at(-1);
    if (last === undefined || hasMore === false || recent.length < objects.length) return null;
    const next = `&${cursor}=${encodeURIComponent(idIn(last) ?? '')}`;
    if (next === after) throw new Error('the list of the provider repeats a page');
    after = next;
  }
  throw new Error('the provider has too many objects to find one');
}

/** Time at which an object was made, by its provider; null if the provider gives no time. */
export function createdMs({ created_at: at }: Fields): number | null {
  const ms = typeof at === 'number' ? at * 1_000 : typeof at === 'string' ? Date.parse(at) : NaN;
  return Number.isNaN(ms) ? null : ms;
}

/** The provider's id of a file or a batch; null without one. */
export function idIn(object: Fields, name = 'id'): string | null {
  const id = object[name];
  return typeof id === 'string' && id !== '' && id.length <= 256 ? id : null;
}

/** The provider's id of an object with one. */
export function requiredId(object: Fields): string {
  const id = idIn(object);
  if (id === null) throw new Error('the object has no id');
  return id;
}

/** Whether an object has an id, as has every object made or listed by a provider. */
export function hasId(object: Fields): boolean {
  return idIn(object) !== null;
}

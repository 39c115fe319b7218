import { isFields, type Fields } from '@gatehouse/kit/fields';
import type { ProviderResources } from '../providers/resources.ts';
import { idIn } from './openai-batch.ts';

/** Pages in which an object is looked for: more than an account has in a day, and a bound for a list without an end. */
const maxPages = 1_000;
/** Clocks differ. */
const differenceMs = 60_000;

export interface ProviderList {
  /** The path, with a query of its own. */
  path: string;
  /** The parameter with the id after which a page begins. */
  cursor: 'after' | 'after_id';
  /** Nothing that was made earlier is looked at. */
  since: Date;
  /** Whether an object is one that the list may have. It has an id. */
  isObject: (object: Fields) => boolean;
  /** Makes the time limit of a page. */
  signal: () => AbortSignal;
}

/** Whether an object is a page of a list, as all providers have them. */
export function isList({ data }: Fields): boolean {
  return Array.isArray(data);
}

/**
 * Looks for an object in a list of a provider, newest first: `find` gets the objects of each page, back to those that are
 * older. Null without one; throws where that can't be known.
 */
export async function findListed(
  resources: Pick<ProviderResources, 'json'>,
  { path, cursor, since, isObject, signal }: ProviderList,
  find: (objects: readonly Fields[]) => Promise<Fields | undefined>,
): Promise<Fields | null> {
  const earliest = since.getTime() - differenceMs;
  const isAnswer = ({ data }: Fields): boolean =>
    Array.isArray(data) && data.every((object) => isFields(object) && isObject(object));
  let after = '';
  for (let page = 0; page < maxPages; page += 1) {
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

/** The time at which a provider says that it has made an object; null if it does not. */
export function createdMs({ created_at: at }: Fields): number | null {
  const ms = typeof at === 'number' ? at * 1_000 : typeof at === 'string' ? Date.parse(at) : NaN;
  return Number.isNaN(ms) ? null : ms;
}

import type { Fields } from '@gatehouse/kit/fields';
import type { ProviderResources } from '../providers/resources.ts';
import { idIn } from './openai-batch.ts';

/** Pages in which an object is looked for. */
const maxPages = 20;
/** Clocks differ. */
const differenceMs = 60_000;

export interface ProviderList {
  /** The path, with a query of its own. */
  path: string;
  /** The parameter with the id after which a page begins. */
  cursor: 'after' | 'after_id';
  /** Nothing that was made earlier is looked at. */
  since: Date;
  /** Makes the time limit of a page. */
  signal: () => AbortSignal;
}

/**
 * Looks for an object in a list of a provider, newest first: `find` gets the objects of each page. Null if there is none;
 * throws if there are too many to know.
 */
export async function findListed(
  resources: Pick<ProviderResources, 'json'>,
  { path, cursor, since, signal }: ProviderList,
  find: (objects: readonly Fields[]) => Promise<Fields | undefined>,
): Promise<Fields | null> {
  const earliest = since.getTime() - differenceMs;
  let after = '';
  for (let page = 0; page < maxPages; page += 1) {
    const { data } = await resources.json({ method: 'GET', path: path + after, signal: signal() });
    const objects = (Array.isArray(data) ? data : []) as Fields[];
    const recent = objects.filter((object) => (createdMs(object) ?? Infinity) >= earliest);
    const found = await find(recent);
    if (found !== undefined) return found;
    const last = objects.at(-1);
    if (last === undefined || recent.length < objects.length) return null;
    after = `&${cursor}=${encodeURIComponent(idIn(last) ?? '')}`;
  }
  throw new Error('the provider has too many objects to find one');
}

/** The time at which a provider says that it has made an object; null if it does not. */
export function createdMs({ created_at: at }: Fields): number | null {
  const ms = typeof at === 'number' ? at * 1_000 : typeof at === 'string' ? Date.parse(at) : NaN;
  return Number.isNaN(ms) ? null : ms;
}

import { clientDialects, keyHeadersAt, type DialectName } from '@gatehouse/contract/dialects';
import { AppError } from '@gatehouse/kit/errors';
import type { RequestTarget } from '../shared/target.ts';

/** A request as far as it carries a key: `url` is its path and query. */
type Carrier = Pick<RequestTarget, 'url' | 'valuesOf'>;

interface CarriedKey {
  /** The key as the value of an `Authorization` header. */
  authorization: string | undefined;
  /** The request's path and query without a key: neither services nor their logs see it. */
  url: string;
}

/** Finds the key of a request where the clients of a dialect put it. Throws 400 for different keys. */
export function carriedKey(dialect: DialectName, { url, valuesOf }: Carrier): CarriedKey {
  const sent = valuesOf('authorization') ?? [];
  const [authorization] = sent;
  if (sent.length > 1 && sent.some((value) => value !== authorization)) throw conflictingKeys();
  const names = keyHeadersAt(url, dialect);
  if (names.length === 0) return { authorization, url };
  const { keyInQuery } = clientDialects[dialect];
  const query = keyInQuery === null ? { keys: [], rest: url } : keysInQuery(url, keyInQuery);
  const bearer = /^bearer +(.+)$/i.exec(authorization ?? '')?.[1];
  // A proxy may have joined the values of a repeated header.
  const named = names.flatMap((name) => valuesOf(name) ?? []).flatMap((value) => value.split(','));
  const keys = [bearer ?? '', ...named, ...query.keys].map((key) => key.trim()).filter((key) => key !== '');
  const [key, otherKey] = new Set(keys);
  if (otherKey !== undefined) throw conflictingKeys();
  return { authorization: key === undefined ? authorization : `Bearer ${key}`, url: query.rest };
}

function conflictingKeys(): AppError {
  return new AppError('conflicting_credentials', 'The request carries two API keys that differ.');
}

/** The values of a parameter in the query of a URL, and the URL without them. The name may be percent-encoded. */
export function keysInQuery(url: string, parameter: string): { keys: string[]; rest: string } {
  const start = url.indexOf('?');
  if (start < 0) return { keys: [], rest: url };
  const keys: string[] = [];
  const others = url
    .slice(start + 1)
    .split('&')
    .filter((field) => {
      const [[name, value] = []] = new URLSearchParams(field);
      if (name !== parameter) return true;
      keys.push(value ?? '');
      return false;
    });
  if (keys.length === 0) return { keys, rest: url };
  const path = url.slice(0, start);
  return { keys, rest: others.length === 0 ? path : `${path}?${others.join('&')}` };
}

import type { IncomingHttpHeaders } from 'node:http';
import { keyHeadersAt, type DialectName } from '@gatehouse/contract/dialects';
import { AppError } from '@gatehouse/kit/errors';

/** A request as far as it carries a key: `url` is its path and query. */
interface Carrier {
  url: string;
  headers: IncomingHttpHeaders;
}

interface CarriedKey {
  /** The key as the value of an `Authorization` header. */
  authorization: string | undefined;
  /** The request's path and query without a key: neither services nor their logs see it. */
  url: string;
}

/** Finds the key of a request where the clients of a dialect put it. Throws 400 for keys that differ. */
export function carriedKey(dialect: DialectName, { url, headers }: Carrier): CarriedKey {
  const { authorization } = headers;
  const names = keyHeadersAt(url, [dialect]);
  if (names.length === 0) return { authorization, url };
  const query = dialect === 'gemini' ? keysInQuery(url) : { keys: [], rest: url };
  const bearer = /^bearer +(.+)$/i.exec(authorization ?? '')?.[1];
  // Node joins the values of a header that comes more than once.
  const named = names.flatMap((name) => String(headers[name] ?? '').split(','));
  const keys = [bearer ?? '', ...named, ...query.keys].map((key) => key.trim()).filter((key) => key !== '');
  const [key, another] = new Set(keys);
  if (another !== undefined)
    throw new AppError('conflicting_credentials', 'The request carries two API keys that differ.');
  return { authorization: key === undefined ? authorization : `Bearer ${key}`, url: query.rest };
}

/** The values of `key` in the query of a URL, and the URL without them. The name may be percent-encoded. */
export function keysInQuery(url: string): { keys: string[]; rest: string } {
  const start = url.indexOf('?');
  if (start < 0) return { keys: [], rest: url };
  const keys: string[] = [];
  const others = url
    .slice(start + 1)
    .split('&')
    .filter((field) => {
      const [[name, value] = []] = new URLSearchParams(field);
      if (name !== 'key') return true;
      keys.push(value ?? '');
      return false;
    });
  if (keys.length === 0) return { keys, rest: url };
  const path = url.slice(0, start);
  return { keys, rest: others.length === 0 ? path : `${path}?${others.join('&')}` };
}

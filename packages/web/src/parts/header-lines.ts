import { unreadable } from '../api/api-error.ts';
import { trimmed } from '../format/changes.ts';

/**
 * The headers of lines. Throws an `ApiError` about a line without a name or a value, or with the name of another; `param`
 * is the field of the API.
 */
export function headersIn(lines: readonly string[], param: string): Record<string, string> {
  const wrong = (message: string): Error => unreadable(param, message);
  const headers = new Map<string, [name: string, value: string]>();
  for (const line of trimmed(lines)) {
    const colon = line.indexOf(':');
    if (colon < 1) throw wrong(`“${line}” is no header. Write NAME: VALUE.`);
    const [name, value] = [line.slice(0, colon).trim(), line.slice(colon + 1).trim()];
    if (value === '') throw wrong(`${name} has no value. Stored values are not shown: type all of them.`);
    if (headers.has(name.toLowerCase())) throw wrong(`${name} is there twice.`);
    headers.set(name.toLowerCase(), [name, value]);
  }
  return Object.fromEntries(headers.values());
}

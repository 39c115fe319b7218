import { isFields } from '@gatehouse/kit/fields';
import { assertReadable } from './wire/readable.ts';

/** Arguments that are parsed whatever the others are. */
const smallChars = 256;

/** Whether all arguments of a message are parsed within 50 ms. */
function areParsable(texts: readonly string[]): boolean {
  try {
    assertReadable(Buffer.from(texts.join(' ')));
    return true;
  } catch {
    return false;
  }
}

/**
 * The objects that the arguments of a message's calls are, as JSON; null for what is none, or takes too long to parse.
 */
export function argumentsObjects(texts: readonly string[]): (string | null)[] {
  const isSmall = areParsable(texts);
  return texts.map((text) => (isSmall || text.length <= smallChars ? argumentsObject(text) : null));
}

/**
 * The object that a call's arguments are, as JSON; null if they are none. No arguments are an empty object. Some models
 * write the JSON of an object as a JSON text.
 */
export function argumentsObject(text: string): string | null {
  if (text.trim() === '') return '{}';
  const value = parsed(text);
  if (isFields(value)) return text;
  return typeof value === 'string' && isFields(parsed(value)) ? value : null;
}

function parsed(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    return undefined;
  }
}

/** The arguments of a call as text. Some servers write the object itself. */
export function argumentsText(value: unknown): string {
  if (value === undefined || value === null) return '';
  return typeof value === 'string' ? value : JSON.stringify(value);
}

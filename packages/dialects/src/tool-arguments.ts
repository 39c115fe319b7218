import { isFields } from '@gatehouse/kit/fields';
import { newId } from '@gatehouse/kit/ids';
import type { ToolCall } from './dialect.ts';
import type { IdRule } from './translation/call-ids.ts';
import { assertReadable } from './wire/readable.ts';
import { textOf } from './translation/fields.ts';
import { maxCalls } from './bounds.ts';

/** Reads the calls of an answer. Throws at too many. */
export function readCalls(
  called: readonly { id: unknown; name: unknown; argumentsText: string }[],
): readonly ToolCall[] {
  if (called.length > maxCalls) throw new Error('the answer has too many calls of tools');
  const objects = argumentsObjects(called.map(({ argumentsText }) => argumentsText));
  return called.map(({ id, name, argumentsText }, index) => ({
    ...{ id: textOf(id), name: textOf(name) },
    ...{ argumentsText, argumentsJson: objects[index] ?? null },
  }));
}

/** Gives calls fitting ids outside `used`, and adds them there. */
export function withNewIds<Call extends ToolCall>(
  calls: readonly Call[],
  used: Set<string>,
  { fits, prefix }: IdRule,
): Call[] {
  return calls.map((call) => {
    const isGood = fits(call.id) && !used.has(call.id);
    const id = isGood ? call.id : `${prefix}${newId().replaceAll('-', '')}`;
    used.add(id);
    return { ...call, id };
  });
}

/** Arguments parsed whatever the others are. */
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

/** The objects of the arguments of a message's calls, as JSON; null for anything else, or if parsing takes too long. */
export function argumentsObjects(texts: readonly string[]): (string | null)[] {
  const isSmall = areParsable(texts);
  return texts.map((text) => (isSmall || text.length <= smallChars ? argumentsObject(text) : null));
}

/**
 * The object of a call's arguments, as JSON; null for anything else, or if parsing takes too long. Missing arguments
 * are an empty object. Some models write the JSON of an object as a JSON text.
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

/**
 * The value of a JSON text. Integers beyond the range of JavaScript become strings of the same digits: clients see the
 * id as sent, not the nearest number. Null for any other text.
 */
export function parseExact(json: string): unknown {
  try {
    return JSON.parse(json, exact);
  } catch {
    return null;
  }
}

function exact(_name: string, value: unknown, { source = '' }: { source?: string } = {}): unknown {
  const isHeld = typeof value !== 'number' || Number.isSafeInteger(value) || !/^-?\d+$/.test(source);
  return isHeld ? value : source;
}

import type { SampleBuilder } from './usage/token-estimate.ts';
import { jsonPieces } from './wire/json-pieces.ts';

/**
 * Models read the definitions of tools as they read messages. Beyond the sample, the others count as these do. The first
 * one is always measured.
 */
export function addDefinitions(sample: SampleBuilder, definitions: readonly unknown[]): void {
  let chars = 0;
  for (const [index, definition] of definitions.entries()) {
    if (index > 0 && sample.isFull) {
      sample.addChars((chars / index) * (definitions.length - index));
      return;
    }
    chars += addDefinition(sample, definition);
  }
}

/** A definition may have 30 MB, which JSON takes 100 ms to write. Returns its characters, without escapes behind the sample. */
function addDefinition(sample: SampleBuilder, definition: unknown): number {
  let chars = 0;
  for (const piece of jsonPieces(definition)) {
    sample.add(piece);
    chars += piece.length;
    if (!sample.isFull) continue;
    const behind = Math.max(0, charsOf(definition) - chars);
    sample.addChars(behind);
    return chars + behind;
  }
  return chars;
}

function charsOf(value: unknown): number {
  if (typeof value === 'string') return value.length + 2;
  if (typeof value !== 'object' || value === null) return String(value).length;
  if (Array.isArray(value)) return value.reduce<number>((sum, each) => sum + charsOf(each) + 1, 1);
  return Object.entries(value).reduce((sum, [name, each]) => sum + name.length + charsOf(each) + 4, 1);
}

import type { DroppedFields } from './dropped-fields.ts';

/** Values of JSON of unknown types. */

export function textIn(value: unknown): string | null {
  return typeof value === 'string' ? value : null;
}

/** A text; empty otherwise. */
export function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

export function numberIn(value: unknown): number | null {
  return typeof value === 'number' && Number.isFinite(value) ? value : null;
}

export function booleanIn(value: unknown): boolean | null {
  return typeof value === 'boolean' ? value : null;
}

/** Texts at which an answer stops: a text, or a list of some. Throws `unsupported_parameter` for others. */
export function stopIn(value: unknown, name: string, dropped: DroppedFields): string[] {
  if (value === undefined || value === null) return [];
  const texts: unknown[] = Array.isArray(value) ? value : [value];
  return texts.map((text) => {
    if (typeof text !== 'string') throw dropped.unsupportedParameter(name, 'It takes texts.');
    return text;
  });
}

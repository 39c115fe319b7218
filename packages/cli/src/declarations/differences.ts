import { isDeepStrictEqual } from 'node:util';
import { cell } from '../output.ts';
import { isMembers, type Members } from './members.ts';

/** A member with another value than the declared one. */
export interface Difference {
  /** Its path: `['tools', 'max_iterations']`. */
  path: readonly string[];
  /** The value in the gateway; undefined if it is absent. */
  old: unknown;
  /** The declared value, as the file has it: with `${NAME}` for values of the environment. */
  new: unknown;
}

/** Paths of members with the meaning of sets, like `tools.builtin`. */
export type Sets = ReadonlySet<string>;

/**
 * The members of `current` that lack something declared; anything else is left alone. Values of sets may have any order.
 * `written` is the declared value with variables in place of their values.
 */
export function differencesOf(
  { current, declared, written }: { current: unknown; declared: unknown; written: unknown },
  path: readonly string[],
  sets: Sets,
): Difference[] {
  if (isMembers(declared) && isMembers(current))
    return Object.entries(declared).flatMap(([name, value]) =>
      differencesOf(
        { current: current[name], declared: value, written: isMembers(written) ? written[name] : value },
        [...path, name],
        sets,
      ),
    );
  return isSame(current, declared, sets.has(path.join('.'))) ? [] : [{ path, old: current, new: written }];
}

function isSame(current: unknown, declared: unknown, isSet: boolean): boolean {
  if (isTime(current) && isTime(declared)) return Date.parse(current) === Date.parse(declared);
  if (isSet && Array.isArray(current) && Array.isArray(declared))
    return isDeepStrictEqual(new Set<unknown>(current), new Set<unknown>(declared));
  return isDeepStrictEqual(current ?? null, declared ?? null);
}

function isTime(value: unknown): value is string {
  return typeof value === 'string' && /^\d{4}-\d\d-\d\d[Tt].*([Zz]|[+-]\d\d:\d\d)$/.test(value);
}

/** The declared value together with what is beside it in the gateway. */
export function merged(current: unknown, declared: unknown): unknown {
  if (!isMembers(declared) || !isMembers(current) || declared['type'] !== current['type']) return declared;
  const members = Object.entries(declared).map(([name, value]) => [name, merged(current[name], value)]);
  return { ...current, ...(Object.fromEntries(members) as Members) };
}

/** The most characters of a value in a plan. */
const shownCharacters = 60;

/** `small → priced`. Long texts are shown from a little before their first difference. */
export function changeText({ old, new: next }: Pick<Difference, 'old' | 'new'>): string {
  const [before, after] = [cell(old), cell(next)];
  let common = 0;
  while (common < before.length && before[common] === after[common]) common += 1;
  const isLong = Math.max(before.length, after.length) > shownCharacters;
  const start = isLong ? Math.max(0, common - shownCharacters / 3) : 0;
  const part = (text: string): string => {
    const end = start + shownCharacters;
    return `${start > 0 ? '…' : ''}${text.slice(start, end)}${text.length > end ? '…' : ''}`;
  };
  return `${part(before)} → ${part(after)}`;
}

import { maxExcerptChars } from '../bounds.ts';
/** How much of a payload an excerpt shows: levels, elements of a list, characters of a text. */
interface Detail {
  depth: number;
  items: number;
  chars: number;
  /** Whether members without content, and links for programs, are left out. */
  isShort: boolean;
}

/** From the whole to an outline. Texts are cut last: most payloads are long by lists and by objects in objects. */
const details: readonly Detail[] = [
  { depth: 32, items: Infinity, chars: Infinity, isShort: false },
  { depth: 8, items: 20, chars: 2_000, isShort: true },
  { depth: 6, items: 5, chars: 2_000, isShort: true },
  { depth: 4, items: 3, chars: 1_000, isShort: true },
  { depth: 3, items: 2, chars: 400, isShort: true },
  { depth: 2, items: 1, chars: 100, isShort: true },
];

/** Links for people; a repository of GitHub has 45 others. */
const links = new Set(['html_url', 'web_url', 'target_url', 'details_url', 'environment_url', 'log_url']);

/**
 * The JSON of a payload, or as much of it as fits `maxExcerptChars`: long texts and lists and deep objects are cut, and so
 * is what is too long even then. Each attempt ends when it has written so much: 100,000 members
 * take 0.1 s.
 */
export function jsonExcerpt(value: unknown): string {
  let text = '';
  for (const detail of details) {
    text = written(value, detail);
    if (text.length <= maxExcerptChars) return text;
  }
  return cut(text, maxExcerptChars);
}

/** Ended as soon as it is too long. */
function written(value: unknown, { depth: maxDepth, items, chars, isShort }: Detail): string {
  let text = '';
  const isFull = (): boolean => text.length > maxExcerptChars;
  // A longer text would be cut in any case; so it is not escaped as a whole.
  const write = (string: string): void => {
    text += JSON.stringify(cut(string, Math.min(chars, maxExcerptChars + 1)));
  };
  const writeValue = (each: unknown, depth: number): void => {
    if (typeof each === 'string') write(each);
    else if (typeof each !== 'object' || each === null) text += JSON.stringify(each ?? null);
    else if (depth >= maxDepth) text += Array.isArray(each) ? '[…]' : '{…}';
    else if (Array.isArray(each)) writeList(each, depth);
    else writeMembers(each as Record<string, unknown>, depth);
  };
  const writeList = (list: readonly unknown[], depth: number): void => {
    text += '[';
    for (const [index, each] of list.entries()) {
      if (isFull()) return;
      if (index > 0) text += ',';
      if (index >= items) {
        text += `"… ${list.length - index} more"`;
        break;
      }
      writeValue(each, depth + 1);
    }
    text += ']';
  };
  const writeMembers = (members: Record<string, unknown>, depth: number): void => {
    text += '{';
    let comma = '';
    // The entries of 100,000 members take 100 ms, their names 18.
    for (const name of Object.keys(members)) {
      if (isFull()) return;
      const each = members[name];
      if (isShort && saysNothing(name, each)) continue;
      text += comma;
      comma = ',';
      write(name);
      text += ':';
      writeValue(each, depth + 1);
    }
    text += '}';
  };
  writeValue(value, 0);
  return text;
}

function saysNothing(name: string, value: unknown): boolean {
  if (value === null || value === '') return true;
  return typeof value === 'string' && name.endsWith('_url') && !links.has(name);
}

/** At most so many characters, and a mark if there are more. No character is cut in two. */
export function cut(text: string, chars: number): string {
  if (text.length <= chars) return text;
  return `${text.slice(0, chars).replace(/[\ud800-\udbff]$/, '')}…`;
}

/** JSON that is slow to read for its size. */

/** As many times the element as fit. */
export const listOf = (element: string, bytes: number): string =>
  Array(Math.floor(bytes / (element.length + 1)))
    .fill(element)
    .join(',');

export const deep = (bytes: number): string => `${'['.repeat(bytes / 2)}${']'.repeat(bytes / 2)}`;

/** The worst values of this size, texts last. */
export const worstValues = (bytes: number): string[] => [
  `[${listOf('{}', bytes)}]`,
  `[${listOf('1', bytes)}]`,
  `[${listOf('1'.repeat(300), bytes)}]`,
  `{${Array.from({ length: bytes / 10 }, (_, n) => `"${n}":0`).join(',')}}`,
  deep(bytes),
  `"${'\\"'.repeat(bytes / 2)}"`,
  `"${'\\u0041'.repeat(bytes / 6)}"`,
];

import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { isMap, isScalar, parseDocument, type Pair, type YAMLMap } from 'yaml';

/** Run by `make gen`: writes the table of values in README.md from the comments of values.yaml. */
const folder = path.join(import.meta.dirname, 'gatehouse');
const readmeFile = path.join(folder, 'README.md');
const [begin, end] = ['<!-- values: made by `make gen` -->', '<!-- /values -->'];

interface Row {
  name: string;
  comment: string;
  value: string;
}

/**
 * Yields a row for each value, and one row for a map if its comment covers all its values. Throws if a value has no
 * comment.
 */
function* rows(map: YAMLMap, prefix = ''): Generator<Row> {
  for (const pair of map.items) {
    const name = `${prefix}${isScalar(pair.key) ? String(pair.key.value) : ''}`;
    const comment = commentOf(pair, map);
    const inner = isMap(pair.value) ? pair.value : null;
    if (inner !== null && (comment === '' || hasComments(inner))) {
      if (comment !== '') yield { name, comment, value: '' };
      yield* rows(inner, `${name}.`);
    } else if (comment === '') throw new Error(`values.yaml has no comment for ${name}`);
    else yield { name, comment, value: shown(pair.value) };
  }
}

function hasComments(map: YAMLMap): boolean {
  return map.items.some(
    (pair) => commentOf(pair, map) !== '' || (isMap(pair.value) && hasComments(pair.value)),
  );
}

/** The parser attaches the first comment of a map to the map. */
function commentOf(pair: Pair, map: YAMLMap): string {
  const own = isScalar(pair.key) ? pair.key.commentBefore : undefined;
  const text = own ?? (map.items[0] === pair ? map.commentBefore : undefined) ?? '';
  const lastParagraph = text.split(/\n\s*\n/).at(-1) ?? '';
  return lastParagraph.replace(/^ /gm, '').replaceAll('\n', ' ').trim();
}

/** A default value on one line. */
function shown(value: unknown): string {
  return JSON.stringify((value as { toJSON(): unknown }).toJSON());
}

function table(): string {
  const document = parseDocument(readFileSync(path.join(folder, 'values.yaml'), 'utf8'));
  if (!isMap(document.contents)) throw new Error('values.yaml must be a map');
  const lines = [...rows(document.contents)].map(({ name, comment, value }) => {
    const fallback = value === '' ? '' : `\`${value}\``;
    return `| \`${name}\` | ${fallback.replaceAll('|', '\\|')} | ${comment.replaceAll('|', '\\|')} |`;
  });
  return ['| Value | Default | What |', '| --- | --- | --- |', ...lines].join('\n');
}

const readme = readFileSync(readmeFile, 'utf8');
const [before, rest] = readme.split(begin);
const after = rest?.split(end)[1];
if (before === undefined || after === undefined)
  throw new Error(`${readmeFile} has no markers for the table`);
const whole = `${before}${begin}\n\n${table()}\n\n${end}${after}`;
writeFileSync(readmeFile, whole);

import { readFile } from 'node:fs/promises';
import type { Readable } from 'node:stream';
import { LineCounter, parse, parseAllDocuments, type Document } from 'yaml';
import { UsageError } from './usage-error.ts';

/** All of standard input as text. */
export async function readAll(stdin: Readable): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of stdin) chunks.push(Buffer.from(chunk as string | Buffer));
  return Buffer.concat(chunks).toString('utf8');
}

/** A file's text, or the text of standard input for `-`. */
export async function readText(file: string, stdin: Readable): Promise<string> {
  if (file === '-') return readAll(stdin);
  try {
    return await readFile(file, 'utf8');
  } catch (error) {
    throw new UsageError(
      `${file} can't be read: ${(error as NodeJS.ErrnoException).code ?? 'unknown error'}`,
    );
  }
}

/** YAML, of which JSON is a part. */
export function parseYaml(text: string, source: string): unknown {
  return readable(source, () => parse(text) as unknown);
}

/** A document with its nodes, by which each value has a line. */
export interface ParsedDocument {
  content: unknown;
  document: Document;
  lines: LineCounter;
}

/** All documents of a YAML text, without the empty ones. */
export function parseDocuments(text: string, source: string): ParsedDocument[] {
  return readable(source, () => {
    const lines = new LineCounter();
    return [...parseAllDocuments(text, { lineCounter: lines })].map((document) => {
      const [error] = document.errors;
      if (error !== undefined) throw error;
      return { content: document.toJS() as unknown, document, lines };
    });
  });
}

/** Runs a parser, which throws whatever a broken, endless or too deep text makes it throw. */
function readable<Content>(source: string, parser: () => Content): Content {
  try {
    return parser();
  } catch (error) {
    throw new UsageError(`${source}: ${(error as Error).message}`);
  }
}

export type Environment = Readonly<Record<string, string | undefined>>;

/**
 * Replaces `${NAME}` by this variable of the environment; `$${NAME}` stands for the text `${NAME}`. There is no
 * default, so no secret is empty by mistake: `missing` is the first unset or empty variable.
 */
export function withEnvironment(
  value: unknown,
  environment: Environment,
): { value: unknown; missing: string | undefined } {
  let missing: string | undefined;
  const replaced = (part: unknown): unknown => {
    if (typeof part === 'string')
      return part.replaceAll(/(\$?)\$\{(\w+)\}/g, (text, escape: string, name: string) => {
        if (escape !== '') return text.slice(1);
        const variable = environment[name] ?? '';
        if (variable === '') missing ??= name;
        return variable;
      });
    if (Array.isArray(part)) return part.map(replaced);
    if (typeof part === 'object' && part !== null)
      return Object.fromEntries(Object.entries(part).map(([name, item]) => [name, replaced(item)]));
    return part;
  };
  return { value: replaced(value), missing };
}

import { readFile } from 'node:fs/promises';
import type { Readable } from 'node:stream';
import { parse, parseAllDocuments } from 'yaml';
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

/** All documents of a YAML text, without the empty ones. */
export function parseDocuments(text: string, source: string): unknown[] {
  return readable(source, () =>
    [...parseAllDocuments(text)].map((document) => {
      const [error] = document.errors;
      if (error !== undefined) throw error;
      return document.toJS() as unknown;
    }),
  );
}

/** Runs a parser, which throws whatever a broken, endless or too deep text makes it throw. */
function readable<Content>(source: string, parser: () => Content): Content {
  try {
    return parser();
  } catch (error) {
    throw new UsageError(`${source}: ${(error as Error).message}`);
  }
}

/**
 * Replaces `${NAME}` by this variable of the environment; `$${NAME}` stands for the text `${NAME}`. There is no
 * default, so no secret is empty by mistake.
 */
export function withEnvironment(
  value: unknown,
  environment: Readonly<Record<string, string | undefined>>,
): unknown {
  if (typeof value === 'string')
    return value.replaceAll(/(\$?)\$\{(\w+)\}/g, (text, escape: string, name: string) => {
      if (escape !== '') return text.slice(1);
      const variable = environment[name];
      if (variable === undefined || variable === '')
        throw new UsageError(`The environment has no ${name}. For the text itself, write $$\{${name}}.`);
      return variable;
    });
  if (Array.isArray(value)) return value.map((part) => withEnvironment(part, environment));
  if (typeof value === 'object' && value !== null)
    return Object.fromEntries(
      Object.entries(value).map(([name, part]) => [name, withEnvironment(part, environment)]),
    );
  return value;
}

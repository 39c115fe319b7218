import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { repositoryRoot } from '@gatehouse/local/settings';
import { parse } from 'yaml';

/** Examples in documents that readers paste: fenced code blocks. */

interface Block {
  language: string;
  /** Line of the opening fence, from 1. */
  line: number;
  text: string;
}

export function fencedBlocks(markdown: string): Block[] {
  const lines = markdown.split('\n');
  const blocks: Block[] = [];
  let open: Block | undefined;
  for (const [index, line] of lines.entries()) {
    const fence = /^```(.*)$/.exec(line);
    if (open === undefined) {
      if (fence !== null) open = { language: fence[1] ?? '', line: index + 1, text: '' };
    } else if (fence === null) open.text += `${line}\n`;
    else {
      blocks.push(open);
      open = undefined;
    }
  }
  return blocks;
}

/** The blocks of YAML of a page, by its path in the repository. */
export function yamlOf(file: string): unknown[] {
  return fencedBlocks(readFileSync(path.join(repositoryRoot, file), 'utf8'))
    .filter(({ language }) => language === 'yaml')
    .map(({ text }) => parse(text) as unknown);
}

const languages = ['sh', 'ts', 'python', 'go', 'yaml'] as const;
type Language = (typeof languages)[number];

export interface Example extends Block {
  language: Language;
  /**
   * The following block of `json` or `text` with the expected output, where `…` matches anything; empty if there is
   * none.
   */
  prints: string;
}

export interface Page {
  /** Path relative to the repository. */
  file: string;
  /** File name without folder and extension. */
  name: string;
  examples: Example[];
}

/** Pages for operators with commands of a cluster, a machine or a database, which `e2e/operations.test.ts` reads. */
export const operationsPages = [
  'alerts',
  'backup',
  'install',
  'one-machine',
  'releases',
  'rotate',
  'upgrade',
];

/** `e2e/readme.test.ts` runs its examples, which need a server of tools. */
export const tourPage = 'docs/tenants/tour.md';

/** Reads all other pages for tenants and operators. Throws for a page with a block that no test runs. */
export function readPages(): Page[] {
  return ['docs/tenants', 'docs/operators'].flatMap((folder) =>
    readdirSync(path.join(repositoryRoot, folder))
      .filter((entry) => entry.endsWith('.md'))
      .map((entry) => ({ file: path.join(folder, entry), name: path.parse(entry).name }))
      .filter(({ file, name }) =>
        folder === 'docs/tenants' ? file !== tourPage : !operationsPages.includes(name),
      )
      .map(({ file, name }) => {
        const markdown = readFileSync(path.join(repositoryRoot, file), 'utf8');
        return { file, name, examples: examplesOf(file, markdown) };
      }),
  );
}

export function examplesOf(file: string, markdown: string): Example[] {
  const blocks = fencedBlocks(markdown);
  if (/^(\s*(```|~~~)| {4}|\t)/m.test(markdown.replace(/^```.*?^```$/gms, '')))
    throw new Error(`${file}: every code block must be fenced and not indented`);
  const examples: Example[] = [];
  for (const block of blocks) {
    const last = examples.at(-1);
    if (isLanguage(block.language)) examples.push({ ...block, language: block.language, prints: '' });
    else if (/^(json|text)$/.test(block.language) && last?.prints === '') last.prints = block.text;
    else
      throw new Error(
        `${file}:${block.line}: this block is neither run by a test nor the output of the block above`,
      );
  }
  return examples;
}

function isLanguage(text: string): text is Language {
  return languages.some((language) => language === text);
}

/** Joins the blocks of a language into one program, because later blocks continue earlier ones. */
export function programOf(
  { examples }: Page,
  language: Language,
): { code: string; prints: string } | undefined {
  const blocks = examples.filter((example) => example.language === language);
  if (blocks.length === 0) return undefined;
  return {
    code: blocks.map(({ text }) => text).join('\n'),
    prints: blocks.map(({ prints }) => prints).join(''),
  };
}

/** The expected output as a pattern for `withoutSpace`: `…` matches anything; white space is ignored. */
export function shown(prints: string): RegExp {
  const parts = withoutSpace(prints).split('…');
  return new RegExp(`^${parts.map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')).join('.*')}$`);
}

export function withoutSpace(text: string): string {
  return text.replace(/\s+/g, '');
}

import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { repositoryRoot } from '@gatehouse/local/settings';

/** What documents tell people to paste, as blocks between fences. */

interface Block {
  language: string;
  /** Of its opening fence, from 1. */
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

const languages = ['sh', 'ts', 'python', 'yaml'] as const;
type Language = (typeof languages)[number];

export interface Example extends Block {
  language: Language;
  /** The block of `json` or `text` below it, with `…` for anything; empty where it prints nothing. */
  prints: string;
}

export interface Page {
  /** From the repository's root. */
  file: string;
  /** Without folder and ending. */
  name: string;
  examples: Example[];
}

/** The pages for tenants and operators. Throws for one with a block that no test would run. */
export function readPages(): Page[] {
  return ['docs/tenants', 'docs/operators'].flatMap((folder) =>
    readdirSync(path.join(repositoryRoot, folder)).map((entry) => {
      const file = path.join(folder, entry);
      const markdown = readFileSync(path.join(repositoryRoot, file), 'utf8');
      return { file, name: path.parse(entry).name, examples: examplesOf(file, markdown) };
    }),
  );
}

export function examplesOf(file: string, markdown: string): Example[] {
  const blocks = fencedBlocks(markdown);
  if (/^(\s*(```|~~~)| {4}|\t)/m.test(markdown.replace(/^```.*?^```$/gms, '')))
    throw new Error(`${file}: every block of code stands between fences of its own, and at the margin`);
  const examples: Example[] = [];
  for (const block of blocks) {
    const last = examples.at(-1);
    if (isLanguage(block.language)) examples.push({ ...block, language: block.language, prints: '' });
    else if (/^(json|text)$/.test(block.language) && last?.prints === '') last.prints = block.text;
    else throw new Error(`${file}:${block.line}: no test runs this block, nor is it what one above prints`);
  }
  return examples;
}

function isLanguage(text: string): text is Language {
  return languages.some((language) => language === text);
}

/** The blocks of a language as one example: later ones go on where the earlier stopped. */
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

/** What a page shows as printed, as a pattern of `withoutSpace`: `…` stands for anything, and white space for none. */
export function shown(prints: string): RegExp {
  const parts = withoutSpace(prints).split('…');
  return new RegExp(`^${parts.map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')).join('.*')}$`);
}

export function withoutSpace(text: string): string {
  return text.replace(/\s+/g, '');
}

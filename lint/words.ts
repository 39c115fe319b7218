import { readdirSync, readFileSync, statSync } from 'node:fs';
import path from 'node:path';
import { habits, namedBetter } from './habits.ts';
import { checkedPaths } from './paths.ts';
import { declaredNames, proseOf } from './prose.ts';

/**
 * A step of `make lint`: reports habits of prose that the word list of STYLE.md replaces, and names made of its words.
 * Reads the paths given, such as `node lint/words.ts docs`, or those of `paths.ts`.
 */

export interface Finding {
  /** From 1. */
  line: number;
  column: number;
  found: string;
  better: string;
}

const skipped = new Set(['node_modules', '.git', '.gatehouse', '.kafka', '.venv', 'coverage', 'dist', 'gen']);
/** `packages/contract/openapi.json` is made of the shapes, whose own texts are checked. */
const generated = /(^|\/)(package-lock|openapi)\.json$/;

export function findings(file: string, text: string): Finding[] {
  const at = (offset: number, found: string, better: string): Finding => {
    const before = text.slice(0, offset).split('\n');
    return { line: before.length, column: (before.at(-1)?.length ?? 0) + 1, found, better };
  };
  const inProse = (proseOf(file, text) ?? []).flatMap(({ start, end, isComment }) => {
    // Text in backticks is a name, spelled as the named thing is.
    const prose = text.slice(start, end).replace(/`[^`\n]*`/g, (code) => ' '.repeat(code.length));
    const applicable = habits.filter(({ onlyIn }) => onlyIn !== 'comments' || isComment);
    return applicable.flatMap(({ found, better }) =>
      Array.from(prose.matchAll(found), ({ 0: match, index }) => at(start + index, match, better)),
    );
  });
  if (!/\.tsx?$/.test(file)) return inProse;
  const inNames = declaredNames(file, text).flatMap(({ start, name }) =>
    wordsOf(name).flatMap((word) => {
      const better = namedBetter.get(word);
      return better === undefined ? [] : [at(start, name, `for \`${word}\`: ${better}`)];
    }),
  );
  return [...inProse, ...inNames];
}

/** The words of a name in lower case. An error code of the OpenAI API is one word. */
function wordsOf(name: string): string[] {
  if (name === 'insufficient_quota') return [];
  return name
    .replace(/([a-z0-9])(?=[A-Z])/g, '$1 ')
    .toLowerCase()
    .split(/[\s_#]+/);
}

function filesIn(target: string): string[] {
  if (!statSync(target).isDirectory()) return [target];
  return readdirSync(target, { withFileTypes: true }).flatMap((entry) => {
    const inside = path.join(target, entry.name);
    if (entry.isDirectory()) return skipped.has(entry.name) ? [] : filesIn(inside);
    return entry.isFile() && !generated.test(inside) ? [inside] : [];
  });
}

if (import.meta.main) {
  const given = process.argv.slice(2);
  let total = 0;
  for (const file of (given.length > 0 ? given : checkedPaths).flatMap(filesIn)) {
    for (const { line, column, found, better } of findings(file, readFileSync(file, 'utf8'))) {
      console.log(`${file}:${line}:${column}  "${found}": ${better}`);
      total += 1;
    }
  }
  if (total > 0) {
    console.log(`${total} words to replace; the list with examples is in STYLE.md (Words).`);
    process.exitCode = 1;
  }
}

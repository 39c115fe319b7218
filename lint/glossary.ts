import { globSync, readFileSync } from 'node:fs';
import ts from 'typescript';
import { budgets } from './budgets.ts';
import { proseOf } from './prose.ts';

/**
 * A step of `make lint`: holds the source to the glossary of STYLE.md. Counts names without a noun, type names in several
 * files and words of comments, and reports each count above its budget in `budgets.ts`.
 */

export interface SourceFile {
  file: string;
  text: string;
}

/** Names that are only a participle or a pronoun, or begin with a preposition. */
const bareName = /^#?(?:[Aa]sked|[Gg]iven|[Ff]ound|[Ss]aid|[Kk]ept|[Oo]wn|[Ss]hown|[Oo]f(?:[A-Z]\w*)?)$/;

/** The names without a noun that a file declares, each with its line. Imports and members of literals use names of others. */
export function bareNames({ file, text }: SourceFile): string[] {
  const source = ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true);
  const names: string[] = [];
  const visit = (node: ts.Node): void => {
    const { name } = node as Partial<ts.NamedDeclaration>;
    const isDeclared = name !== undefined && !usesName.has(node.kind);
    if (isDeclared && (ts.isIdentifier(name) || ts.isPrivateIdentifier(name)) && bareName.test(name.text))
      names.push(`${file}:${source.getLineAndCharacterOfPosition(name.pos).line + 1}  ${name.text}`);
    ts.forEachChild(node, visit);
  };
  visit(source);
  return names;
}

const usesName = new Set([
  ts.SyntaxKind.ImportSpecifier,
  ts.SyntaxKind.ExportSpecifier,
  ts.SyntaxKind.PropertyAccessExpression,
  ts.SyntaxKind.PropertyAssignment,
  ts.SyntaxKind.ShorthandPropertyAssignment,
  ts.SyntaxKind.JsxAttribute,
]);

/** The names of interfaces and classes that more than two files declare, with these files. */
export function sharedTypeNames(sources: readonly SourceFile[]): Map<string, string[]> {
  const files = new Map<string, string[]>();
  for (const { file, text } of sources)
    for (const name of typeNames(file, text)) files.set(name, [...(files.get(name) ?? []), file]);
  return new Map([...files].filter(([, declaring]) => declaring.length > 2));
}

function typeNames(file: string, text: string): Set<string> {
  const names = new Set<string>();
  const visit = (node: ts.Node): void => {
    if ((ts.isInterfaceDeclaration(node) || ts.isClassDeclaration(node)) && node.name !== undefined)
      names.add(node.name.text);
    ts.forEachChild(node, visit);
  };
  visit(ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true));
  return names;
}

/** How often comments use each of `words`, per 1,000 lines of comments. */
export function wordRates(sources: readonly SourceFile[], words: readonly string[]): Map<string, number> {
  const comments = sources.flatMap(({ file, text }) =>
    (proseOf(file, text) ?? []).flatMap(({ start, end, isComment }) =>
      isComment ? [text.slice(start, end).toLowerCase()] : [],
    ),
  );
  const lines = comments.reduce((sum, comment) => sum + comment.split('\n').length, 0);
  const rate = (word: string): number =>
    comments.reduce(
      (sum, comment) => sum + (comment.match(new RegExp(`\\b${word}\\b`, 'g'))?.length ?? 0),
      0,
    );
  return new Map(words.map((word) => [word, lines === 0 ? 0 : (1_000 * rate(word)) / lines]));
}

/** Problems of counts above their budget, and of budgets that the counts have left far behind. */
export function overspent(
  counts: ReadonlyMap<string, number>,
  allowed: Readonly<Record<string, number>>,
): string[] {
  return [...new Set([...counts.keys(), ...Object.keys(allowed)])].flatMap((name) => {
    const count = counts.get(name) ?? 0;
    const budget = allowed[name] ?? 0;
    if (count > budget) return [`${name}: ${Math.ceil(count)}, and the budget is ${budget}`];
    return count < 0.9 * budget - 1 ? [`${name}: lower the budget of ${budget} to ${Math.ceil(count)}`] : [];
  });
}

/** `packages/kit` of `packages/kit/src/clock.ts`. */
const workspaceOf = (file: string): string => file.split('/').slice(0, 2).join('/');

if (import.meta.main) {
  const sources = globSync('{packages,services,deploy}/**/*.{ts,tsx}')
    .filter((file) => !/(^|\/)(node_modules|dist|gen|tests?)\/|\.test\.tsx?$|\.d\.ts$/.test(file))
    .map((file) => ({ file, text: readFileSync(file, 'utf8') }));
  const bare = Map.groupBy(sources.flatMap(bareNames), workspaceOf);
  const names = overspent(new Map([...bare].map(([name, { length }]) => [name, length])), budgets.bareNames);
  const words = [...wordRates(sources, Object.keys(budgets.words))].filter(
    ([word, rate]) => rate > (budgets.words[word] ?? 0),
  );
  const shared = [...sharedTypeNames(sources)].filter(([name]) => !budgets.sharedTypeNames.includes(name));
  const problems = [
    ...names.map((problem) => `Names without a noun in ${problem}`),
    ...names.flatMap((problem) => bare.get(problem.split(':')[0] ?? '') ?? []),
    ...words.map(([word, rate]) => `"${word}" is ${Math.ceil(rate)} times in 1,000 lines of comments`),
    ...shared.map(
      ([name, files]) => `The type name ${name} is in ${files.length} files: ${files.join(', ')}`,
    ),
  ];
  for (const problem of problems) console.log(problem);
  if (problems.length > 0) {
    console.log('Use the words of the glossary (STYLE.md); the limits are in lint/budgets.ts.');
    process.exitCode = 1;
  }
}

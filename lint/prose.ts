import path from 'node:path';
import ts from 'typescript';

/** The part of a file that people read as text, as offsets of its first character and of the one after its last. */
export type Range = readonly [start: number, end: number];

/** A string literal is text from this many words on; below that it is a name, a key or a code. */
const leastWords = 3;

const readers: readonly { files: RegExp; read: (file: string, text: string) => Range[] }[] = [
  { files: /\.test\.ts$/, read: (file, text) => scriptProse(file, text, isTestName) },
  { files: /\.[cm]?[jt]s$/, read: (file, text) => scriptProse(file, text, isText) },
  { files: /\.sql$/, read: (_file, text) => matches(text, /--.*|\/\*[^]*?\*\//g) },
  { files: /\.proto$/, read: (_file, text) => matches(text, /\/\/.*|\/\*[^]*?\*\//g) },
  { files: /(\.sh|Dockerfile|Makefile|\/run)$/, read: (_file, text) => matches(text, /(?<=^|\s)#.*/gm) },
  { files: /\.md$/, read: (_file, text) => markdownProse(text) },
  // Comments, and the values that people see: summaries of alerts, descriptions of panels and of settings.
  { files: /(\.ya?ml|\.tpl|\.json|NOTES\.txt)$/, read: (_file, text) => [[0, text.length]] },
];

/** The prose of a file; undefined for a kind of file that holds none. */
export function proseOf(file: string, text: string): Range[] | undefined {
  return readers.find(({ files }) => files.test(file))?.read(file, text);
}

function matches(text: string, pattern: RegExp): Range[] {
  return Array.from(text.matchAll(pattern), (match) => [match.index, match.index + match[0].length]);
}

/** Everything but fenced code, and what stands between `<!-- words: off -->` and `<!-- words: on -->`. */
function markdownProse(text: string): Range[] {
  const left = text.matchAll(/^```[^]*?^```|<!-- words: off -->[^]*?<!-- words: on -->/gm);
  const ranges: Range[] = [];
  let start = 0;
  for (const { 0: code, index } of left) {
    ranges.push([start, index]);
    start = index + code.length;
  }
  return [...ranges, [start, text.length]];
}

type Wanted = (node: ts.StringLiteralLike | ts.TemplateExpression) => boolean;

/** The comments of a program, and the string literals that are wanted. */
function scriptProse(file: string, text: string, wanted: Wanted): Range[] {
  const kind = /js$/.test(path.extname(file)) ? ts.ScriptKind.JS : ts.ScriptKind.TS;
  const source = ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true, kind);
  const ranges = new Map<number, Range>();
  const add = (start: number, end: number): void => void ranges.set(start, [start, end]);
  const visit = (node: ts.Node): void => {
    const comments = [
      ...(ts.getLeadingCommentRanges(text, node.getFullStart()) ?? []),
      ...(ts.getTrailingCommentRanges(text, node.end) ?? []),
    ];
    if (!ts.isTemplateMiddleOrTemplateTail(node)) for (const { pos, end } of comments) add(pos, end);
    if ((ts.isStringLiteralLike(node) || ts.isTemplateExpression(node)) && wanted(node)) {
      // Without its quotes.
      add(node.getStart(source) + 1, node.end - 1);
    }
    for (const child of node.getChildren(source)) visit(child);
  };
  visit(source);
  return [...ranges.values()];
}

function isText(node: ts.Node): boolean {
  return node.getText().trim().split(/\s+/).length >= leastWords;
}

/** Other strings of a test are data, such as what a client says to a model. */
function isTestName(node: ts.Node): boolean {
  return (
    ts.isCallExpression(node.parent) &&
    node.parent.arguments[0] === node &&
    /^(describe|it|test)\b/.test(node.parent.expression.getText())
  );
}

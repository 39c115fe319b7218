import path from 'node:path';
import ts from 'typescript';

/** A part of a file that people read as text. */
export interface Prose {
  /** The offset of the first character. */
  start: number;
  /** The offset after the last character. */
  end: number;
  /** Whether it is a comment of a program or a protocol. */
  isComment: boolean;
}

/** A string literal is text from this many words on; below that it is a name, a key or a code. */
const leastWords = 3;

const readers: readonly { files: RegExp; read: (file: string, text: string) => Prose[] }[] = [
  { files: /\.test\.ts$/, read: (file, text) => scriptProse(file, text, isTestName) },
  { files: /\.([cm]?[jt]s|tsx)$/, read: (file, text) => scriptProse(file, text, isText) },
  { files: /\.sql$/, read: (_file, text) => matches(text, /--.*|\/\*[^]*?\*\//g, true) },
  { files: /\.proto$/, read: (_file, text) => matches(text, /\/\/.*|\/\*[^]*?\*\//g, true) },
  { files: /(\.sh|Dockerfile|Makefile|\/run)$/, read: (_file, text) => matches(text, /(?<=^|\s)#.*/gm) },
  { files: /\.md$/, read: (_file, text) => markdownProse(text) },
  // Comments, and the values that people see: summaries of alerts, descriptions of panels and of settings.
  { files: /(\.ya?ml|\.tpl|\.json|NOTES\.txt)$/, read: (_file, text) => [wholeText(0, text.length)] },
];

/** The prose of a file; undefined for a kind of file that holds none. */
export function proseOf(file: string, text: string): Prose[] | undefined {
  return readers.find(({ files }) => files.test(file))?.read(file, text);
}

function matches(text: string, pattern: RegExp, isComment = false): Prose[] {
  return Array.from(text.matchAll(pattern), ({ 0: match, index }) => ({
    start: index,
    end: index + match.length,
    isComment,
  }));
}

function wholeText(start: number, end: number): Prose {
  return { start, end, isComment: false };
}

/** Everything but fenced code, and what stands between `<!-- words: off -->` and `<!-- words: on -->`. */
function markdownProse(text: string): Prose[] {
  const left = text.matchAll(/^```[^]*?^```|<!-- words: off -->[^]*?<!-- words: on -->/gm);
  const found: Prose[] = [];
  let start = 0;
  for (const { 0: code, index } of left) {
    found.push(wholeText(start, index));
    start = index + code.length;
  }
  return [...found, wholeText(start, text.length)];
}

let latest: ts.SourceFile | undefined;

/** The parsed file. The latest one is used again: each is read for its prose, then for its names. */
function sourceOf(file: string, text: string): ts.SourceFile {
  if (latest?.fileName === file && latest.text === text) return latest;
  const kind = /js$/.test(path.extname(file)) ? ts.ScriptKind.JS : undefined;
  // Without a kind, the end of the file's name decides.
  latest = ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true, kind);
  return latest;
}

type Wanted = (node: ts.StringLiteralLike | ts.TemplateExpression) => boolean;

/** The comments of a program, and the string literals that are wanted. */
function scriptProse(file: string, text: string, wanted: Wanted): Prose[] {
  const source = sourceOf(file, text);
  const found = new Map<number, Prose>();
  const add = (start: number, end: number, isComment: boolean): void =>
    void found.set(start, { start, end, isComment });
  const visit = (node: ts.Node): void => {
    const comments = [
      ...(ts.getLeadingCommentRanges(text, node.getFullStart()) ?? []),
      ...(ts.getTrailingCommentRanges(text, node.end) ?? []),
    ];
    if (!ts.isTemplateMiddleOrTemplateTail(node)) for (const { pos, end } of comments) add(pos, end, true);
    if ((ts.isStringLiteralLike(node) || ts.isTemplateExpression(node)) && wanted(node)) {
      // Without its quotes.
      add(node.getStart(source) + 1, node.end - 1, false);
    }
    for (const child of node.getChildren(source)) visit(child);
  };
  visit(source);
  return [...found.values()];
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

/** The names that a program declares, with their offsets. */
export function declaredNames(file: string, text: string): { start: number; name: string }[] {
  const source = sourceOf(file, text);
  const found: { start: number; name: string }[] = [];
  const visit = (node: ts.Node): void => {
    const { name } = node as Partial<ts.NamedDeclaration>;
    const isDeclared = name !== undefined && !ts.isPropertyAccessExpression(node);
    if (isDeclared && (ts.isIdentifier(name) || ts.isPrivateIdentifier(name)))
      found.push({ start: name.getStart(source), name: name.text });
    ts.forEachChild(node, visit);
  };
  visit(source);
  return found;
}

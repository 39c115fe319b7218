import ts from 'typescript';

/** A text of SQL in the source of a store: a statement, or a part of one. */
export interface Literal {
  line: number;
  /** The text between substitutions, with single spaces, without those at the ends. */
  pieces: readonly string[];
  /** Whether a statement begins with it. */
  begins: boolean;
  /** Whether a statement ends with it. */
  ends: boolean;
}

const statement =
  /^\s*(select|insert into|update|delete from|with (recursive )?\w+|declare \w+|fetch|merge into|set local|lock table|truncate|create|drop|alter|call|vacuum|analyze|notify|listen)\b/;
const part =
  /^\s*[,()]*\s*(where|and|or|from|((left|cross|inner) )?join|order by|group by|having|limit|offset|on conflict|do (update|nothing)|returning|union|(not )?exists|for (update|share|no key update|key share)|skip locked|set \w+ =|values|using|lateral|case when|\w+ as( not)?( materialized)?)(?=[\s(]|$)/;

/** The literals of SQL in a source file. Types, names of modules and texts that don't begin like SQL are none. */
export function literalsOf(source: string): Literal[] {
  const file = ts.createSourceFile('store.ts', source, ts.ScriptTarget.Latest, true);
  const found: Literal[] = [];
  const visit = (node: ts.Node): void => {
    if (ts.isTypeNode(node) || ts.isImportDeclaration(node)) return;
    const texts = textsOf(node);
    const [first = ''] = texts;
    const begins = statement.test(first);
    if (begins || part.test(first)) {
      const { line } = file.getLineAndCharacterOfPosition(node.getStart());
      const pieces = texts.map(normalised).filter((piece) => piece !== '');
      const ends = begins && isGivenToClient(node) && normalised(texts.at(-1) ?? '') !== '';
      found.push({ line: line + 1, pieces, begins, ends });
    }
    ts.forEachChild(node, visit);
  };
  visit(file);
  return found;
}

/** Whether a statement, as `normalised` returns it, may be made of the literal. */
export function matches({ pieces, ends }: Literal, sent: string): boolean {
  let from = 0;
  for (const [index, piece] of pieces.entries()) {
    const isLast = ends && index === pieces.length - 1;
    const at = isLast ? sent.length - piece.length : sent.indexOf(piece, from);
    if (at < from || !sent.startsWith(piece, at)) return false;
    from = at + piece.length;
  }
  return true;
}

/** Whether a statement begins with the literal, so that it is one of the store that has the literal. */
export function beginsWith(literal: Literal, sent: string): boolean {
  return literal.begins && sent.startsWith(literal.pieces[0] ?? '') && matches(literal, sent);
}

/** A text with single spaces and none at its ends. */
export function normalised(text: string): string {
  return text.replace(/\s+/g, ' ').trim();
}

/** The fixed texts of a literal in their order; none for another node. */
function textsOf(node: ts.Node): string[] {
  if (ts.isStringLiteral(node) || ts.isNoSubstitutionTemplateLiteral(node)) return [node.text];
  if (!ts.isTemplateExpression(node)) return [];
  return [node.head.text, ...node.templateSpans.map(({ literal }) => literal.text)];
}

/** The methods of pools and clients that send a statement. */
const senders = new Set(['query', 'all', 'first', 'one', 'count', 'exists']);

function isGivenToClient({ parent }: ts.Node): boolean {
  if (ts.isCallExpression(parent)) {
    const { expression } = parent;
    const name = ts.isPropertyAccessExpression(expression) ? expression.name : expression;
    return ts.isIdentifier(name) && senders.has(name.text);
  }
  return ts.isPropertyAssignment(parent) && parent.name.getText() === 'text';
}

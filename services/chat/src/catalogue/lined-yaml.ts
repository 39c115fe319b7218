import { parserProblem } from '@gatehouse/kit/parser-problem';
import {
  isAlias,
  isMap,
  isNode,
  isScalar,
  isSeq,
  LineCounter,
  parseDocument,
  type Document,
  type Node,
} from 'yaml';

/** A YAML text, with the lines of its parts. */
export class LinedYaml {
  readonly #document: Document.Parsed;
  readonly #lines = new LineCounter();

  constructor(text: string) {
    this.#document = parseDocument(text, { lineCounter: this.#lines });
  }

  /** The value of the text. Throws where aliases make it too large. */
  get value(): unknown {
    return this.#document.toJS() as unknown;
  }

  /** The mistakes in its syntax, each with its line and column. */
  get problems(): string[] {
    return this.#document.errors.map(parserProblem);
  }

  /** The line of the part at a path, or of the innermost one around it. */
  lineOf(path: readonly PropertyKey[]): number {
    let line = 1;
    let node: Node | null = this.#document.contents;
    for (const part of path) {
      if (isAlias(node)) node = node.resolve(this.#document) ?? null;
      const member: { at: Node; value: unknown } | null = partOf(node, part);
      if (member === null) return line;
      const [start = 0] = member.at.range ?? [];
      line = this.#lines.linePos(start).line;
      node = isNode(member.value) ? member.value : null;
    }
    return line;
  }
}

/** A member of a map, at its key, or an element of a list. */
function partOf(node: Node | null, part: PropertyKey): { at: Node; value: unknown } | null {
  if (isMap(node)) {
    const pair = node.items.find(({ key }) => isScalar(key) && String(key.value) === String(part));
    return pair === undefined || !isNode(pair.key) ? null : { at: pair.key, value: pair.value };
  }
  const value = isSeq(node) ? node.items[Number(part)] : undefined;
  return isNode(value) ? { at: value, value } : null;
}

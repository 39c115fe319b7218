import { isAlias, isMap, isScalar, isSeq, type Document, type LineCounter, type Node } from 'yaml';

/** The place of a declaration in a file. */
export interface SourcePlace {
  file: string;
  /** The line of the member with this path, or of the nearest member around it. */
  lineOf: (path?: readonly string[]) => number;
}

/** The place of the value at a path of a document. */
export function placeIn(
  { file, document, lines }: { file: string; document: Document; lines: LineCounter },
  start: readonly string[],
): SourcePlace {
  return {
    file,
    lineOf: (path = []) => lineOf(document, lines, [...start, ...path]),
  };
}

/** `declared.yaml:3` */
export function placeText({ file, lineOf: line }: SourcePlace, path: readonly string[] = []): string {
  return `${file}:${line(path)}`;
}

/** The path of a parameter of an error: `tools.mcp_servers[0]`. */
export function pathOfParam(param: string): string[] {
  return param.split(/[.[\]]+/).filter((name) => name !== '');
}

function lineOf(document: Document, lines: LineCounter, path: readonly string[]): number {
  let node: Node | null = document.contents;
  let offset = node?.range?.[0] ?? 0;
  for (const name of path) {
    const resolved: unknown = isAlias(node) ? node.resolve(document) : node;
    if (isMap(resolved)) {
      const pair = resolved.items.find(({ key }) => isScalar(key) && String(key.value) === name);
      if (pair === undefined) break;
      offset = (pair.key as Node).range?.[0] ?? offset;
      node = pair.value as Node | null;
    } else if (isSeq(resolved)) {
      const item = resolved.items[Number(name)] as Node | undefined;
      if (item === undefined) break;
      offset = item.range?.[0] ?? offset;
      node = item;
    } else break;
  }
  return lines.linePos(offset).line;
}

import { Readability } from '@mozilla/readability';
import { parseHTML } from 'linkedom';
import { maxElements } from '../bounds.ts';

export interface PageInput {
  html: string;
}

export interface PageText {
  title: string;
  text: string;
}

/** A node of a document, as far as it is used: the libraries' types need those of a browser. */
interface TreeNode {
  nodeType: number;
  nodeName: string;
  textContent: string | null;
  childNodes: Iterable<TreeNode>;
}

interface PageDocument {
  body: TreeNode;
  documentElement: TreeNode;
  querySelector: (selector: string) => TreeNode | null;
  querySelectorAll: (selector: string) => Iterable<{ remove: () => void }>;
  cloneNode: (deep: boolean) => PageDocument;
}

interface Article {
  title?: string | null;
  content?: string | null;
}

const parse = parseHTML as unknown as (html: string) => { document: PageDocument };
const Reader = Readability as unknown as new (
  document: PageDocument,
  options: { maxElemsToParse: number },
) => { parse: () => Article | null };

/** The readable text of a page: its article if it has one, else all of its text. Runs in a sandbox. */
export function readPage({ html }: PageInput): PageText {
  const { document } = parse(whole(html));
  for (const element of document.querySelectorAll('script, style, noscript, template')) element.remove();
  const title = squeezed(document.querySelector('title')?.textContent ?? '');
  const article = new Reader(document.cloneNode(true), { maxElemsToParse: maxElements }).parse();
  for (const element of document.querySelectorAll('head, title')) element.remove();
  const content = article?.content ?? '';
  const text = content === '' ? '' : textOf(parse(whole(content)).document.body);
  return {
    title: title === '' ? squeezed(article?.title ?? '') : title,
    text: text === '' ? textOf(document.documentElement) : text,
  };
}

/** The parser adds no elements missing from a page. */
function whole(html: string): string {
  return /<html[\s>]/i.test(html) ? html : `<html><head></head><body>${html}</body></html>`;
}

const blocks =
  /^(?:ADDRESS|ARTICLE|ASIDE|BLOCKQUOTE|BR|DD|DIV|DL|DT|FIGCAPTION|FIGURE|FOOTER|FORM|H[1-6]|HEADER|HR|LI|MAIN|NAV|OL|P|PRE|SECTION|TABLE|TR|UL)$/;

/** Text with a line for each block. Not by recursion: pages may be nested deeply. */
function textOf(root: TreeNode): string {
  const parts: string[] = [];
  const stack: (TreeNode | string)[] = [root];
  for (let next = stack.pop(); next !== undefined; next = stack.pop()) {
    if (typeof next === 'string') parts.push(next);
    else if (next.nodeType === 3) parts.push((next.textContent ?? '').replace(/\s+/g, ' '));
    else if (next.nodeType === 1) {
      const isBlock = blocks.test(next.nodeName);
      const between = /^T[DH]$/.test(next.nodeName) ? ' | ' : '';
      if (isBlock) stack.push('\n');
      stack.push(between, ...[...next.childNodes].reverse());
      if (isBlock) stack.push('\n');
    }
  }
  return parts
    .join('')
    .replace(/\s*\n\s*/g, '\n')
    .trim();
}

function squeezed(text: string): string {
  return text.replace(/\s+/g, ' ').trim();
}

import { existsSync, globSync, lstatSync, readFileSync } from 'node:fs';
import path from 'node:path';
import GithubSlugger from 'github-slugger';
import { marked, type Token } from 'marked';

/**
 * A step of `make lint`: reports links of Markdown pages to files and headings that do not exist, and pages of `docs`
 * that its list of documents does not name; and links out of the chart, whose package has no other files.
 */

interface Page {
  links: { href: string; line: number }[];
  anchors: Set<string>;
}

const root = path.join(import.meta.dirname, '..');
const list = 'docs/README.md';
const chart = 'charts/gatehouse/';
const pages = new Map<string, Page>();

function read(file: string): Page {
  const text = readFileSync(path.join(root, file), 'utf8');
  const slugger = new GithubSlugger();
  const page: Page = { links: [], anchors: new Set() };
  void marked.walkTokens(marked.lexer(text), (token: Token) => {
    if (token.type === 'heading') page.anchors.add(slugger.slug(textOf(token.tokens ?? [])));
    if (token.type !== 'link') return;
    const line = text.slice(0, text.indexOf(token.raw)).split('\n').length;
    page.links.push({ href: String(token['href']), line });
  });
  return page;
}

function textOf(tokens: Token[]): string {
  return tokens
    .map((token) => ('tokens' in token ? textOf(token.tokens ?? []) : token.raw.replace(/^`|`$/g, '')))
    .join('');
}

function pageOf(file: string): Page {
  const page = pages.get(file) ?? read(file);
  pages.set(file, page);
  return page;
}

/** Links of a page that lead nowhere, one sentence each. */
function dangling(file: string): string[] {
  return pageOf(file).links.flatMap(({ href, line }) => {
    if (/^[a-z]+:/.test(href)) return [];
    const [to = '', anchor] = href.split('#');
    const target = to === '' ? file : path.normalize(path.join(path.dirname(file), decodeURI(to)));
    // A page of the server that shows the repository.
    if (target.startsWith('..')) return [];
    if (file.startsWith(chart) && !target.startsWith(chart))
      return [`${file}:${line}  ${href}: the package of the chart has no such file`];
    if (!existsSync(path.join(root, target))) return [`${file}:${line}  ${href}: there is no such file`];
    if (anchor === undefined || !target.endsWith('.md') || pageOf(target).anchors.has(anchor)) return [];
    return [`${file}:${line}  ${href}: there is no such heading`];
  });
}

const markdown = globSync('**/*.md', { cwd: root, exclude: ['**/node_modules', '.git', '.gatehouse'] });
const listed = new Set(pageOf(list).links.map(({ href }) => path.join('docs', href.split('#')[0] ?? '')));
const problems = [
  ...markdown.flatMap(dangling),
  ...globSync(`${chart}**`, { cwd: root })
    .filter((file) => lstatSync(path.join(root, file)).isSymbolicLink())
    .map(
      (file) => `${file}: the chart has no symbolic links, since its package would copy what they lead to`,
    ),
  ...markdown
    .filter((file) => file.startsWith('docs/') && file !== list && !listed.has(file))
    .map((file) => `${file}: ${list} does not name it`),
];
for (const problem of new Set(problems)) process.stderr.write(`${problem}\n`);
process.exitCode = problems.length === 0 ? 0 : 1;

import { lexer, type Token, type Tokens } from 'marked';
import type { ReplyStyle } from '../channels/adapter.ts';

/** A provider's notation for Markdown. It gets only escaped texts. */
interface Markup {
  escape: (text: string) => string;
  strong: (text: string) => string;
  emphasis: (text: string) => string;
  deleted: (text: string) => string;
  code: (text: string) => string;
  codeBlock: (text: string) => string;
  link: (text: string, url: string) => string;
  quote: (text: string) => string;
}

const htmlText = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');

const linesOf = (text: string, prefix: string): string =>
  text
    .split('\n')
    .map((line) => `${prefix}${line}`)
    .join('\n');

const same = (text: string): string => text;

const markups: Record<Exclude<ReplyStyle, 'markdown'>, Markup> = {
  /** https://core.telegram.org/bots/api#html-style */
  telegram: {
    escape: htmlText,
    strong: (text) => `<b>${text}</b>`,
    emphasis: (text) => `<i>${text}</i>`,
    deleted: (text) => `<s>${text}</s>`,
    code: (text) => `<code>${text}</code>`,
    codeBlock: (text) => `<pre>${text}</pre>`,
    link: (text, url) => `<a href="${url.replaceAll('"', '&quot;')}">${text}</a>`,
    quote: (text) => `<blockquote>${text}</blockquote>`,
  },
  /** https://api.slack.com/reference/surfaces/formatting */
  slack: {
    escape: htmlText,
    strong: (text) => `*${text}*`,
    emphasis: (text) => `_${text}_`,
    deleted: (text) => `~${text}~`,
    code: (text) => `\`${text}\``,
    codeBlock: (text) => `\`\`\`\n${text}\n\`\`\``,
    link: (text, url) => `<${url.replaceAll('|', '%7C')}|${text.replaceAll('|', '¦')}>`,
    quote: (text) => linesOf(text, '> '),
  },
  plain: {
    escape: same,
    strong: same,
    emphasis: same,
    deleted: same,
    code: same,
    codeBlock: same,
    link: (text, url) => (text === url ? url : `${text} (${url})`),
    quote: (text) => linesOf(text, '> '),
  },
};

/** Parsed Markdown, in a provider's notation. */
export function written(tokens: readonly Token[], style: Exclude<ReplyStyle, 'markdown'>): string {
  return blocks(tokens, markups[style]);
}

/** A text without any markup. */
export function escaped(text: string, style: ReplyStyle): string {
  return style === 'markdown' ? markdownText(text) : markups[style].escape(text);
}

const maxRounds = 3;

/**
 * Markdown with links only to the web or to a mailbox: other links are their text, and HTML is text. A model may repeat
 * a stranger's text, and clients act on addresses like `javascript:` and `tg://user?id=1`. The text in a link's place
 * can make a link of the text around it, so all is parsed again; a text that stays unsafe has no markup at all.
 */
export function safeMarkdown(source: string): string {
  let safe = source.trim();
  for (let round = 0; round < maxRounds; round += 1) {
    const tokens = lexer(safe);
    if (tokens.every(isSafe)) return safe;
    safe = tokens.map(safeBlock).join('').trim();
  }
  return lexer(safe).every(isSafe) ? safe : markdownText(source.trim());
}

const isSafe = (token: Token): boolean => unsafeIn(token).next().done === true;

function safeBlock(token: Token): string {
  const { raw } = token;
  let safe = '';
  let from = 0;
  for (const { raw: unsafe, text } of unsafeIn(token)) {
    const at = raw.indexOf(unsafe, from);
    // For example, a link over two lines of a quotation: its marks are not in the link's own source.
    if (at < 0) return `${markdownText(written([token], 'plain'))}\n\n`;
    safe += raw.slice(from, at) + text;
    from = at + unsafe.length;
  }
  return safe + raw.slice(from);
}

/** Finds the unsafe sources, in their order, and the Markdown to take their place. */
function* unsafeIn(token: Token): Generator<{ raw: string; text: string }> {
  const { type, raw } = token;
  const isUnsafeLink = (type === 'link' || type === 'image' || type === 'def') && !isWebLink(hrefOf(token));
  if (isUnsafeLink) yield { raw, text: markdownText(inlineOne(token, markups.plain)) };
  else if (type === 'html') yield { raw, text: markdownText(raw) };
  else for (const child of childrenOf(token)) yield* unsafeIn(child);
}

function childrenOf(token: Token): readonly Token[] {
  if (token.type === 'list') return (token as Tokens.List).items;
  if (token.type === 'table') {
    const { header, rows } = token as Tokens.Table;
    return [header, ...rows].flat().flatMap(({ tokens }) => tokens);
  }
  return (token as { tokens?: Token[] }).tokens ?? [];
}

const hrefOf = (token: Token): string => (token as Tokens.Link).href;

/** A text as Markdown: nothing in it is markup, and no address a link. */
const markdownText = (text: string): string =>
  text.replaceAll(/[\\`*_[\]<>!~|&]|:(?=\/\/)|(?<=www)\./gi, '\\$&');

/** Whether a link may be one: clients call, mention or run what other schemes name. */
function isWebLink(href: string): boolean {
  return /^(?:https?:\/\/|mailto:)[^\s\p{Cc}<>]+$/iu.test(href);
}

function blocks(tokens: readonly Token[], markup: Markup): string {
  return tokens
    .map((token) => block(token, markup))
    .filter((text) => text !== '')
    .join('\n\n');
}

function block(token: Token, markup: Markup): string {
  switch (token.type) {
    case 'space':
    case 'def':
      return '';
    case 'heading':
      return markup.strong(inline((token as Tokens.Heading).tokens, markup));
    case 'code':
      return markup.codeBlock(markup.escape((token as Tokens.Code).text));
    case 'blockquote':
      return markup.quote(blocks((token as Tokens.Blockquote).tokens, markup));
    case 'list':
      return list(token as Tokens.List, markup);
    case 'table':
      return table(token as Tokens.Table, markup);
    case 'hr':
      return '———';
    case 'paragraph':
    case 'text':
      return inline([token], markup);
    default:
      return markup.escape(token.raw.trim());
  }
}

function list({ items, ordered, start }: Tokens.List, markup: Markup): string {
  return items
    .map(({ tokens, task, checked }, index) => {
      const number = ordered ? `${(start === '' ? 1 : start) + index}. ` : '• ';
      const box = task ? (checked === true ? '☑ ' : '☐ ') : '';
      // The lines of an item stand below its first one.
      const text = tokens
        .map((token) => block(token, markup))
        .filter((part) => part !== '')
        .join('\n');
      return number + box + text.replaceAll('\n', '\n  ');
    })
    .join('\n');
}

function table({ header, rows }: Tokens.Table, markup: Markup): string {
  const plain = [header, ...rows].map((row) =>
    row.map(({ tokens }) => inline(tokens, markups.plain)).join(' | '),
  );
  return markup.codeBlock(markup.escape(plain.join('\n')));
}

function inline(tokens: readonly Token[], markup: Markup): string {
  return tokens.map((token) => inlineOne(token, markup)).join('');
}

function inlineOne(token: Token, markup: Markup): string {
  const { tokens } = token as { tokens?: Token[] };
  const inner = (): string => inline(tokens ?? [], markup);
  switch (token.type) {
    case 'paragraph':
    case 'text':
      return tokens === undefined ? markup.escape((token as Tokens.Text).text) : inner();
    case 'escape':
      return markup.escape((token as Tokens.Escape).text);
    case 'strong':
      return markup.strong(inner());
    case 'em':
      return markup.emphasis(inner());
    case 'del':
      return markup.deleted(inner());
    case 'codespan':
      return markup.code(markup.escape((token as Tokens.Codespan).text));
    case 'br':
      return '\n';
    case 'link':
      return isWebLink(hrefOf(token)) ? markup.link(inner(), markup.escape(hrefOf(token))) : inner();
    case 'image': {
      const { text, href } = token as Tokens.Image;
      const label = markup.escape(text === '' ? href : text);
      return isWebLink(href) ? markup.link(label, markup.escape(href)) : label;
    }
    case 'def':
      return '';
    default:
      return markup.escape(token.raw);
  }
}

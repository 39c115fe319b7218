import { lexer, type Token } from 'marked';
import type { ReplyStyle } from '../channels/adapter.ts';
import { escaped, safeMarkdown, written } from './reply-style.ts';
import { maxPieces } from '../bounds.ts';

/** An answer, as Markdown, and what the provider's messages are like. */
export interface MarkdownReply {
  markdown: string;
  style: ReplyStyle;
  maxChars: number;
}

/** One message of an answer. */
export interface Piece {
  /** In the style of the provider. */
  text: string;
  plainText: string;
}

/** Markdown is longer than what is written of it, but seldom twice as long. */
const charsPerWritten = 2;

/** An answer without its unsendable rest, which is then not parsed either. */
export function sendable(answer: MarkdownReply): MarkdownReply {
  const most = maxPieces * answer.maxChars * charsPerWritten;
  if (answer.markdown.length <= most) return answer;
  return { ...answer, markdown: `${answer.markdown.slice(0, most).toWellFormed()}\n\n…` };
}

/** Splits an answer into short enough messages: between blocks, else at ends of sentences. */
export function piecesOf({ markdown, style, maxChars }: MarkdownReply): Piece[] {
  const text = markdown.trim();
  const write = (source: string): string =>
    style === 'markdown' ? safeMarkdown(source) : written(lexer(source), style);
  const fits = (source: string): boolean => write(source).length <= maxChars;
  const sources = joined(
    lexer(text).flatMap((token) => parts(token, { fits, maxChars })),
    fits,
  );
  const pieces = sources
    .map((source) => {
      const text = write(source);
      return { text, plainText: style === 'markdown' ? text : written(lexer(source), 'plain') };
    })
    .filter((piece) => piece.plainText.trim() !== '')
    .flatMap((piece) =>
      isShort(piece, maxChars) ? [piece] : unformatted(piece.plainText, { style, maxChars }),
    );
  // Nothing is left of Markdown like an empty block of code.
  return bounded(pieces.length > 0 ? pieces : unformatted(text, { style, maxChars }));
}

/** A text as it is, cut into messages. */
export function unformatted(text: string, { style, maxChars }: Omit<MarkdownReply, 'markdown'>): Piece[] {
  // Escaping makes a text longer, at most fivefold.
  return bounded(
    cut(text, Math.floor(maxChars / 6)).map((plainText) => ({ text: escaped(plainText, style), plainText })),
  );
}

const isShort = ({ text, plainText }: Piece, maxChars: number): boolean =>
  Math.max(text.length, plainText.length) <= maxChars;

function bounded(pieces: readonly Piece[]): Piece[] {
  const last = { text: '…', plainText: '…' };
  return pieces.length <= maxPieces ? [...pieces] : [...pieces.slice(0, maxPieces - 1), last];
}

interface Room {
  /** Whether Markdown is short enough as the provider writes it. */
  fits: (source: string) => boolean;
  maxChars: number;
}

/** As many blocks in each piece as fit. Few are tried, because each must be parsed. */
function joined(sources: readonly string[], fits: (source: string) => boolean): string[] {
  const pieces: string[] = [];
  for (let from = 0; from < sources.length;) {
    const together = (count: number): string => sources.slice(from, from + count).join('');
    const left = sources.length - from;
    // `fitting` blocks fit, or one of minimal length; `beyond` do not.
    let [fitting, beyond] = [1, left + 1];
    for (let step = 1; fitting < left && beyond > left; step *= 2) {
      const next = Math.min(fitting + step, left);
      if (fits(together(next))) fitting = next;
      else beyond = next;
    }
    while (beyond - fitting > 1 && beyond <= left) {
      const middle = Math.floor((fitting + beyond) / 2);
      if (fits(together(middle))) fitting = middle;
      else beyond = middle;
    }
    pieces.push(together(fitting));
    from += fitting;
  }
  return pieces;
}

/** The Markdown of a block, in fitting parts. */
function parts(token: Token, { fits, maxChars }: Room): string[] {
  const { raw } = token;
  if (fits(raw)) return [raw];
  if (token.type === 'code') {
    // Each part is a block of its own. Escaping makes a text longer, at most fivefold.
    const lines = (token as { text: string }).text
      .split('\n')
      .flatMap((line) => cut(`${line}\n`, maxChars / 6));
    const fenced = (text: string): string => `\`\`\`\`\n${text.replace(/\n$/, '')}\n\`\`\`\`\n\n`;
    return joined(lines, (text) => fits(fenced(text))).map(fenced);
  }
  const lines = raw.split(/(?<=\n)/).flatMap((line) => (fits(line) ? [line] : sentences(line)));
  return joined(
    lines.flatMap((line) => (fits(line) ? [line] : cut(line, maxChars / 6))),
    fits,
  );
}

const segmenter = new Intl.Segmenter(undefined, { granularity: 'sentence' });

function sentences(text: string): string[] {
  return Array.from(segmenter.segment(text), ({ segment }) => segment);
}

/** Cuts at spaces where there are some, and never within a character. */
function cut(text: string, maxChars: number): string[] {
  const pieces: string[] = [];
  let piece = '';
  for (const word of text.split(/(?<=\s)/)) {
    for (const part of word.length > maxChars ? Array.from(word) : [word]) {
      if (piece.length + part.length > maxChars && piece !== '') {
        pieces.push(piece);
        piece = '';
      }
      piece += part;
    }
  }
  return piece === '' ? pieces : [...pieces, piece];
}

import { lexer, type Token } from 'marked';
import { written, type ReplyStyle } from './reply-style.ts';

/** An answer, as Markdown, and what the provider's messages are like. */
export interface Answer {
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

/** Splits an answer into messages that are short enough: between blocks, else at ends of sentences. */
export function piecesOf({ markdown, style, maxChars }: Answer): Piece[] {
  const text = markdown.trim();
  if (style === 'markdown' && text.length <= maxChars) return [{ text, plainText: text }];
  const write = (source: string): string =>
    style === 'markdown' ? source.trim() : written(lexer(source), style);
  const fits = (source: string): boolean => write(source).length <= maxChars;
  return joined(
    lexer(text).flatMap((token) => parts(token, { fits, maxChars })),
    fits,
  )
    .map((source) => ({ text: write(source), plainText: written(lexer(source), 'plain') }))
    .filter((piece) => piece.plainText.trim() !== '');
}

interface Room {
  /** Whether Markdown is short enough as the provider writes it. */
  fits: (source: string) => boolean;
  maxChars: number;
}

/** As many blocks in each piece as fit. */
function joined(sources: readonly string[], fits: (source: string) => boolean): string[] {
  const pieces: string[] = [];
  for (const source of sources) {
    const both = `${pieces.at(-1) ?? ''}${source}`;
    if (pieces.length > 0 && fits(both)) pieces[pieces.length - 1] = both;
    else pieces.push(source);
  }
  return pieces;
}

/** The Markdown of a block, in parts that fit. */
function parts(token: Token, { fits, maxChars }: Room): string[] {
  const { raw } = token;
  if (fits(raw)) return [raw];
  if (token.type === 'code') {
    // Each part is a block of its own. What is escaped gets longer, at most fivefold.
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

import { piecesOf, sendable, unformatted, type MarkdownReply, type Piece } from './reply-pieces.ts';

export interface Writing {
  answer: MarkdownReply;
  /** Without reading Markdown, which takes time in proportion to the text. */
  plain: boolean;
}

/** Runs in a sandbox. */
export function write({ answer, plain }: Writing): Piece[] {
  const { markdown, ...room } = sendable(answer);
  return plain ? unformatted(markdown, room) : piecesOf({ markdown, ...room });
}

import { newId } from '@gatehouse/kit/ids';
import type { ChannelAdapter } from '../channels/adapter.ts';
import type { Channel } from '../channels/channel.ts';
import type { ChannelTexts } from './channel-texts.ts';
import type { ReplyWriter } from './reply-writer.ts';

/** Writes answers as messages in the style of a channel, each encrypted for its row. */
export async function sealedReplies(
  { writer, texts }: { writer: ReplyWriter; texts: ChannelTexts },
  { tenantId, adapter: { style, maxChars } }: { tenantId: string; adapter: ChannelAdapter<Channel['type']> },
  answers: readonly string[],
): Promise<{ id: string; text: Buffer; textBytes: number }[]> {
  const written = await Promise.all(
    answers.map((markdown) => writer.write(tenantId, { markdown, style, maxChars })),
  );
  return written.flat().map((piece) => {
    const id = newId();
    return { id, text: texts.sealPiece({ tenantId, id }, piece), textBytes: Buffer.byteLength(piece.text) };
  });
}

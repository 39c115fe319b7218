import type { KeyRing } from '@gatehouse/secrets/key-ring';
import { sealedTexts } from '@gatehouse/secrets/sealed-texts';
import type { Ref } from '../shared/ref.ts';
import type { Piece } from './reply-pieces.ts';

export type ChannelTexts = ReturnType<typeof channelTexts>;

/** Encrypts and decrypts what is written in channels, each text for its row only. */
export function channelTexts(keyRing: KeyRing) {
  const column = (name: string) => sealedTexts<Ref>(keyRing, (row) => contextOfText(row, name));
  const pieces = column('channel_messages/piece');
  return {
    messages: column('channel_messages/text'),
    /** OpenAI chat completion requests without a model, as JSON. */
    requests: column('channel_turns/request'),
    /** One message of an answer. */
    sealPiece: (message: Ref, piece: Piece): Buffer => pieces.seal(message, JSON.stringify(piece)),
    openPiece: (message: Ref, sealed: Buffer): Piece => JSON.parse(pieces.open(message, sealed)) as Piece,
  };
}

/** The context of a sealed text of a channel. */
export function contextOfText({ tenantId, id }: Ref, column: string): string {
  return `${tenantId}/webhook.${column}/${id}`;
}

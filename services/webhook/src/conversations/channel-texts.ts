import type { KeyRing } from '@gatehouse/secrets/key-ring';
import type { Ref } from '../shared/ref.ts';
import type { Piece } from './reply-pieces.ts';

/** Encrypts and decrypts what is written in channels, each text for its row only. */
export class ChannelTexts {
  readonly #keyRing: KeyRing;

  constructor(keyRing: KeyRing) {
    this.#keyRing = keyRing;
  }

  sealText(message: Ref, text: string): Buffer {
    return this.#keyRing.seal(Buffer.from(text), contextOfText(message, 'channel_messages/text'));
  }

  openText(message: Ref, sealed: Buffer): string {
    return this.#keyRing.open(sealed, contextOfText(message, 'channel_messages/text')).toString();
  }

  /** One message of an answer. */
  sealPiece(message: Ref, piece: Piece): Buffer {
    return this.#keyRing.seal(
      Buffer.from(JSON.stringify(piece)),
      contextOfText(message, 'channel_messages/piece'),
    );
  }

  openPiece(message: Ref, sealed: Buffer): Piece {
    const json = this.#keyRing.open(sealed, contextOfText(message, 'channel_messages/piece')).toString();
    return JSON.parse(json) as Piece;
  }

  /** `request`: an OpenAI chat completion request without a model, as JSON. */
  sealRequest(turn: Ref, request: string): Buffer {
    return this.#keyRing.seal(Buffer.from(request), contextOfText(turn, 'channel_turns/request'));
  }

  openRequest(turn: Ref, sealed: Buffer): string {
    return this.#keyRing.open(sealed, contextOfText(turn, 'channel_turns/request')).toString();
  }
}

/** The context of a sealed text of a channel. */
export function contextOfText({ tenantId, id }: Ref, column: string): string {
  return `${tenantId}/webhook.${column}/${id}`;
}

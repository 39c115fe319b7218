import type { KeyRing } from '@gatehouse/secrets/key-ring';
import type { Piece } from './reply-pieces.ts';

/** A row of a tenant. */
interface Row {
  tenantId: string;
  id: string;
}

/** Encrypts and decrypts what is written in channels, each text for its row only. */
export class ChannelTexts {
  readonly #keyRing: KeyRing;

  constructor(keyRing: KeyRing) {
    this.#keyRing = keyRing;
  }

  sealText(message: Row, text: string): Buffer {
    return this.#keyRing.seal(Buffer.from(text), contextOf(message, 'channel_messages/text'));
  }

  openText(message: Row, sealed: Buffer): string {
    return this.#keyRing.open(sealed, contextOf(message, 'channel_messages/text')).toString();
  }

  /** One message of an answer. */
  sealPiece(message: Row, piece: Piece): Buffer {
    return this.#keyRing.seal(
      Buffer.from(JSON.stringify(piece)),
      contextOf(message, 'channel_messages/piece'),
    );
  }

  openPiece(message: Row, sealed: Buffer): Piece {
    const json = this.#keyRing.open(sealed, contextOf(message, 'channel_messages/piece')).toString();
    return JSON.parse(json) as Piece;
  }

  /** `request`: an OpenAI chat completion request without a model, as JSON. */
  sealRequest(turn: Row, request: string): Buffer {
    return this.#keyRing.seal(Buffer.from(request), contextOf(turn, 'channel_turns/request'));
  }

  openRequest(turn: Row, sealed: Buffer): string {
    return this.#keyRing.open(sealed, contextOf(turn, 'channel_turns/request')).toString();
  }
}

function contextOf({ tenantId, id }: Row, column: string): string {
  return `${tenantId}/webhook.${column}/${id}`;
}

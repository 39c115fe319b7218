import { Readable } from 'node:stream';
import { newId } from '@gatehouse/kit/ids';

/** The form that a provider gets. */
export class UploadBody {
  readonly boundary = `gatehouse-${newId()}`;
  readonly stream: Readable;
  /** Why the form broke off, if it did for a reason of the client. */
  failure: unknown = null;
  readonly #lines: AsyncGenerator<Buffer, void>;
  readonly #name: string;
  readonly #whole = new AbortController();
  #first: Buffer | null = null;

  /** `name`: that of the file at the provider. */
  constructor(lines: AsyncGenerator<Buffer, void>, name: string) {
    this.#lines = lines;
    this.#name = name;
    this.stream = Readable.from(this.#form(), { objectMode: false });
  }

  /** Aborted once all of the form was passed on, so that the provider may have the file, whatever it answers. */
  get whole(): AbortSignal {
    return this.#whole.signal;
  }

  /** Reads the first line, which decides the provider. */
  async begin(): Promise<void> {
    const { value } = await this.#lines.next();
    this.#first = value ?? null;
  }

  /** Stops reading. */
  close(): void {
    this.stream.destroy();
    // Not awaited: it settles once the client sends more.
    this.#lines.return().catch(() => undefined);
  }

  async *#form(): AsyncGenerator<Buffer, void> {
    const part = `--${this.boundary}\r\ncontent-disposition: form-data; name=`;
    yield Buffer.from(`${part}"purpose"\r\n\r\nbatch\r\n`);
    yield Buffer.from(`${part}"file"; filename="${this.#name}"\r\n`);
    yield Buffer.from('content-type: application/jsonl\r\n\r\n');
    if (this.#first !== null) yield this.#first;
    try {
      yield* this.#lines;
    } catch (error) {
      this.failure = error;
      throw error;
    }
    this.#whole.abort();
    yield Buffer.from(`\r\n--${this.boundary}--\r\n`);
  }
}

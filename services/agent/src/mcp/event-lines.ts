/** An event of a stream (HTML standard, 9.2). */
export interface StreamEvent {
  /** `message` if the server names no type. */
  type: string;
  /** Undefined unless the event sets it. */
  id: string | undefined;
  retry: string | undefined;
  data: string;
}

/** Reads the events of a stream from its pieces, each line once. */
export class EventLines {
  readonly #decoder = new TextDecoder();
  /** The beginning of an unfinished line. */
  #rest: string[] = [];
  #endedWithReturn = false;
  #fields: Partial<StreamEvent> = {};
  #data: string[] = [];
  #chars = 0;

  /** Characters of the unfinished event. */
  get chars(): number {
    return this.#chars;
  }

  /** The events ending in this piece. */
  *push(bytes: Uint8Array): Generator<StreamEvent> {
    let text = this.#decoder.decode(bytes, { stream: true });
    if (text === '') return;
    const isRestOfLineEnd = this.#endedWithReturn && text.startsWith('\n');
    this.#endedWithReturn = text.endsWith('\r');
    if (isRestOfLineEnd) text = text.slice(1);
    const lineEnd = /\r\n|\r|\n/g;
    let from = 0;
    this.#chars += text.length;
    for (let end = lineEnd.exec(text); end !== null; end = lineEnd.exec(text)) {
      this.#rest.push(text.slice(from, end.index));
      from = lineEnd.lastIndex;
      const line = this.#rest.join('');
      this.#rest = [];
      if (line !== '') {
        this.#take(line);
        continue;
      }
      this.#chars = 0;
      const event = this.#ended();
      if (event !== undefined) yield event;
    }
    if (from < text.length) this.#rest.push(text.slice(from));
    // The beginning of the next one.
    if (this.#chars === 0) this.#chars = text.length - from;
  }

  #take(line: string): void {
    const colon = line.indexOf(':');
    const name = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? '' : line.slice(line[colon + 1] === ' ' ? colon + 2 : colon + 1);
    if (name === 'data') this.#data.push(value);
    else if (name === 'event') this.#fields.type = value;
    else if (name === 'id' || name === 'retry') this.#fields[name] = value;
  }

  #ended(): StreamEvent | undefined {
    const [{ type, id, retry }, data] = [this.#fields, this.#data];
    this.#fields = {};
    this.#data = [];
    if (id === undefined && retry === undefined && data.length === 0) return undefined;
    return { type: type === undefined || type === '' ? 'message' : type, id, retry, data: data.join('\n') };
  }
}

/** The event as the text of a stream. */
export function eventText({ type, id, retry, data }: StreamEvent): string {
  const lines = [
    ...(retry === undefined ? [] : [`retry: ${retry}`]),
    ...(id === undefined ? [] : [`id: ${id}`]),
    ...(type === 'message' ? [] : [`event: ${type}`]),
    // Also where it is empty: without the line, clients take no notice of the id.
    ...data.split('\n').map((line) => `data: ${line}`),
  ];
  return `${lines.join('\n')}\n\n`;
}

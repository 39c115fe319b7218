import type { FrameSink } from './dialect.ts';
import type { ToolEvent } from './tool-event.ts';

/** Passes the frames of several calls of a model on as one stream, in any dialect. */
export abstract class JoinedStream implements FrameSink {
  /** Whether a name belongs to a tool of the gateway. */
  protected readonly isOwn: (name: string) => boolean;
  readonly #sink: FrameSink;
  #onDrain: () => void = () => undefined;

  constructor(sink: FrameSink, isOwn: (name: string) => boolean) {
    this.#sink = sink;
    this.isOwn = isOwn;
    sink.onDrain(() => this.#onDrain());
  }

  /** The listener of the call under way. */
  onDrain(listener: () => void): void {
    this.#onDrain = listener;
  }

  write(frames: readonly Buffer[]): boolean {
    return this.#sink.write(frames.flatMap((frame) => this.passed(frame)));
  }

  /** Sends an event with a name unknown to clients without a request for it. */
  show(event: ToolEvent): void {
    this.send([Buffer.from(`event: gatehouse.tool\ndata: ${JSON.stringify(event)}\n\n`)]);
  }

  /** Sends frames as they are. */
  protected send(frames: readonly Buffer[]): void {
    this.#sink.write(frames);
  }

  /** The client's frames for one of a call. */
  protected abstract passed(frame: Buffer): Buffer[];
}

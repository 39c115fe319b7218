/** One event of a stream; a JSON document, except for the `done` of chat completions. */
export interface Frame {
  /**
   * `opening` comes before all content, and `done` is last. Faults count, pace and cut at `content`; `block` is
   * everything else between.
   */
  kind: 'opening' | 'block' | 'content' | 'finish' | 'usage' | 'done';
  /** The name of the event, in APIs that name them. */
  event?: string | undefined;
  data: string;
  carriesUsage: boolean;
}

/** How the frames of a stream are written. */
export interface Framing {
  contentType: string;
  text: (frame: Pick<Frame, 'event' | 'data'>, eol?: string) => string | Buffer;
  /** Between frames, what clients pass over. */
  comment: (eol: string) => string;
  /** Behind the last frame of a stream that ends in order. */
  end: string;
}

export const serverSent: Framing = {
  contentType: 'text/event-stream; charset=utf-8',
  text: eventText,
  comment: (eol) => `: comment${eol}${eol}`,
  end: '',
};

/** One JSON array, for one stream. */
export function arrayFraming(): Framing {
  let start = '[';
  return {
    contentType: 'application/json; charset=UTF-8',
    text: ({ data }) => {
      const written = `${start}${data}`;
      start = ',\r\n';
      return written;
    },
    comment: (eol) => eol,
    end: ']',
  };
}

/** An event as it is written. */
export function eventText({ event, data }: Pick<Frame, 'event' | 'data'>, eol = '\n'): string {
  const name = event === undefined ? '' : `event: ${event}${eol}`;
  return `${name}data: ${data}${eol}${eol}`;
}

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

/** An event as it is written. */
export function eventText({ event, data }: Pick<Frame, 'event' | 'data'>, eol = '\n'): string {
  const name = event === undefined ? '' : `event: ${event}${eol}`;
  return `${name}data: ${data}${eol}${eol}`;
}

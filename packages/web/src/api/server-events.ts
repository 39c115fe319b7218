/** Reads the data of server-sent events (HTML, §9.2.6) out of a body, as far as chat completions use them. */
export async function* dataOf(body: ReadableStream<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  const reader = body.getReader();
  let rest = '';
  try {
    for (;;) {
      const { done, value } = await reader.read();
      rest += decoder.decode(value, { stream: !done });
      const events = rest.split(/\r?\n\r?\n/);
      // An event cut by the end of the stream is not complete.
      rest = events.pop() ?? '';
      for (const event of events) {
        const data = dataIn(event);
        if (data !== '') yield data;
      }
      if (done) return;
    }
  } finally {
    await reader.cancel().catch(() => undefined);
  }
}

function dataIn(event: string): string {
  return event
    .split(/\r?\n/)
    .flatMap((line) => (line.startsWith('data:') ? [line.slice('data:'.length).replace(/^ /, '')] : []))
    .join('\n');
}

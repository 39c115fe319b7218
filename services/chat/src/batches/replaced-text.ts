/** Bytes of a stream, with another text in place of the first one equal to `from`. */
export async function* replaced(
  chunks: AsyncIterable<Buffer>,
  from: Buffer,
  to: Buffer,
): AsyncGenerator<Buffer, void> {
  /** The end of the bytes so far, in which the text may begin. */
  let open: Buffer = Buffer.alloc(0);
  let isDone = false;
  for await (const chunk of chunks) {
    if (isDone) {
      yield chunk;
      continue;
    }
    const bytes = open.length === 0 ? chunk : Buffer.concat([open, chunk]);
    const at = bytes.indexOf(from);
    isDone = at >= 0;
    if (isDone) {
      open = Buffer.alloc(0);
      yield Buffer.concat([bytes.subarray(0, at), to, bytes.subarray(at + from.length)]);
      continue;
    }
    const until = Math.max(0, bytes.length - from.length + 1);
    open = bytes.subarray(until);
    if (until > 0) yield bytes.subarray(0, until);
  }
  if (open.length > 0) yield open;
}

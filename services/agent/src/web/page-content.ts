/** What a content type stands for. Without one, as browsers, HTML. */
export function kindOf(contentType = 'text/html'): 'html' | 'text' | 'other' {
  const type = contentType.split(';', 1)[0]?.trim().toLowerCase() ?? '';
  if (type === 'text/html' || type === 'application/xhtml+xml') return 'html';
  if (type.startsWith('text/') || /^application\/(?:.+\+)?(?:json|xml|yaml|javascript)$/.test(type))
    return 'text';
  return 'other';
}

/** Where browsers look for the encoding of a page. */
const sniffedBytes = 1_024;

/** The text of a body, by the encoding that its type or the beginning of the page names; else UTF-8. */
export function decoded(body: Buffer, contentType = ''): string {
  const named = /charset\s*=\s*["']?([\w:.-]+)/i;
  const label =
    named.exec(contentType)?.[1] ?? named.exec(body.subarray(0, sniffedBytes).toString('latin1'))?.[1];
  return decoderOf(label).decode(body);
}

function decoderOf(label = 'utf-8') {
  try {
    return new TextDecoder(label);
  } catch {
    return new TextDecoder();
  }
}

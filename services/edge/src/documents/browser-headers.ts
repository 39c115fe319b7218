/** The sources to which forms of a document may send. */
export type FormAction = "'none'" | "'self'";

/**
 * Headers of the documents and files that browsers load. A document loads from this origin only and sends nothing
 * elsewhere; images may be `data:` URLs in its style sheet. It needs no inline scripts, inline styles or `eval`.
 */
export function browserHeaders(formAction: FormAction): Record<string, string> {
  return {
    'cache-control': 'no-cache',
    'content-security-policy': [
      "default-src 'none'",
      "script-src 'self'",
      "style-src 'self'",
      "img-src 'self' data:",
      "connect-src 'self'",
      "base-uri 'none'",
      `form-action ${formAction}`,
      "frame-ancestors 'none'",
    ].join('; '),
    'cross-origin-opener-policy': 'same-origin',
    'cross-origin-resource-policy': 'same-origin',
    'referrer-policy': 'no-referrer',
    'x-frame-options': 'DENY',
  };
}

const types: Record<string, string> = {
  '.html': 'text/html; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.svg': 'image/svg+xml',
};

/** The content type of a file by the end of its name. */
export function contentTypeOf(file: string): string {
  const type = types[/\.\w+$/.exec(file)?.[0] ?? ''];
  if (type === undefined) throw new Error(`${file} has an unknown type`);
  return type;
}

import { createHash } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import { requestIdHeader } from '@gatehouse/http/request-context';

/** Pages for people in a browser without a session: no scripts, nothing from elsewhere. */

/** Text as it stands in HTML, also in a quoted attribute. */
export const escaped = (text: string): string =>
  text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;')
    .replaceAll("'", '&#39;');

const style = `
  body { font: 16px/1.5 system-ui, sans-serif; max-width: 32rem; margin: 4rem auto; padding: 0 1rem; color: #1b1f24 }
  h1 { font-size: 1.4rem }
  dt { color: #57606a } dd { margin: 0 0 .5rem; font-weight: 600; overflow-wrap: anywhere }
  label { display: block } input { font: inherit; width: 100%; box-sizing: border-box; padding: .5rem; margin: .3rem 0 1rem }
  button { font: inherit; padding: .6rem 1.2rem; border: 0; border-radius: .4rem; background: #0a58ca; color: #fff; cursor: pointer }
  @media (prefers-color-scheme: dark) { body { background: #0d1117; color: #e6edf3 } dt { color: #8b949e } }
`;

const styleHash = createHash('sha256').update(style).digest('base64');

/** A page with a title and its body in HTML. */
export function htmlPage(title: string, body: string): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<title>${escaped(title)}</title>
<style>${style}</style>
</head>
<body>
<main>
<h1>${escaped(title)}</h1>
${body}
</main>
</body>
</html>
`;
}

/**
 * The policy of these pages. `formTargets`: sources to which a form may lead by a redirect, which some browsers check
 * too.
 */
export function pageHeaders(formTargets: string): Record<string, string> {
  return {
    'content-type': 'text/html; charset=utf-8',
    'cache-control': 'no-store',
    'content-security-policy': `default-src 'none'; style-src 'sha256-${styleHash}'; form-action 'self' ${formTargets}; base-uri 'none'; frame-ancestors 'none'`,
    // Other hosts get no referrer, and a form's own request has an origin.
    'referrer-policy': 'same-origin',
    'x-content-type-options': 'nosniff',
    'x-frame-options': 'DENY',
  };
}

export interface SentPage {
  status: number;
  html: string;
  /** See {@link pageHeaders}. */
  formTargets?: string;
  headers?: Record<string, string>;
}

export function sendPage(
  response: ServerResponse,
  requestId: string,
  { status, html, formTargets = '', headers }: SentPage,
): void {
  const body = Buffer.from(html);
  response.writeHead(status, {
    ...pageHeaders(formTargets),
    ...headers,
    'content-length': body.length,
    [requestIdHeader]: requestId,
  });
  response.end(body);
}

/** Leads the browser to another page, by GET. */
export function sendBrowserTo(
  response: ServerResponse,
  requestId: string,
  {
    location,
    formTargets = '',
    cookies = [],
  }: { location: string; formTargets?: string; cookies?: string[] },
): void {
  response.writeHead(303, {
    ...pageHeaders(formTargets),
    ...{ location, 'content-length': '0', [requestIdHeader]: requestId },
    ...(cookies.length > 0 && { 'set-cookie': cookies }),
  });
  response.end();
}

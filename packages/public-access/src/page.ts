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
  :root { color-scheme: light dark; --text: #171a21; --faint: #586172; --ground: #f6f7f9; --card: #fff; --line: #e3e6eb; --control: #868e9c; --accent: #2554b8; --on-accent: #fff; --bad: #b3261e }
  @media (prefers-color-scheme: dark) { :root { --text: #e9ebf0; --faint: #a0a8b6; --ground: #0e1014; --card: #14161b; --line: #2a2e37; --control: #6f7787; --accent: #8fb2ff; --on-accent: #0b1530; --bad: #ff928a } }
  * { box-sizing: border-box }
  body { margin: 0; min-height: 100vh; display: grid; place-content: center; grid-template-columns: minmax(0, 26rem); padding: 2rem 1rem; color: var(--text); background: var(--ground); font: 15px/1.5 ui-sans-serif, system-ui, sans-serif }
  .brand { display: flex; gap: .6rem; align-items: center; justify-content: center; margin: 0 0 1.25rem; font-size: 1.15rem; font-weight: 650 }
  .brand svg { width: 28px; height: 28px; fill: var(--accent) }
  main { padding: 1.5rem 1.75rem 1.75rem; background: var(--card); border: 1px solid var(--line); border-radius: 12px }
  h1 { margin: 0 0 1rem; font-size: 1.25rem; line-height: 1.4 }
  a { color: var(--accent) }
  p { margin: 0 0 1rem; overflow-wrap: anywhere }
  [role=alert] { color: var(--bad) }
  dl { margin: 0 0 1.25rem } dt { color: var(--faint) } dd { margin: 0 0 .5rem; font-weight: 600; overflow-wrap: anywhere }
  label { display: block; font-weight: 550 }
  input { width: 100%; min-height: 40px; margin: .3rem 0 1rem; padding: .5rem .75rem; color: inherit; background: var(--card); border: 1px solid var(--control); border-radius: 6px; font: inherit }
  button, .button { display: inline-block; min-height: 40px; padding: .5rem 1.1rem; color: var(--on-accent); background: var(--accent); border: 1px solid var(--accent); border-radius: 6px; font: inherit; font-weight: 550; text-align: center; text-decoration: none; cursor: pointer }
  .plain { color: var(--text); background: var(--card); border-color: var(--control) }
  .wide { display: block; width: 100% }
  .or { display: flex; gap: .75rem; align-items: center; color: var(--faint) }
  .or::before, .or::after { flex: 1; border-top: 1px solid var(--line); content: '' }
  .row { display: flex; flex-wrap: wrap; gap: .5rem }
  :focus-visible { outline: 2px solid var(--accent); outline-offset: 2px }
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
<title>${escaped(title)} · Gatehouse</title>
<style>${style}</style>
</head>
<body>
<header class="brand"><svg viewBox="0 0 32 32" aria-hidden="true"><path d="M3 7h4V4h4v3h3V4h4v3h3V4h4v3h4v21h-9v-7a4 4 0 0 0-8 0v7H3z"/></svg>Gatehouse</header>
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

/** Pages that people see in a browser when they consent: no scripts, nothing from elsewhere. */

/** The texts of the page before a consent. */
export interface ConsentPage {
  title: string;
  text: string;
  /** Names and values. */
  facts: readonly (readonly [name: string, value: string])[];
  button: string;
}

const escaped = (text: string): string =>
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
  button { font: inherit; padding: .6rem 1.2rem; border: 0; border-radius: .4rem; background: #0a58ca; color: #fff; cursor: pointer }
  @media (prefers-color-scheme: dark) { body { background: #0d1117; color: #e6edf3 } dt { color: #8b949e } }`;

function page(title: string, body: string): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<title>${escaped(title)}</title>
<style>${style}
</style>
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

/** The page with the button. */
export function consentPage({ title, text, facts, button }: ConsentPage): string {
  const list = facts.map(([name, value]) => `<dt>${escaped(name)}</dt><dd>${escaped(value)}</dd>`);
  return page(
    title,
    `<p>${escaped(text)}</p>
<dl>
${list.join('\n')}
</dl>
<form method="post"><button type="submit">${escaped(button)}</button></form>`,
  );
}

/** A page that says how it ended. */
export function endPage(title: string, text: string): string {
  return page(title, `<p>${escaped(text)}</p>`);
}

/** The policy of these pages. The form leads to the provider by a redirect, which some browsers check too. */
export function pageHeaders(formTarget: string): Record<string, string> {
  return {
    'content-type': 'text/html; charset=utf-8',
    'cache-control': 'no-store',
    'content-security-policy': `default-src 'none'; style-src 'unsafe-inline'; form-action 'self' ${formTarget}; base-uri 'none'; frame-ancestors 'none'`,
    // The provider gets no referrer, and the button's own request has an origin.
    'referrer-policy': 'same-origin',
    'x-content-type-options': 'nosniff',
    'x-frame-options': 'DENY',
  };
}

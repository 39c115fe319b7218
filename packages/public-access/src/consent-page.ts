import { escaped, htmlPage } from './page.ts';

/** The texts of the page before a consent. */
export interface ConsentPage {
  title: string;
  text: string;
  /** Names and values. */
  facts: readonly (readonly [name: string, value: string])[];
  button: string;
}

/** The page with the button. */
export function consentPage({ title, text, facts, button }: ConsentPage): string {
  const list = facts.map(([name, value]) => `<dt>${escaped(name)}</dt><dd>${escaped(value)}</dd>`);
  return htmlPage(
    title,
    `<p>${escaped(text)}</p>
<dl>
${list.join('\n')}
</dl>
<form method="post"><button type="submit">${escaped(button)}</button></form>`,
  );
}

/** The page at the end, with the result. */
export function endPage(title: string, text: string): string {
  return htmlPage(title, `<p>${escaped(text)}</p>`);
}
